//! The cleaner: takes a victim, moves its live blocks, frees it (CAT paper, figure 2), and levels wear.

use alloc::vec;
use alloc::vec::Vec;

use pumice_cleaning::{Cleaned, Relocation};

use crate::error::{FtlError, Result};
use crate::head::{Head, MOVING};
use crate::layout::Kind;
use crate::log::Log;
use crate::map::Map;
use crate::moving::Move;
use crate::segment::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::summary::Contents;
use crate::tag::Entry;

impl Server<'_> {
    /// Cleans one segment; false if none has anything to reclaim.
    pub(crate) fn clean(&mut self) -> Result<bool> {
        if !self.begin_move()? {
            return Ok(false);
        }
        self.finish_move()
    }

    /// Begins to empty the next victim, if none is begun; false if none has anything to reclaim.
    pub(crate) fn begin_move(&mut self) -> Result<bool> {
        if self.log.cleaner.moving.is_none()
            && let Some(victim) = self.log.victim()
        {
            self.log.cleaner.moving = Some(self.start_move(victim)?);
        }
        Ok(self.log.cleaner.moving.is_some())
    }

    /// Moves all that is left in the segment that is being emptied.
    pub(crate) fn finish_move(&mut self) -> Result<bool> {
        let Some(moving) = self.log.cleaner.moving.take() else { return Ok(false) };
        self.clean_rest(moving)?;
        Ok(true)
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
        self.map.count_off_all(&mut self.log)?;
        self.log.policies.wear.unsealed(victim);
        let from = Cleaned {
            segment: self.log.segments.get(victim).view(self.log.shape.capacity(), self.log.clock),
            live: self.map.table.live(),
            room: u64::from(self.log.segments.usable()) * u64::from(self.log.shape.capacity()),
        };
        let entries = self.map.survivors(&mut self.log, victim)?;
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
    pub(crate) fn move_one(&mut self, moving: &mut Move, lent: u32) -> Result<bool> {
        let Some(entry) = moving.next() else { return Ok(false) };
        let addr = self.map.addr(&mut self.log, entry.lba)?;
        // Users may have written it since.
        if self.log.shape.segment_of(addr) == Some(moving.victim) {
            let class = self.log.policies.placement.cleaner_copy(self.log.clock, entry.lba, &moving.from);
            let at = self.head_above(class.0, self.for_checkpoint().saturating_sub(lent))?;
            self.copy(entry, addr, at)?;
        }
        Ok(true)
    }

    /// The segment is empty, but for what cannot be read.
    pub(crate) fn end_move(&mut self, moving: &Move) -> Result<()> {
        self.log.policies.placement.reclaimed(self.log.clock, &moving.from);
        self.log.status.counters.cleaned += 1;
        self.log.free_if_empty(moving.victim);
        if let Some(relocation) = self.log.policies.wear.relocation() {
            self.relocate(relocation)?;
        }
        Ok(())
    }

    /// Copies a block to a head. One that cannot be read stays.
    fn copy(&mut self, mut entry: Entry, addr: Addr, at: usize) -> Result<()> {
        let mut data = vec![0; self.log.shape.block_bytes as usize];
        match self.log.fetch_newest(&mut entry, addr, &mut data) {
            Ok(()) => {}
            Err(FtlError::Unreadable(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.append(at, entry, &data)?;
        self.log.status.counters.copied += 1;
        self.rescue()
    }

    /// Moves cold data into a worn segment, which keeps its class and age.
    fn relocate(&mut self, Relocation { from, to }: Relocation) -> Result<()> {
        let source = self.log.segments.get(from);
        let is_short = source.trims && self.log.policies.wear.free() < self.for_checkpoint();
        if source.state != State::Sealed || is_short || !self.name_taken(to)? {
            self.log.hand_back(to);
            return Ok(());
        }
        if !self.log.erase(&mut self.map, to)? {
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
        self.log.heads.put(MOVING, head);
        for entry in self.map.survivors(&mut self.log, from)? {
            let addr = self.map.addr(&mut self.log, entry.lba)?;
            let is_open = self.log.heads.get(MOVING).is_some();
            let at = if is_open { MOVING } else { self.head_for_cleaner(source.class)? };
            self.copy(entry, addr, at)?;
        }
        self.end_relocation()?;
        self.log.status.counters.relocated += self.log.status.counters.copied - before;
        self.log.free_if_empty(from);
        Ok(())
    }

    /// Seals the segment that data was moved to, full or not.
    fn end_relocation(&mut self) -> Result<()> {
        if self.log.heads.get(MOVING).is_some_and(|head| !head.filled.is_empty()) {
            self.program(MOVING, Kind::Data)?;
            self.rescue()?;
        }
        if let Some(head) = self.log.heads.take(MOVING) {
            self.log.seal(MOVING, head)?;
        }
        self.rescue()
    }

    /// Cleans until so many segments are free, as far as that goes; true if something was written. Where programs and
    /// erases fail, more segments are needed than were kept.
    pub(crate) fn make_room(&mut self, segments: u32) -> Result<bool> {
        let before = self.log.flash.medium.seq();
        for _ in 0..self.log.shape.blocks {
            if self.log.policies.wear.free() >= segments || (!self.clean()? && !self.end_head()?) {
                break;
            }
            self.commit()?;
        }
        Ok(self.log.flash.medium.seq() > before)
    }

    /// Ends the head with the most garbage, so that it can be cleaned; false if there is none.
    fn end_head(&mut self) -> Result<bool> {
        self.commit()?;
        let garbage = |head: &Head| {
            (head.index * self.log.shape.slots).saturating_sub(self.log.segments.get(head.block).valid)
        };
        let heads = self.log.heads.numbered().filter(|(at, _)| *at < MOVING);
        let most = heads.map(|(at, head)| (garbage(head), at)).max();
        let Some((1.., at)) = most else { return Ok(false) };
        if let Some(head) = self.log.heads.take(at) {
            self.log.seal(at, head)?;
        }
        Ok(true)
    }
}

impl Log<'_> {
    /// The segment to clean next: before its bits are lost, for wear, for space.
    pub(crate) fn victim(&mut self) -> Option<u32> {
        if let Some(weak) = self.take_weak() {
            return Some(weak);
        }
        let (policies, segments, now) = (&mut self.policies, &self.segments, self.clock);
        let chosen = policies.selector.take(now)?;
        let sealed = |block| {
            let segment = segments.get(block);
            (segment.state == State::Sealed).then(|| segment.view(self.shape.capacity(), now))
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
        let block = self.segments.find_weak()?;
        self.policies.selector.remove(block);
        self.patrol.count_moved();
        Some(block)
    }

    /// The contents of a sealed segment: by its summary or, without one, by the tags; not proved then.
    pub(crate) fn contents(&mut self, block: u32) -> Result<Option<Contents>> {
        let shape = self.shape;
        let used = u32::from(self.segments.get(block).used).min(shape.pages);
        if shape.summaries > 0
            && let Some(index) = used.checked_sub(1)
            && let Some(summary) = self.flash.read_summary(Place { block, index })?
        {
            return Ok(Some(summary.contents));
        }
        if !shape.tagged {
            return Ok(None);
        }
        let mut contents = Contents::default();
        for index in 0..used {
            let tag = self.flash.tag_hint(Place { block, index })?.filter(|tag| tag.kind == Kind::Data);
            contents.push(&shape, 0, tag.as_ref().map_or(&[], |tag| &tag.entries));
        }
        Ok(Some(contents))
    }
}

impl Map {
    /// The live blocks of a segment, by logical block.
    fn survivors(&mut self, log: &mut Log<'_>, block: u32) -> Result<Vec<Entry>> {
        let mut live = Vec::new();
        if let Some(contents) = log.contents(block)? {
            let first = log.shape.addr(Place { block, index: 0 }, 0).0;
            let mut entries: Vec<(Addr, Entry)> = (first..).map(Addr).zip(contents.entries).collect();
            // So that each leaf of the table is read once.
            entries.sort_unstable_by_key(|(_, entry)| entry.lba);
            for (addr, entry) in entries {
                if self.addr(log, entry.lba)? == addr {
                    live.push(entry);
                }
            }
        }
        let segment = log.segments.get(block);
        if live.len() != segment.valid as usize {
            // The header cannot be read; the table knows, but for the times.
            let held = self.held(log, block)?;
            live = held.into_iter().map(|(lba, _)| Entry { lba, written: segment.opened }).collect();
        }
        live.sort_unstable_by_key(|entry| entry.lba);
        live.dedup_by_key(|entry| entry.lba);
        Ok(live)
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
            disk.log.take_free(&mut disk.map, 0).unwrap();
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
