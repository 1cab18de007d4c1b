//! The block table: the use of each erase block, its wear, and the time of its last change (F2FS's SIT).

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use hashbrown::HashSet;
use pumice_cleaning::{CandidatePool, Class, SegmentView};
use pumice_flashlog::Roots;
use pumice_vfs::{Errno, FsError, Result};

use crate::addr::Addr;

use crate::codec::{Put, Reader, len32};
use crate::pages::{DATA, Event, Pages, Spare};
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::placing::candidates_most;
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
    free: u32,
    /// Blocks marked bad.
    bad: u32,
    /// Blocks that became empty since the last checkpoint; the next one may give them to the window.
    dying: Vec<u32>,
    /// More blocks died than are listed; the table knows which.
    lost_dead: bool,
    /// Blocks in which a program failed and that still hold something.
    failing: Vec<u32>,
    /// Those of them that cleaning has been through; their remaining data cannot be read.
    evacuated: BTreeSet<u32>,
    /// The next place of the search for free blocks.
    cursor: u32,
    candidates: Candidates,
    /// Blocks of files that users wrote, wrapping: the clock of ages.
    clock: u32,
    trust: Trust,
}

/// Blocks that cleaning may choose from.
struct Candidates {
    /// Sealed blocks worth cleaning.
    pool: CandidatePool,
    /// Blocks looked at for it since the mount.
    scanned: u32,
}

/// The words of a checkpoint about the blocks, besides their table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    pub(crate) free: u32,
    pub(crate) bad: u32,
    /// The next place of the search for free blocks.
    pub(crate) cursor: u32,
    /// The clock of ages.
    pub(crate) clock: u32,
    pub(crate) failing: Vec<u32>,
    /// Blocks that became empty while the checkpoint was made.
    pub(crate) dying: Vec<u32>,
    /// More of them than are listed: the block table knows which.
    pub(crate) lost_dead: bool,
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

/// Memory of the usual rule for a candidate.
const RULE_BYTES: usize = 16;
/// More empty blocks than this are found again by looking at the table.
const DYING_MAX: usize = 4096;
/// A chunk that moved from its writer's address to another.
pub(crate) type Moved = (Desc, Addr, Addr);

impl Blocks {
    pub(crate) fn new(params: Params, pool: CandidatePool) -> Blocks {
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
            candidates: Candidates { pool, scanned: 0 },
            clock: 0,
            trust: Trust::Known,
        }
    }

    /// Goes on from a checkpoint.
    pub(crate) fn resume(&mut self, told: Told) {
        (self.free, self.bad, self.clock) = (told.free, told.bad, told.clock);
        self.cursor = told.cursor.clamp(ANCHOR_BLOCKS, self.params.blocks - 1);
        (self.failing, self.dying, self.lost_dead) = (told.failing, told.dying, told.lost_dead);
    }

    /// The words of a checkpoint, which has room for so many failing blocks, and as many dying ones. Those being `left` must
    /// not be forgotten if it turns out to be the last.
    pub(crate) fn tell(&self, left: &[u32], most: usize) -> Told {
        let Blocks { free, bad, cursor, clock, .. } = *self;
        let failing = self.failing.iter().take(most).copied().collect();
        let mut dying: Vec<u32> = left.iter().chain(&self.dying).copied().collect();
        let lost_dead = self.lost_dead || dying.len() > most;
        dying.truncate(most);
        Told { free, bad, cursor, clock, failing, dying, lost_dead }
    }

    /// Makes the table anew from the use of each block.
    pub(crate) fn count_anew(&mut self, usages: Vec<Usage>) {
        self.table = Table::new(ChunkKind::BlockTable, self.params.node, BLOCK_ROOTS);
        let has = |state: State| (0..).zip(&usages).filter(move |(_, usage)| usage.state == state);
        self.free = len32(usages.iter().filter(|usage| usage.is_free()).count());
        self.bad = len32(has(State::Bad).count());
        self.failing = has(State::Failing).map(|(block, _)| block).collect();
        self.dying.clear();
        self.evacuated.clear();
        (self.lost_dead, self.candidates.scanned) = (false, 0);
        self.candidates.pool.clear();
        for (block, usage) in (0..).zip(usages).filter(|(_, usage)| *usage != Usage::default()) {
            self.table.set(block, usage.encode());
        }
    }

    /// Counts all blocks as free, as an empty table has them.
    pub(crate) fn begin(&mut self) {
        self.free = self.params.blocks;
    }

    /// Blocks free, erased or not, those of the window included.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Blocks that are free, or will be at the next checkpoint.
    pub(crate) fn supply(&self) -> u32 {
        self.free + len32(self.dying.len())
    }

    /// Blocks marked bad.
    pub(crate) fn bad(&self) -> u32 {
        self.bad
    }

    /// The clock of ages: blocks of files that users wrote, wrapping.
    pub(crate) fn clock(&self) -> u32 {
        self.clock
    }

    /// A user wrote a block of a file.
    pub(crate) fn tick(&mut self) {
        self.clock = self.clock.wrapping_add(1);
    }

    /// Blocks that became empty since the last checkpoint, as far as they are listed.
    pub(crate) fn dying(&self) -> &[u32] {
        &self.dying
    }

    /// True if more blocks died than are listed.
    pub(crate) fn has_unlisted(&self) -> bool {
        self.lost_dead
    }

    /// Blocks in which a program failed and that still hold something.
    pub(crate) fn failing(&self) -> &[u32] {
        &self.failing
    }

    /// True if cleaning has not been through one of them.
    pub(crate) fn has_unmoved(&self) -> bool {
        self.failing.iter().any(|block| !self.evacuated.contains(block))
    }

    /// The next of them for cleaning to go through.
    pub(crate) fn next_failing(&mut self, pages: &mut Pages<'_>) -> Result<Option<u32>> {
        for block in self.failing.clone() {
            if self.get(pages, block)?.valid > 0 && self.evacuated.insert(block) {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Marks them bad once they hold nothing any more.
    pub(crate) fn bury_failing(&mut self, pages: &mut Pages<'_>) -> Result<()> {
        for block in core::mem::take(&mut self.failing) {
            let usage = self.get(pages, block)?;
            if usage.state != State::Failing {
                continue;
            }
            if usage.valid > 0 {
                self.failing.push(block);
                continue;
            }
            pages.mark_bad(block)?;
            self.update(pages, block, |usage| usage.state = State::Bad)?;
        }
        Ok(())
    }

    /// Takes out those that became empty, for the window that the coming checkpoint names.
    pub(crate) fn take_dying(
        &mut self,
        pages: &mut Pages<'_>,
        roots: &Roots,
        room: usize,
    ) -> Result<Vec<Spare>> {
        let (mut fresh, mut keep) = (Vec::new(), Vec::new());
        for block in core::mem::take(&mut self.dying) {
            let usage = self.get(pages, block)?;
            if usage.valid > 0 || usage.state != State::Used {
                continue;
            }
            if is_in_use(pages, roots, block) || fresh.len() >= room {
                keep.push(block);
                continue;
            }
            self.update(pages, block, |usage| usage.state = State::Dirty)?;
            fresh.push(Spare { block, erased: false });
        }
        self.dying.append(&mut keep);
        Ok(fresh)
    }

    /// Adds free blocks in the order of the chip, on from where the last search ended.
    pub(crate) fn search_free(
        &mut self,
        pages: &mut Pages<'_>,
        roots: &Roots,
        room: usize,
        fresh: &mut Vec<Spare>,
    ) -> Result<()> {
        let known: HashSet<u32> =
            pages.window().iter().chain(fresh.iter()).map(|spare| spare.block).collect();
        let mut unknown = self.free.saturating_sub(len32(known.len()));
        for _ in ANCHOR_BLOCKS..self.params.blocks {
            if fresh.len() >= room || (unknown == 0 && !self.lost_dead) {
                return Ok(());
            }
            let block = self.cursor;
            self.cursor = if block + 1 < self.params.blocks { block + 1 } else { ANCHOR_BLOCKS };
            if known.contains(&block) {
                continue;
            }
            // Blocks on an unreadable page of the table wait for its repair.
            let Ok(usage) = self.get(pages, block) else { continue };
            if usage.is_free() {
                unknown = unknown.saturating_sub(1);
                fresh.push(Spare { block, erased: usage.state == State::Erased });
            } else if usage.state == State::Used
                && usage.valid == 0
                && !is_in_use(pages, roots, block)
                && !self.dying.contains(&block)
            {
                self.update(pages, block, |usage| usage.state = State::Dirty)?;
                fresh.push(Spare { block, erased: false });
            }
        }
        self.lost_dead = false;
        Ok(())
    }

    /// Forgets blocks that became empty, but were found to be written to.
    pub(crate) fn forget_dying(&mut self, touched: &[u32]) {
        self.dying.retain(|block| !touched.contains(block));
    }

    /// Candidates for cleaning.
    pub(crate) fn candidates(&self) -> usize {
        self.candidates.pool.len()
    }

    /// True if a block is one of them.
    pub(crate) fn is_offered(&self, block: u32) -> bool {
        self.candidates.pool.contains(block)
    }

    /// Takes a block off them.
    pub(crate) fn withdraw(&mut self, block: u32) {
        self.candidates.pool.remove(block);
    }

    /// The next blocks to look at for candidates: sealed before the mount, or dropped when the pool was full.
    pub(crate) fn next_to_offer(&mut self) -> Vec<u32> {
        let span = self.params.blocks - ANCHOR_BLOCKS;
        let mut scanned = self.candidates.scanned;
        // A pool that holds every block needs no more looks once all were seen.
        let batch = match scanned < span {
            true => span.min(2048),
            false if span <= 2048 => 0,
            false => (span / 64).clamp(1, 64),
        };
        let next = (0..batch).map(|_| {
            let block = ANCHOR_BLOCKS + scanned % span;
            scanned = if scanned == u32::MAX { span } else { scanned + 1 };
            block
        });
        let next = next.collect();
        self.candidates.scanned = scanned;
        next
    }

    /// Memory that does not depend on use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        usize::from(candidates_most(&self.params)) * (CandidatePool::BYTES_PER_CANDIDATE + RULE_BYTES)
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
            if usage.valid < before.valid {
                self.candidates.pool.shrank(block, usage.valid, self.clock);
            } else if self.is_offered(block) {
                self.offer(block, &usage);
            }
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
        self.candidates.pool.offer(self.clock, block, view);
    }

    /// Takes the next victim off the candidates, the emptiest if only room counts, with the time since the last write into
    /// it; `None` if none is worth it.
    pub(crate) fn take_victim(&mut self, only_room: bool) -> Option<(u32, u32)> {
        if only_room {
            return self.candidates.pool.take_emptiest(self.clock);
        }
        self.candidates.pool.take(self.clock)
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

/// True if a block is open, or holds the checkpoints or copies of parity.
pub(crate) fn is_in_use(pages: &Pages<'_>, roots: &Roots, block: u32) -> bool {
    pages.is_open(block) || roots.holds(block) || pages.holds_copies(block)
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
