//! Section 4.3: free log management.
//!
//! The log is virtually sequential: it fills an erase block and goes on in the one to which the first block's spare area
//! links. The paper writes that link when an erase block becomes free, before any data; a chip that programs a
//! spare area once, with its page, leaves only the moment when the erase block is opened. The next one must be
//! known then. Round-robin cleaning (4.6) keeps the free erase blocks in the order of the ring, so it is: the next good one.
//! Free erase blocks lie behind the open one up to `last`. They are erased as they become free; where a power cut may have
//! come between, and where one may have torn the first page, they are erased again when they are opened.

use std::collections::BTreeSet;

use pumice_common::{chip, damaged};
use pumice_media::{AnyChip, NandError};
use pumice_vfs::{Errno, FsError, Result};

use crate::flash::{Flash, Program, Spares};
use crate::layout::{Addr, Layout};
use crate::spare::{Owner, Stamp};

/// Erase blocks in a row that may be passed over because they went bad as they were opened.
const PASSED_MAX: u32 = 8;
/// The most that the time may move from one block to the next: failed programs leave gaps.
const TIME_STEP: u32 = 256;

/// The position of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// The last block written.
    pub(crate) current: Addr,
    /// The last erase block of the free log.
    pub(crate) last: u32,
    /// Good erase blocks that are free.
    pub(crate) free: u32,
    /// Erase blocks of the log that are bad.
    pub(crate) bad: u32,
    /// The time of the last block written.
    pub(crate) time: u32,
    /// The number of next free erase blocks that may not be erased.
    pub(crate) unsure: u32,
}

/// The number in a checkpoint after which the log goes on: nobody knows how many free erase blocks are erased.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A block that the scan of the log met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) at: Addr,
    pub(crate) owner: Owner,
}

pub(crate) struct Log<'c> {
    flash: Flash<'c>,
    at: Position,
    /// The slot of the next block in the open erase block; all slots if a new one must be opened.
    slot: u32,
    /// The erase block that follows the open one; not yet known after a mount.
    next: Option<u32>,
    /// Erase blocks in which a program failed.
    suspect: BTreeSet<u32>,
    /// Blocks written since the last checkpoint.
    since: u32,
    /// The erase blocks that the scan went through, and how many were free then.
    scanned: Vec<(u32, u32)>,
    /// Nothing was opened yet: the last erase block of the free log is the one before the first.
    whole: bool,
}

impl<'c> Log<'c> {
    /// The log as a checkpoint left it. The next write begins a new erase block: a page may look erased if power was
    /// cut early in its program.
    pub(crate) fn new(flash: Flash<'c>, at: Position) -> Result<Log<'c>> {
        let layout = *flash.layout();
        if !layout.is_in_log(at.current) || at.last >= layout.log_blocks() || at.free > layout.log_blocks() {
            return Err(damaged(format_args!("the checkpoint's position of the log is impossible: {at:?}")));
        }
        // The first may have been torn, and look erased.
        let at = Position { unsure: at.unsure.clamp(1, at.free.max(1)), ..at };
        Ok(Log {
            flash,
            at,
            slot: layout.slots(),
            next: None,
            suspect: BTreeSet::new(),
            since: 0,
            scanned: Vec::new(),
            whole: false,
        })
    }

    /// The log of a new volume, all of it free.
    pub(crate) fn fresh(flash: Flash<'c>, at: Position) -> Log<'c> {
        let slot = flash.layout().slots();
        Log {
            flash,
            at,
            slot,
            next: None,
            suspect: BTreeSet::new(),
            since: 0,
            scanned: Vec::new(),
            whole: true,
        }
    }

    pub(crate) fn position(&self) -> Position {
        self.at
    }

    pub(crate) fn flash(&mut self) -> &mut Flash<'c> {
        &mut self.flash
    }

    pub(crate) fn shared_flash(&self) -> &Flash<'c> {
        &self.flash
    }

    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.flash.into_chip()
    }

    pub(crate) fn layout(&self) -> Layout {
        *self.flash.layout()
    }

    /// Blocks that can be written before cleaning must free more.
    pub(crate) fn free(&self) -> u32 {
        let slots = self.layout().slots();
        slots - self.slot + self.at.free * slots
    }

    /// Blocks of all good erase blocks of the log.
    pub(crate) fn capacity(&self) -> u32 {
        self.layout().log_blocks().saturating_sub(self.at.bad) * self.layout().slots()
    }

    /// Blocks written since the last checkpoint.
    pub(crate) fn since_checkpoint(&self) -> u32 {
        self.since
    }

    /// A moment later than all before.
    pub(crate) fn tick(&mut self) -> Result<u32> {
        self.at.time = self
            .at
            .time
            .checked_add(1)
            .ok_or_else(|| FsError::new(Errno::NoSpace, "block timestamps are exhausted".into()))?;
        Ok(self.at.time)
    }

    /// Writes a block at the end of the log; returns where.
    pub(crate) fn append(&mut self, owner: Owner, data: &[u8]) -> Result<Addr> {
        self.append_with(owner, data, Flash::program)
    }

    /// Writes a block that could not be read, so that it does not prove itself.
    pub(crate) fn append_unproved(&mut self, owner: Owner, data: &[u8]) -> Result<Addr> {
        self.append_with(owner, data, Flash::program_unproved)
    }

    fn append_with(&mut self, owner: Owner, data: &[u8], program: Program<'c>) -> Result<Addr> {
        let layout = self.layout();
        loop {
            if self.slot >= layout.slots() {
                self.open()?;
            }
            let block = layout.block_of(self.at.current);
            let at = layout.addr(block, self.slot);
            let link = if self.slot == 0 { self.link(block)? } else { 0 };
            let stamp = Stamp { time: self.tick()?, link };
            self.slot += 1;
            self.since += 1;
            match program(&mut self.flash, at, owner, stamp, data) {
                Ok(()) => {
                    self.at.current = at;
                    return Ok(at);
                }
                // The rest of the erase block is not used; cleaning marks it bad when nothing is left in it.
                Err(NandError::ProgramFailed(_)) => {
                    self.suspect.insert(block);
                    self.slot = layout.slots();
                }
                Err(error) => return Err(chip(error)),
            }
        }
    }

    /// The distance to the next erase block.
    fn link(&mut self, block: u32) -> Result<u8> {
        let next = self.next_of(block)?;
        let ring = self.layout().log_blocks();
        u8::try_from((next + ring - block) % ring)
            .map_err(|_| damaged(format_args!("no good erase block within 255 of {block}")))
    }

    fn next_of(&mut self, block: u32) -> Result<u32> {
        let next = match self.next {
            Some(next) => next,
            None => self.successor(block)?,
        };
        self.next = Some(next);
        Ok(next)
    }

    /// The next good erase block of the ring: one look at a spare area, as in the paper.
    pub(crate) fn successor(&mut self, block: u32) -> Result<u32> {
        let ring = self.layout().log_blocks();
        let mut at = block;
        for _ in 0..ring {
            at = (at + 1) % ring;
            if !self.flash.is_bad(at)? {
                return Ok(at);
            }
        }
        Err(damaged("every erase block of the log is bad"))
    }

    /// Opens the next erase block.
    fn open(&mut self) -> Result<()> {
        loop {
            let open = self.layout().block_of(self.at.current);
            if self.at.free == 0 || (open == self.at.last && !self.whole) {
                return Err(Errno::NoSpace.into());
            }
            let block = self.next_of(open)?;
            self.whole = false;
            self.at.free -= 1;
            self.at.current = self.layout().addr(block, 0);
            self.next = None;
            if self.at.unsure == 0 || self.erase(block)? {
                self.at.unsure = self.at.unsure.saturating_sub(1);
                self.slot = 0;
                return Ok(());
            }
            self.at.unsure = self.at.unsure.saturating_sub(1);
        }
    }

    /// Erases a block; false if that failed, and the block is bad now.
    fn erase(&mut self, block: u32) -> Result<bool> {
        match self.flash.erase(block) {
            Ok(()) => Ok(true),
            Err(NandError::EraseFailed(_)) => self.retire(block).map(|()| false),
            Err(error) => Err(chip(error)),
        }
    }

    fn retire(&mut self, block: u32) -> Result<()> {
        self.flash.mark_bad(block)?;
        self.suspect.remove(&block);
        self.at.bad += 1;
        Ok(())
    }

    /// The erase block that is cleaned next, `behind` one that was; the oldest of the log if none was yet.
    pub(crate) fn victim(&mut self, behind: Option<u32>) -> Result<Option<u32>> {
        let victim = self.successor(behind.unwrap_or(self.at.last))?;
        let open = self.layout().block_of(self.at.current);
        Ok((victim != open).then_some(victim))
    }

    /// A checkpoint is about to be written, and these erase blocks, in the order of the ring, hold nothing that it
    /// needs: they are free.
    pub(crate) fn release(&mut self, cleaned: &[u32]) -> Result<()> {
        for block in cleaned {
            if self.suspect.contains(block) {
                self.retire(*block)?;
            } else {
                self.at.free += 1;
            }
            self.at.last = *block;
        }
        Ok(())
    }

    /// Erases the blocks that a written checkpoint freed.
    pub(crate) fn checkpointed(&mut self, cleaned: &[u32]) -> Result<()> {
        self.since = 0;
        for block in cleaned {
            if self.flash.is_bad(*block)? {
                continue;
            }
            if !self.erase(*block)? {
                self.at.free = self.at.free.saturating_sub(1);
                self.next.take_if(|next| next == block);
            }
        }
        Ok(())
    }

    /// Section 4.5: scans the spare areas of blocks written behind the checkpoint's position, in order, and moves the
    /// position there.
    pub(crate) fn scan(&mut self) -> Result<Vec<Met>> {
        let layout = self.layout();
        let mut met = Vec::new();
        let mut block = layout.block_of(self.at.current);
        let mut slot = layout.slot_of(self.at.current) + 1;
        loop {
            self.scanned.push((block, self.at.free));
            while slot < layout.slots() {
                let at = layout.addr(block, slot);
                match self.flash.read_spares(at)? {
                    Spares::Erased => break,
                    Spares::Written(Some(owner), stamp) if self.follows(stamp.time) => {
                        self.at.time = stamp.time;
                        self.at.current = at;
                        self.since += 1;
                        met.push(Met { at, owner });
                    }
                    Spares::Written(..) => {}
                }
                slot += 1;
            }
            match self.follow(block)? {
                Some(next) => (block, slot) = (next, 0),
                None => break,
            }
        }
        if !met.is_empty() {
            // A mount that was cut may have dropped others behind them.
            self.at.unsure = self.at.free;
        }
        // The times of torn blocks are not used again.
        self.at.time = self.at.time.saturating_add(TIME_STEP);
        Ok(met)
    }

    /// Drops all scanned blocks behind `last`, or all of them: the erase blocks behind it are free, and erased when
    /// they are opened. Otherwise the copies of a cut cleaning would be lost room.
    pub(crate) fn rewind(&mut self, last: Option<Addr>) -> Result<()> {
        let layout = self.layout();
        let scanned = core::mem::take(&mut self.scanned);
        let keep = last.map(|at| layout.block_of(at)).or_else(|| scanned.first().map(|(block, _)| *block));
        let Some(from) = scanned.iter().position(|(block, _)| Some(*block) == keep) else { return Ok(()) };
        let (block, free) = scanned[from];
        if from + 1 == scanned.len() {
            return Ok(());
        }
        let mut bad = 0;
        for (behind, _) in &scanned[from + 1..] {
            bad += u32::from(self.flash.is_bad(*behind)?);
        }
        self.at.current = layout.addr(block, layout.slots() - 1);
        self.at.free = free.saturating_sub(bad);
        self.at.unsure = self.at.free;
        self.next = None;
        Ok(())
    }

    fn follows(&self, time: u32) -> bool {
        time > self.at.time && time - self.at.time <= 2 * TIME_STEP
    }

    /// The erase block in which the log goes on behind `block`: that of the link, or one behind it if that went bad.
    fn follow(&mut self, block: u32) -> Result<Option<u32>> {
        let layout = self.layout();
        let link = self.flash.read_stamp(layout.addr(block, 0))?.map_or(1, |stamp| u32::from(stamp.link));
        let linked = (block + link.max(1)) % layout.log_blocks();
        let mut next = block;
        for passed in 0..=PASSED_MAX {
            if self.at.free < passed.max(1) || next == self.at.last {
                return Ok(None);
            }
            // The link is not proved; the next blocks of the ring are.
            next = if passed == 0 { linked } else { self.successor(if passed == 1 { block } else { next })? };
            if let Spares::Written(Some(_), stamp) = self.flash.read_spares(layout.addr(next, 0))?
                && self.follows(stamp.time)
            {
                self.at.free -= passed.max(1);
                return Ok(Some(next));
            }
        }
        Ok(None)
    }
}
