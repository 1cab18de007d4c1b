//! The block table: the use of each erase block, its wear, and the time of its last change (F2FS's SIT).

use alloc::{boxed::Box, collections::BTreeSet, format, string::String, vec::Vec};

use pumice_cleaning::{CandidatePool, Class, Greedy, SegmentView, Victim};
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;

use crate::codec::{Put, Reader};
use crate::pages::{DATA, Event, Pages};
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::table::Table;
use crate::tag::{ChunkKind, Desc};

/// Topmost pages of the block table.
pub(crate) const BLOCK_ROOTS: usize = 8;
/// Bytes of an entry.
pub(crate) const ENTRY: usize = 12;

/// The bits of an entry that count live bytes.
const VALID: u32 = (1 << 28) - 1;

/// The use of a block. The numbers are the medium's; a block never mentioned is free and erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub(crate) enum State {
    /// Free and known to be erased.
    #[default]
    Erased = 0,
    /// Free; must be erased before use.
    Dirty = 1,
    /// Written.
    Used = 2,
    /// Marked bad.
    Bad = 3,
    /// Holds anchors.
    Anchor = 4,
    /// A program failed here: to be marked bad once empty.
    Failing = 5,
}

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) state: State,
    /// Bytes of live chunks, below 2^28.
    pub(crate) valid: u32,
    /// Reads since its erase, as the patrol counts them: up to 15.
    pub(crate) reads: u8,
    /// Write clock when the block was opened.
    pub(crate) stamp: u32,
    /// The head that wrote it.
    pub(crate) head: u8,
    /// Erases so far.
    pub(crate) erases: u32,
}

impl Usage {
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.state, State::Erased | State::Dirty)
    }

    /// The temperature of its data; pages that fsync writes count as hot.
    pub(crate) fn class(&self) -> Class {
        Class(u8::try_from(usize::from(self.head).saturating_sub(DATA)).unwrap_or(0))
    }

    pub(crate) fn encode(&self) -> [u8; ENTRY] {
        let mut out = Vec::with_capacity(ENTRY);
        out.put_u32((self.valid & VALID) | u32::from(self.reads) << 28);
        out.put_u32(self.stamp);
        out.put_u32(self.erases.min(0xff_ffff) | (self.state as u32) << 24 | u32::from(self.head & 15) << 28);
        out.try_into().unwrap_or([0; ENTRY])
    }

    pub(crate) fn decode(raw: [u8; ENTRY]) -> Usage {
        let mut reader = Reader(&raw);
        let mut next = || reader.u32().unwrap_or(0);
        let (valid, stamp, last) = (next(), next(), next());
        let states = [State::Erased, State::Dirty, State::Used, State::Bad, State::Anchor, State::Failing];
        // A state from nowhere must not be written to.
        let state = states.get((last >> 24 & 15) as usize).copied().unwrap_or(State::Bad);
        let head = u8::try_from(last >> 28).unwrap_or(0);
        let reads = u8::try_from(valid >> 28).unwrap_or(0);
        Usage { state, valid: valid & VALID, reads, stamp, head, erases: last & 0xff_ffff }
    }
}

/// The table of [`Usage`], and the blocks that cleaning may choose from.
pub(crate) struct Blocks {
    params: Params,
    pub(crate) table: Table<ENTRY>,
    /// Blocks free, erased or not, those of the window included.
    pub(crate) free: u32,
    /// Blocks marked bad.
    pub(crate) bad: u32,
    /// Blocks that became empty since the last checkpoint; the next one may give them to the window.
    pub(crate) dying: Vec<u32>,
    /// More blocks died than are listed; the table knows which.
    pub(crate) lost_dead: bool,
    /// Blocks in which a program failed and that still hold something.
    pub(crate) failing: Vec<u32>,
    /// Those of them that cleaning has been through; their remaining data cannot be read.
    pub(crate) evacuated: BTreeSet<u32>,
    /// The next place of the search for free blocks.
    pub(crate) cursor: u32,
    pub(crate) candidates: Candidates,
    /// Blocks of files that users wrote, wrapping: the clock of ages.
    pub(crate) clock: u32,
    trust: Trust,
}

/// Blocks that cleaning may choose from.
pub(crate) struct Candidates {
    /// Sealed blocks worth cleaning.
    pub(crate) pool: CandidatePool,
    /// Blocks looked at for it since the mount.
    pub(crate) scanned: u32,
    /// The rule that chooses the next one.
    rule: Box<dyn Victim + Send>,
}

/// Whether the use of all blocks is known.
enum Trust {
    /// It is, as far as anybody asked.
    Known,
    /// It is not: why.
    Lost(String),
    /// The table is about to be made anew: its unreadable parts do not matter.
    Renewed,
}

/// More empty blocks than this are found again by looking at the table.
const DYING_MAX: usize = 4096;
/// The most candidates for cleaning; a larger chip is cleaned by the best of those seen.
const POOL_MAX: u16 = 2048;

/// A chunk that moved from its writer's address to another.
pub(crate) type Moved = (Desc, Addr, Addr);

impl Blocks {
    pub(crate) fn new(params: Params, victim: Box<dyn Victim + Send>) -> Blocks {
        Blocks {
            params,
            table: Table::new(ChunkKind::BlockTable, params.node, BLOCK_ROOTS),
            free: 0,
            bad: 0,
            dying: Vec::new(),
            lost_dead: false,
            failing: Vec::new(),
            evacuated: BTreeSet::new(),
            cursor: ANCHOR_BLOCKS,
            candidates: Candidates { pool: Blocks::empty_pool(&params), scanned: 0, rule: victim },
            clock: 0,
            trust: Trust::Known,
        }
    }

    /// The pool of a chip, with no candidates in it.
    pub(crate) fn empty_pool(params: &Params) -> CandidatePool {
        let limit = u16::try_from(params.blocks).unwrap_or(POOL_MAX).min(POOL_MAX);
        CandidatePool::new(limit, params.block_payload())
    }

    /// Memory that does not depend on use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        usize::from(POOL_MAX).min(self.params.blocks as usize) * CandidatePool::BYTES_PER_CANDIDATE
            + self.dying.capacity() * 4
    }

    pub(crate) fn get(&mut self, pages: &mut Pages<'_>, block: u32) -> Result<Usage> {
        Ok(Usage::decode(self.table.get(pages, block)?))
    }

    pub(crate) fn update(
        &mut self,
        pages: &mut Pages<'_>,
        block: u32,
        change: impl FnOnce(&mut Usage),
    ) -> Result<Usage> {
        let before = match self.get(pages, block) {
            Err(_) if matches!(self.trust, Trust::Renewed) => {
                Usage { state: State::Used, ..Usage::default() }
            }
            found => found.map_err(|error| self.lose(&error))?,
        };
        let mut usage = before;
        change(&mut usage);
        self.count(before, usage);
        self.table.set(block, usage.encode());
        if usage.valid != before.valid {
            self.candidates.pool.update(block, usage.valid, self.clock);
            if usage.valid == 0 && usage.state == State::Used {
                self.retire(block);
            }
        }
        Ok(usage)
    }

    /// Notes a change of a block that cannot be counted.
    fn lose(&mut self, error: &FsError) -> FsError {
        let text =
            format!("the free erase blocks are unknown: {error}: mount the volume read-only, or repair it");
        self.trust = Trust::Lost(text.clone());
        FsError::new(Errno::Io, text)
    }

    /// The reason that the use of some blocks is not known any more: nothing may be written then.
    pub(crate) fn lost(&self) -> Option<&str> {
        if let Trust::Lost(why) = &self.trust { Some(why) } else { None }
    }

    /// Takes over a page of the table that will be written again; returns its old place.
    pub(crate) fn detach(&mut self, pages: &mut Pages<'_>, place: (u8, u32)) -> Result<Addr> {
        self.table.detach(pages, place).map_err(|error| self.lose(&error))
    }

    /// Looks whether every page of the table can be read.
    pub(crate) fn look(&mut self, pages: &mut Pages<'_>) {
        for block in (0..self.params.blocks).step_by(self.table.per_leaf() as usize) {
            if let Err(error) = self.get(pages, block) {
                self.lose(&error);
            }
        }
    }

    /// Goes on without the unreadable parts of the table: it will be made anew.
    pub(crate) fn renew(&mut self) {
        self.trust = Trust::Renewed;
    }

    /// Notes that a block holds nothing any more.
    fn retire(&mut self, block: u32) {
        self.candidates.pool.remove(block);
        if self.dying.contains(&block) {
            return;
        }
        if self.dying.len() < DYING_MAX {
            self.dying.push(block);
        } else {
            self.lost_dead = true;
        }
    }

    fn count(&mut self, before: Usage, after: Usage) {
        // Counts of a damaged volume may be lower than those in its table.
        self.free = (self.free + u32::from(after.is_free())).saturating_sub(u32::from(before.is_free()));
        let bad = |usage: Usage| u32::from(usage.state == State::Bad);
        self.bad = (self.bad + bad(after)).saturating_sub(bad(before));
    }

    /// Counts a chunk in.
    pub(crate) fn add(&mut self, pages: &mut Pages<'_>, addr: Addr) -> Result<()> {
        self.count_chunk(pages, addr, u32::saturating_add)
    }

    /// Counts a chunk out.
    pub(crate) fn release(&mut self, pages: &mut Pages<'_>, addr: Addr) -> Result<()> {
        self.count_chunk(pages, addr, u32::saturating_sub)
    }

    fn count_chunk(&mut self, pages: &mut Pages<'_>, addr: Addr, count: fn(u32, u32) -> u32) -> Result<()> {
        let block = self.params.block_of(addr.page);
        if addr.is_stored() && block < self.params.blocks {
            self.update(pages, block, |usage| usage.valid = count(usage.valid, addr.len.into()))?;
        }
        Ok(())
    }

    /// Notes that a block of checkpoints was left for another: it holds nothing now.
    pub(crate) fn leave_root(&mut self, pages: &mut Pages<'_>, block: u32) -> Result<()> {
        let usage = self.update(pages, block, |usage| usage.valid = 0)?;
        if usage.state == State::Used {
            self.retire(block);
        }
        Ok(())
    }

    /// Closes a block that was written to the end, or to the place of a power cut: it may be cleaned, or holds nothing
    /// at all.
    pub(crate) fn close(&mut self, pages: &mut Pages<'_>, block: u32) -> Result<()> {
        let usage = self.get(pages, block)?;
        match usage.valid {
            _ if usage.state != State::Used => {}
            0 => self.retire(block),
            _ => self.offer_view(block, &SegmentView { written: 0, invalidated: 0, ..self.view(&usage) }),
        }
        Ok(())
    }

    /// Offers a block for cleaning that was sealed before the mount, or has left the pool.
    pub(crate) fn offer(&mut self, block: u32, usage: &Usage) {
        self.offer_view(block, &self.view(usage));
    }

    fn offer_view(&mut self, block: u32, view: &SegmentView) {
        self.candidates.pool.offer(&*self.candidates.rule, self.clock, block, view);
    }

    /// Takes the next victim out of the pool, the emptiest if only room counts; `None` if none is worth it.
    pub(crate) fn take_victim(&mut self, only_room: bool) -> Option<(u32, SegmentView)> {
        let rule = if only_room { &Greedy } else { &*self.candidates.rule };
        self.candidates.pool.take_best(rule, self.clock)
    }

    /// A block as policies see it; the table has only the clock of its opening.
    pub(crate) fn view(&self, usage: &Usage) -> SegmentView {
        let age = self.clock.wrapping_sub(usage.stamp);
        SegmentView {
            valid: usage.valid,
            capacity: self.params.block_payload(),
            created: age,
            written: age,
            invalidated: age,
            erases: usage.erases,
            class: usage.class(),
        }
    }

    /// Takes note of events of blocks; hands back the chunks that moved.
    pub(crate) fn observe(&mut self, pages: &mut Pages<'_>) -> Result<Vec<Moved>> {
        let mut moved = Vec::new();
        while let Some(event) = pages.next_event() {
            let clock = self.clock;
            let mut update = |block: u32, change: &dyn Fn(&mut Usage)| self.update(pages, block, change);
            match event {
                Event::Erased(block) => {
                    update(block, &|usage| *usage = Usage { erases: usage.erases + 1, ..Usage::default() })?;
                }
                Event::Bad(block) => {
                    update(block, &|usage| (usage.state, usage.valid) = (State::Bad, 0))?;
                }
                Event::Opened(block, head) => {
                    update(block, &|it| (it.state, it.stamp, it.head) = (State::Used, clock, head))?;
                }
                Event::Sealed(block) => self.close(pages, block)?,
                Event::Failing(block) => {
                    update(block, &|usage| usage.state = State::Failing)?;
                    self.candidates.pool.remove(block);
                    self.failing.push(block);
                }
                Event::Moved { desc, from, to } => moved.push((desc, from, to)),
            }
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back() {
        let usage = Usage {
            state: State::Failing,
            valid: 0x0234_5678,
            reads: 13,
            stamp: 9,
            head: 7,
            erases: 0x00ab_cdef,
        };
        assert_eq!(Usage::decode(usage.encode()), usage);
        assert_eq!(Usage::decode([0; ENTRY]), Usage::default());
    }
}
