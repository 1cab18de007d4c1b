//! The cleaner: takes a victim, moves its live blocks, frees it (CAT paper, figure 2), and levels wear. In idle time it
//! works ahead.

use alloc::{vec, vec::Vec};

use pumice_cleaning::{Cleaned, Relocation};

use crate::error::{FtlError, Result};
use crate::head::{Head, MOVING};
use crate::layout::Kind;
use crate::moving::Move;
use crate::segments::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::status::Mode;
use crate::summary::Contents;
use crate::tag::Entry;

/// The share of its blocks that a victim of idle time has to win, so that each block won costs three copies at the most.
/// Others may be emptier by the time they are needed.
const WON_SHARE: u32 = 4;

impl Server<'_> {
    /// Cleans one segment; false if none has anything to reclaim.
    pub(crate) fn clean(&mut self) -> Result<bool> {
        if !self.begin_move()? {
            return Ok(false);
        }
        self.finish_move()
    }

    /// The same, or a checkpoint instead: a segment with trims stays until a checkpoint drops them. If a segment kept
    /// for the checkpoint were taken to clean that one, no checkpoint could be made.
    pub(crate) fn clean_or_checkpoint(&mut self) -> Result<bool> {
        if !self.begin_move()? {
            return Ok(false);
        }
        if self.needs_checkpoint() {
            self.checkpoint()?;
            return Ok(true);
        }
        self.finish_move()
    }

    /// Cleans beside a block that a user writes: as long as few segments are free, so many blocks move out of the next
    /// victim that it is empty in time.
    pub(crate) fn clean_beside(&mut self) -> Result<()> {
        let (ahead, wanted) = self.ahead();
        if ahead >= wanted || !self.begin_move()? || self.needs_checkpoint() {
            return Ok(());
        }
        let Some(mut moving) = self.log.cleaner.moving.take() else { return Ok(()) };
        let mut due = moving.pace.due(1, ahead + 1 < wanted);
        // Users write beside the copies: those that a checkpoint takes stay free.
        while due > 0 && self.has_room_for_page() {
            if !self.move_one(&mut moving, 0)? {
                return self.end_move(&moving);
            }
            due -= 1;
        }
        self.log.cleaner.moving = Some(moving);
        Ok(())
    }

    /// True if the segment that is being emptied holds trims, and a checkpoint has to drop them first.
    fn needs_checkpoint(&self) -> bool {
        let moving = self.log.cleaner.moving.as_ref();
        moving.is_some_and(|moving| self.log.segments.get(moving.victim).trims)
            && !self.is_enough(self.log.policies.wear.free())
    }

    /// Begins to empty the next victim, if none is begun; false if none has anything to reclaim.
    fn begin_move(&mut self) -> Result<bool> {
        if self.log.cleaner.moving.is_none()
            && let Some(victim) = self.victim()
        {
            self.log.cleaner.moving = Some(self.start_move(victim)?);
        }
        Ok(self.log.cleaner.moving.is_some())
    }

    /// Moves all that is left in the segment that is being emptied.
    fn finish_move(&mut self) -> Result<bool> {
        let Some(moving) = self.log.cleaner.moving.take() else { return Ok(false) };
        self.clean_rest(moving)?;
        Ok(true)
    }

    /// Cleans ahead of the next burst, in idle time: in steps of one segment, until enough are free or nothing is to be won.
    /// True if more is left. A disk without changes since its start is left as it is.
    pub(crate) fn clean_ahead(&mut self) -> Result<bool> {
        self.log
            .cleaner
            .idle
            .note_changes(self.log.status.counters.user_writes + self.log.status.counters.trimmed);
        if self.log.status.mode != Mode::Dirty || self.log.cleaner.idle.is_done() {
            return Ok(false);
        }
        let is_left = self.step_ahead()?;
        if !is_left {
            self.log.cleaner.idle.end();
        }
        Ok(is_left)
    }

    /// The step: a segment is cleaned, or those that wait are let go; false if there is nothing to do.
    fn step_ahead(&mut self) -> Result<bool> {
        let stock = self.idle_stock();
        let (free, held) = (self.log.policies.wear.free(), self.log.waiting.held());
        if free >= stock {
            return Ok(false);
        }
        let is_short = (free as usize + held) < stock as usize;
        // However little a commit leaves of it.
        let is_allowed = self.log.cleaner.idle.cleaned() < WON_SHARE * stock;
        if is_short && is_allowed {
            self.head_for_user(0)?;
            if self.clean_if_won(self.log.shape.capacity().div_ceil(WON_SHARE))? {
                self.log.cleaner.idle.count();
                self.after_change()?;
                return Ok(true);
            }
        }
        if held == 0 {
            return Ok(false);
        }
        self.commit()?;
        if self.log.waiting.held() > 0 && self.has_room_for_checkpoint() {
            self.checkpoint()?;
        }
        self.after_change()?;
        Ok(is_allowed && self.log.waiting.held() == 0)
    }

    /// Cleans one segment if so many blocks can be won; false if not.
    fn clean_if_won(&mut self, least: u32) -> Result<bool> {
        let (now, capacity) = (self.log.clock, self.log.shape.capacity());
        let Some(victim) = self.log.policies.selector.take(now) else { return Ok(false) };
        let segment = self.log.segments.get(victim);
        if capacity.saturating_sub(segment.valid) >= least {
            self.clean_victim(victim)?;
            return Ok(true);
        }
        self.log.policies.selector.sealed(victim, &segment.view(capacity, now), now);
        Ok(false)
    }

    pub(crate) fn clean_victim(&mut self, victim: u32) -> Result<()> {
        let moving = self.start_move(victim)?;
        self.clean_rest(moving)
    }

    fn clean_rest(&mut self, mut moving: Move) -> Result<()> {
        self.move_rest(&mut moving)?;
        self.end_move(&moving)
    }

    /// Copies the live blocks of a chosen segment to the heads of placement.
    pub(crate) fn move_out(&mut self, victim: u32) -> Result<()> {
        let mut moving = self.start_move(victim)?;
        self.move_rest(&mut moving)?;
        self.log.policies.placement.reclaimed(self.log.clock, &moving.from);
        Ok(())
    }

    /// Finds the live blocks of a segment that was chosen.
    fn start_move(&mut self, victim: u32) -> Result<Move> {
        self.count_off_all()?;
        self.log.policies.wear.unsealed(victim);
        let from = Cleaned {
            segment: self.log.segments.get(victim).view(self.log.shape.capacity(), self.log.clock),
            live: self.map.table.live(),
            room: u64::from(self.log.segments.usable()) * u64::from(self.log.shape.capacity()),
        };
        let entries = self.survivors(victim)?;
        let mut order: Vec<u32> = entries.iter().map(|entry| entry.lba).collect();
        self.log.policies.placement.sort(self.log.clock, &mut order);
        let entry = |lba: &u32| {
            let found = entries.binary_search_by_key(lba, |entry| entry.lba).ok();
            found.and_then(|at| entries.get(at)).copied()
        };
        let blocks: Vec<Entry> = order.iter().filter_map(entry).collect();
        debug_assert_eq!(blocks.len(), entries.len(), "placement dropped blocks of segment {victim}");
        Ok(Move::new(victim, from, blocks))
    }

    fn move_rest(&mut self, moving: &mut Move) -> Result<()> {
        // One that is kept for a checkpoint may be taken: it comes back with this one, after a power cut too. One with
        // trims comes back with a checkpoint alone; without tags no move is undone.
        let lent = u32::from(self.log.shape.tagged && !self.log.segments.get(moving.victim).trims);
        while self.move_one(moving, lent)? {}
        Ok(())
    }

    /// Copies the next block; false if there was none. So many of the segments kept for a checkpoint may be taken.
    fn move_one(&mut self, moving: &mut Move, lent: u32) -> Result<bool> {
        let Some(entry) = moving.next() else { return Ok(false) };
        let addr = self.addr(entry.lba)?;
        // Users may have written it since.
        if self.segment_of(addr) == Some(moving.victim) {
            let class = self.log.policies.placement.cleaner_copy(self.log.clock, entry.lba, &moving.from);
            let at = self.head_above(class.0, self.for_checkpoint().saturating_sub(lent))?;
            self.copy(entry, addr, at)?;
        }
        Ok(true)
    }

    /// The segment is empty, but for what cannot be read.
    fn end_move(&mut self, moving: &Move) -> Result<()> {
        self.log.policies.placement.reclaimed(self.log.clock, &moving.from);
        self.log.status.counters.cleaned += 1;
        self.free_if_empty(moving.victim);
        if let Some(relocation) = self.log.policies.wear.relocation() {
            self.relocate(relocation)?;
        }
        Ok(())
    }

    /// Copies a block to a head. One that cannot be read stays.
    fn copy(&mut self, mut entry: Entry, addr: Addr, at: usize) -> Result<()> {
        let mut data = vec![0; self.log.shape.block_bytes as usize];
        match self.fetch_newest(&mut entry, addr, &mut data) {
            Ok(()) => {}
            Err(FtlError::Unreadable(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.append(at, entry, &data)?;
        self.log.status.counters.copied += 1;
        self.rescue()
    }

    /// The segment to clean next: before its bits are lost, for wear, for space.
    fn victim(&mut self) -> Option<u32> {
        if let Some(weak) = self.take_weak() {
            return Some(weak);
        }
        let (policies, segments, now) = (&mut self.log.policies, &self.log.segments, self.log.clock);
        let chosen = policies.selector.take(now)?;
        let sealed = |block| {
            let segment = segments.get(block);
            (segment.state == State::Sealed).then(|| segment.view(self.log.shape.capacity(), now))
        };
        let other = policies.wear.instead(chosen, &sealed).filter(|block| policies.selector.remove(*block));
        if let (Some(_), Some(view)) = (other, sealed(chosen)) {
            policies.selector.sealed(chosen, &view, now);
        }
        other.or(Some(chosen))
    }

    /// A sealed segment that is to be emptied soon.
    fn take_weak(&mut self) -> Option<u32> {
        self.note_weak();
        let block = self.log.segments.find_weak()?;
        self.log.policies.selector.remove(block);
        self.log.patrol.count_moved();
        Some(block)
    }

    /// Frees a segment after all blocks have moved, or leaves it alone if one could not be read.
    fn free_if_empty(&mut self, block: u32) {
        if self.log.segments.get(block).valid == 0 {
            self.free(block);
        } else {
            self.log.segments.change(block, |segment| segment.state = State::Stuck);
        }
    }

    /// The live blocks of a segment, by logical block.
    fn survivors(&mut self, block: u32) -> Result<Vec<Entry>> {
        let mut live = Vec::new();
        if let Some(contents) = self.contents(block)? {
            let first = self.log.shape.addr(Place { block, index: 0 }, 0).0;
            let mut entries: Vec<(Addr, Entry)> = (first..).map(Addr).zip(contents.entries).collect();
            // So that each leaf of the table is read once.
            entries.sort_unstable_by_key(|(_, entry)| entry.lba);
            for (addr, entry) in entries {
                if self.addr(entry.lba)? == addr {
                    live.push(entry);
                }
            }
        }
        let segment = self.log.segments.get(block);
        if live.len() != segment.valid as usize {
            // The header cannot be read; the table knows, but for the times.
            let held = self.held(block)?;
            live = held.into_iter().map(|(lba, _)| Entry { lba, written: segment.opened }).collect();
        }
        live.sort_unstable_by_key(|entry| entry.lba);
        live.dedup_by_key(|entry| entry.lba);
        Ok(live)
    }

    /// The contents of a sealed segment: by its summary or, without one, by the tags; not proved then.
    fn contents(&mut self, block: u32) -> Result<Option<Contents>> {
        let shape = self.log.shape;
        let used = u32::from(self.log.segments.get(block).used).min(shape.pages);
        if shape.summaries > 0
            && let Some(index) = used.checked_sub(1)
            && let Some(summary) = self.log.flash.read_summary(Place { block, index })?
        {
            return Ok(Some(summary.contents));
        }
        if !shape.tagged {
            return Ok(None);
        }
        let mut contents = Contents::default();
        for index in 0..used {
            let tag = self.log.flash.tag_hint(Place { block, index })?.filter(|tag| tag.kind == Kind::Data);
            contents.push(&shape, 0, tag.as_ref().map_or(&[], |tag| &tag.entries));
        }
        Ok(Some(contents))
    }

    /// Moves cold data into a worn segment, which keeps its class and age.
    fn relocate(&mut self, Relocation { from, to }: Relocation) -> Result<()> {
        let source = self.log.segments.get(from);
        let is_short = source.trims && self.log.policies.wear.free() < self.for_checkpoint();
        if source.state != State::Sealed || is_short || !self.name_taken(to)? {
            self.hand_back(to);
            return Ok(());
        }
        if !self.erase(to)? {
            return Ok(());
        }
        self.log.policies.selector.remove(from);
        self.log.policies.wear.unsealed(from);
        self.log.segments.change(to, |segment| {
            (segment.state, segment.class, segment.used) = (State::Open, source.class, 0);
            segment.opened = source.opened;
            (segment.sealed, segment.changed) = (source.sealed, source.changed);
        });
        self.log.recorded.listed.add(to, 0);
        let erases = self.log.segments.get(to).erases;
        let before = self.log.status.counters.copied;
        let head = Head::new(&self.log.shape, to, source.class, erases, source.opened);
        if let Some(slot) = self.log.heads.open.get_mut(MOVING) {
            *slot = Some(head);
        }
        for entry in self.survivors(from)? {
            let addr = self.addr(entry.lba)?;
            let at = match self.log.heads.open.get(MOVING) {
                Some(Some(_)) => MOVING,
                _ => self.head_for_cleaner(source.class)?,
            };
            self.copy(entry, addr, at)?;
        }
        self.end_relocation()?;
        self.log.status.counters.relocated += self.log.status.counters.copied - before;
        self.free_if_empty(from);
        Ok(())
    }

    /// Seals the segment that data was moved to, full or not.
    fn end_relocation(&mut self) -> Result<()> {
        let is_filled = |head: &Option<Head>| head.as_ref().is_some_and(|head| !head.filled.is_empty());
        if self.log.heads.open.get(MOVING).is_some_and(is_filled) {
            self.program(MOVING, Kind::Data)?;
            self.rescue()?;
        }
        if let Some(head) = self.log.heads.open.get_mut(MOVING).and_then(Option::take) {
            self.seal(MOVING, head)?;
        }
        self.rescue()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::without_heads;

    /// The power may go between the summaries of several heads: some copies are not told then, their originals live, and
    /// nothing undoes the move.
    #[test]
    fn copies_with_short_tags_take_no_segment_of_a_checkpoint() {
        let mut disk = without_heads();
        disk.head_for_cleaner(0).unwrap();
        while disk.log.policies.wear.free() > disk.for_checkpoint() {
            disk.take_free(0).unwrap();
        }
        let is_sealed = |state| state == State::Sealed;
        let sealed =
            disk.log.segments.iter().filter(|(_, segment)| is_sealed(segment.state) && segment.valid > 0);
        let victim = sealed.min_by_key(|(_, segment)| segment.valid).map(|(block, _)| block).unwrap();
        assert!(disk.log.policies.selector.remove(victim));
        disk.clean_victim(victim).unwrap();
        assert_eq!(disk.log.segments.get(victim).state, State::Free);
        assert_eq!(disk.log.policies.wear.free(), disk.for_checkpoint());
    }
}
