//! The server: its parts in memory, and the paths that all others share.

use pumice_cleaning::{Class, Old};
use pumice_flashlog::Roots;

use crate::error::{FtlError, Result};
use crate::flash::Flash;
use crate::head::Head;
use crate::identity::Identity;
use crate::layout::Kind;
use crate::log::Log;
use crate::map::Map;
use crate::segments::State;
use crate::shape::{Addr, Shape};
use crate::status::Mode;
use crate::stream::segments_at_most;
use crate::tag::Entry;
use crate::trims::Trims;

/// The flash memory server: the log, the map of logical blocks to places in it, and trims that are not in it yet.
pub(crate) struct Server<'c> {
    pub(crate) log: Log<'c>,
    pub(crate) map: Map,
    pub(crate) trims: Trims,
}

impl<'c> Server<'c> {
    /// A server around its parts, with nothing stored.
    pub(crate) fn assemble(
        flash: Flash<'c>,
        shape: Shape,
        identity: Identity,
        roots: Roots,
        cache_bytes: usize,
    ) -> Server<'c> {
        let map = Map::new(&shape, identity.logical_blocks, cache_bytes);
        Server { log: Log::new(flash, shape, identity, roots), map, trims: Trims::default() }
    }

    /// Refuses impossible writes, and has the record say that more follows.
    pub(crate) fn admit_write(&mut self) -> Result<()> {
        match self.log.status.mode {
            Mode::Dirty => Ok(()),
            Mode::Clean => {
                self.write_record(false)?;
                self.log.status.mode = Mode::Dirty;
                Ok(())
            }
            Mode::Replayed { undone } => self.checkpoint_replayed(undone, false),
            Mode::ReadOnly => Err(FtlError::ReadOnly),
            Mode::WornOut => Err(FtlError::WornOut),
            Mode::Missing(missing) => Err(FtlError::Missing(missing)),
            Mode::Failed(error) => Err(error.into()),
        }
    }

    /// Makes the checkpoint of the first change after a power cut; no other write goes before it.
    pub(crate) fn checkpoint_replayed(&mut self, undone: bool, clean: bool) -> Result<()> {
        self.log.status.mode = Mode::Dirty;
        if self.log.shape.is_paired() {
            // No page has this number: a start looks at the next one's record of the page before, which is none.
            self.log.flash.next_sequence();
        }
        if undone {
            self.write_void()?;
        }
        let done = self.checkpoint_unsure(clean);
        if done == Err(FtlError::WornOut) {
            self.log.status.mode = Mode::WornOut;
        }
        done
    }

    /// A checkpoint, and the blocks of the newest page behind it.
    pub(crate) fn checkpoint_unsure(&mut self, clean: bool) -> Result<()> {
        if !self.log.aftermath.unsure.is_empty() {
            self.write_checkpoint(false)?;
            self.write_unsure()?;
            return if clean { self.write_checkpoint(true) } else { Ok(()) };
        }
        self.write_checkpoint(clean)
    }

    /// Segments that a checkpoint takes at the most.
    pub(crate) fn checkpoint_most(&self) -> u32 {
        segments_at_most(&self.log.shape, self.map.table.len())
    }

    /// The copy that a write or trim of a block replaces, as placement sees it.
    pub(crate) fn old(&mut self, lba: u32) -> Result<Option<Old>> {
        let addr = self.addr(lba)?;
        Ok(self.segment_of(addr).map(|block| {
            let segment = self.log.segments.get(block);
            Old { class: Class(segment.class), age: self.log.clock.wrapping_sub(segment.opened) }
        }))
    }

    /// A block has a new copy.
    pub(crate) fn point(&mut self, lba: u32, addr: Addr) -> Result<()> {
        let old = self.set_addr(lba, addr)?;
        self.leave_copy(old);
        Ok(())
    }

    /// The copy of a block is garbage from now on.
    pub(crate) fn forget_copy(&mut self, lba: u32) -> Result<()> {
        self.point(lba, Addr::NONE)
    }

    /// Makes the copy here garbage. In a page that is not programmed yet it never gets onto the chip: programmed behind
    /// a newer copy, it would have the higher sequence number.
    fn leave_copy(&mut self, old: Addr) {
        let (Some(block), now) = (self.segment_of(old), self.log.clock) else { return };
        let shape = self.log.shape;
        self.log.heads.open.iter_mut().flatten().for_each(|head| head.blank(&shape, old));
        self.log.segments.change(block, |segment| segment.changed = now);
        self.log.policies.selector.invalidated(block, now);
        let segment = self.log.segments.get(block);
        if segment.state == State::Stuck && segment.valid == 0 {
            self.free(block);
        }
    }

    /// Frees a segment: nothing in it is needed any more.
    pub(crate) fn free(&mut self, block: u32) {
        if self.log.aftermath.unsure.is_in(block) {
            return;
        }
        self.log.segments.change(block, |segment| segment.state = State::Free);
        if self.log.segments.get(block).trims || self.has_pending() {
            self.log.waiting.hold(block);
        } else {
            self.let_go(block);
        }
    }

    /// Gives a free segment back if no commit is due, unless it holds the newest summary: that may be all that tells of
    /// others. What a commit writes has a later one.
    pub(crate) fn let_go(&mut self, block: u32) {
        if self.log.recorded.listed.is_newest(block) {
            self.log.segments.hold([block]);
            self.log.waiting.hold(block);
        } else {
            self.hand_back(block);
        }
    }

    /// Gives a free segment to the rule that keeps them. It is erased when it is opened, and counted as erased now.
    pub(crate) fn hand_back(&mut self, block: u32) {
        self.log.policies.wear.freed(block, self.log.segments.get(block).erases.saturating_add(1));
    }

    /// True if a power cut now would lose something that was accepted.
    pub(crate) fn has_pending(&self) -> bool {
        !self.trims.is_empty() || self.has_pending_blocks()
    }

    /// The same for blocks alone.
    pub(crate) fn has_pending_blocks(&self) -> bool {
        self.has_unwritten()
            || self.log.heads.open.iter().flatten().any(|head| head.is_at_risk(&self.log.shape))
    }

    /// True if pages have to be programmed for a commit.
    pub(crate) fn has_unwritten(&self) -> bool {
        let short = !self.log.shape.tagged;
        let is_unwritten = |head: &Head| !head.filled.is_empty() || (short && head.covered < head.index);
        !self.log.heads.failing.is_empty() || self.log.heads.open.iter().flatten().any(is_unwritten)
    }

    /// The bytes of a block that one of them holds.
    pub(crate) fn unsure_block(&self, lba: u32) -> Option<&[u8]> {
        self.log.aftermath.unsure.find(lba).and_then(|(_, held)| held.block(&self.log.shape, lba))
    }

    /// Reads a block for a copy: a kept one goes in place of an older one.
    pub(crate) fn fetch_newest(&mut self, entry: &mut Entry, addr: Addr, out: &mut [u8]) -> Result<()> {
        let Some((newest, held)) = self.log.aftermath.unsure.find(entry.lba) else {
            return self.fetch(entry.lba, addr, out);
        };
        if let Some(bytes) = held.block(&self.log.shape, entry.lba) {
            out.copy_from_slice(bytes);
        }
        *entry = newest;
        Ok(())
    }

    /// Reads the block at `addr`, which must be `lba`, into `out`.
    pub(crate) fn fetch(&mut self, lba: u32, addr: Addr, out: &mut [u8]) -> Result<()> {
        let shape = self.log.shape;
        if addr == Addr::LOST {
            return Err(FtlError::Unreadable(lba));
        }
        for head in self.log.heads.open.iter_mut().flatten().chain(&mut self.log.heads.failing) {
            if let Some(slot) = head.buffered(&shape, addr) {
                head.buffer_slot(&shape, slot, |bytes| out.copy_from_slice(bytes));
                return Ok(());
            }
        }
        let (place, slot) = shape.place(addr);
        let found = self.log.flash.read_kept(place)?;
        let (tag, page) = found.of_kind(Kind::Data).ok_or(FtlError::Unreadable(lba))?;
        let stored = tag.entries.get(slot as usize).map(|entry| entry.lba);
        if shape.tagged && stored != Some(lba) {
            return Err(FtlError::Unreadable(lba));
        }
        let bytes = page.payload.get(shape.slot_range(slot)).ok_or(FtlError::Unreadable(lba))?;
        out.copy_from_slice(bytes);
        Ok(())
    }
}
