//! The disk as the log's roots see it.

use alloc::vec::Vec;

use pumice_cleaning::Class;
use pumice_flashlog::{Keeper, Medium, Taken};
use pumice_media::{Geometry, Nand, NandError};

use crate::error::{FtlError, Result};
use crate::layout::RawRecord;
use crate::listed::{RECORDED_MOST, Told};
use crate::segments::State;
use crate::server::{Mode, Server};
use crate::shape::Shape;
use crate::stream::segments_at_most;
use crate::supply::OFFERED;

/// The least number of segments to be opened that a record has room for, if pages of the log have.
const NAMED: usize = 64;

/// The shape of records: that of anchors, which have small pages, or of the log's pages if it takes more to name all
/// segments of a checkpoint, and those that may be opened. `None` if the chip has no anchors.
pub(crate) fn record_shape(
    shape: &Shape,
    logical_blocks: u32,
    geometry: &Geometry,
) -> Option<pumice_flashlog::Shape> {
    let segments = segments_at_most(shape, logical_blocks) as usize;
    let anchors = pumice_flashlog::Shape::of_anchors(geometry)?;
    let listed = if shape.tagged { 0 } else { RECORDED_MOST as usize };
    let fits = record_bytes(segments.saturating_add(NAMED + listed)) <= anchors.payload();
    Some(if fits { anchors } else { shape.medium })
}

/// Bytes of a record that names and lists so many segments in all.
fn record_bytes(segments: usize) -> usize {
    size_of::<RawRecord>() + segments.saturating_mul(size_of::<u32>())
}

/// Records that fit into their segments at the least after a checkpoint: that of the first write after a start, which is
/// written twice, and that of the next checkpoint.
const ROOM_LEAST: u32 = 3;

impl Server<'_> {
    /// Leaves the segments of records for others before they are full, just after a checkpoint, when the old ones are
    /// free.
    pub(crate) fn turn_over_roots(&mut self) -> Result<()> {
        if self.roots.is_nearly_full(ROOM_LEAST) && self.policies.wear.free() >= 2 {
            self.roots.turn_over();
            self.write_record(self.record.clean)?;
        }
        Ok(())
    }

    /// Moves the record of the last checkpoint before a new one takes segments, if its own record has no place, as
    /// after some cuts. The move gives back as many segments as it takes.
    pub(crate) fn move_full_roots(&mut self) -> Result<()> {
        self.roots.find_ends(&mut self.flash.medium)?;
        if self.record.segments.is_empty() {
            return Ok(());
        }
        // If the record did not hold after the segments were taken, none might be left for it.
        if self.roots.is_doubted() && self.policies.wear.free() <= self.wanted() {
            self.write_record(false)?;
        }
        if self.roots.is_full() {
            self.make_room(1)?;
            self.write_record(false)?;
        }
        Ok(())
    }

    /// Frees the other of two segments taken for records after one of them failed.
    fn forget_abandoned(&mut self) {
        for block in 0..self.shape.blocks {
            let is_part = self.record.segments.contains(&block) || self.map.holds(block);
            let is_needed = self.roots.holds(block) || is_part;
            if self.segments.get(block).state == State::Checkpoint && !is_needed {
                self.segments.change(block, |segment| segment.state = State::Free);
                self.hand_back(block);
            }
        }
    }

    /// A segment for records. A program may have failed in those that had room, and erases may fail too: the cleaner
    /// makes more. Its copies follow the checkpoint, so that the record is no longer a clean one then.
    fn take_for_record(&mut self) -> Result<u32> {
        loop {
            // In a clean state the record on the chip says that nothing follows it.
            let has_moved = self.mode == Mode::Dirty && self.make_room(1)?;
            self.record.clean &= !has_moved;
            if self.policies.wear.free() == 0 {
                return Err(FtlError::WornOut);
            }
            if let Some(block) = self.take_free(0)? {
                return Ok(block);
            }
        }
    }

    /// Writes an anchor that says which segment counts for nothing.
    pub(crate) fn write_void(&mut self) -> Result<()> {
        self.roots.find_ends(&mut self.flash.medium)?;
        let mut roots = self.roots.clone();
        roots.change_own(self.identity.own_bytes(&self.shape).to_vec());
        let done = roots.write_anchor(self);
        self.roots = roots;
        match done {
            Err(FtlError::Chip(error)) => self.fail(error),
            done => done,
        }
    }

    /// The segments that the record being written names: those that were opened, and those that may be soon.
    fn named(&mut self) -> Option<Vec<u32>> {
        if self.record.clean {
            return self.opened.name(core::iter::empty(), core::iter::empty(), usize::MAX);
        }
        let geometry = self.flash.medium.chip().geometry();
        let shape = record_shape(&self.shape, self.table.len(), &geometry)?;
        let taken = record_bytes(self.record.segments.len() + self.record.listed.len());
        debug_assert!(taken <= shape.payload(), "a record of {taken} bytes");
        let room = shape.payload().saturating_sub(taken) / size_of::<u32>();
        self.policies.wear.offer();
        // Where few are free, those that will be cleaned next are opened soon.
        let victims = self.segments.emptiest(OFFERED - self.policies.wear.offered().count());
        self.opened.name(self.policies.wear.offered(), self.waiting.free().chain(victims), room)
    }

    /// Takes a free segment for a head, which the record names by then. While a record is being written, only segments
    /// that it and the last one name are taken.
    pub(crate) fn take_to_open(&mut self, class: u8) -> Result<Option<u32>> {
        let (mut found, mut passed) = (None, Vec::new());
        while let Some(block) = self.policies.wear.allocate(Class(class)) {
            if self.opened.may_be(block) {
                self.opened.add(block);
                found = Some(block);
                break;
            }
            if self.opened.is_recording() {
                passed.push(block);
            } else {
                // Free until it is named: the record may need a segment itself.
                self.hand_back(block);
                self.write_record(false)?;
            }
        }
        let is_none_named = found.is_none() && !passed.is_empty();
        for block in passed {
            self.hand_back(block);
        }
        if is_none_named { Err(FtlError::WornOut) } else { Ok(found) }
    }

    /// Has the record name a segment that was taken already; false if there may be no room for the record.
    pub(crate) fn name_taken(&mut self, block: u32) -> Result<bool> {
        let is_named = self.opened.may_be(block);
        if !is_named && (self.opened.is_recording() || self.policies.wear.free() == 0) {
            return Ok(false);
        }
        self.opened.add(block);
        if !is_named {
            self.write_record(false)?;
        }
        Ok(true)
    }

    /// The segments that the record being written lists, where pages have no tags of their own.
    fn listed_for_record(&self) -> Vec<u32> {
        if self.shape.tagged {
            return Vec::new();
        }
        let is_open = |block| self.segments.get(block).state == State::Open;
        // Others may be erased before there is a later summary.
        let is_needed = |block| is_open(block) || self.segments.get(block).is_needed();
        let listed = self.listed.for_record(is_open).into_iter().filter(|place| is_needed(place.block));
        listed.map(|place| self.shape.page(place)).collect()
    }

    /// Has the record list the segments that a commit wrote to, and that nothing elsewhere tells, if there is room for it.
    pub(crate) fn record_untold(&mut self) -> Result<()> {
        if self.shape.tagged
            || self.mode != Mode::Dirty
            || self.opened.is_recording()
            || !self.listed.is_untold()
        {
            return Ok(());
        }
        self.roots.find_ends(&mut self.flash.medium)?;
        if self.roots.is_full() && self.policies.wear.free() < 2 {
            return Ok(());
        }
        self.write_record(false)
    }

    /// Writes the record of the newest checkpoint anew, with its news since then.
    pub(crate) fn write_record(&mut self, clean: bool) -> Result<()> {
        // Segments that a cut write may have touched need no thought: every segment is erased before it is used.
        self.roots.find_ends(&mut self.flash.medium)?;
        self.record.clean = clean;
        self.opened.begin();
        let mut roots = self.roots.clone();
        let done = roots.secure(self).and_then(|()| roots.write(self));
        self.roots = roots;
        if done.is_err() {
            self.opened.doubt();
        }
        match done {
            Ok(left) => {
                self.opened.recorded();
                let medium = self.shape.medium;
                let listed = self.record.listed.iter().map(|page| medium.block_of(*page));
                self.listed.tell(listed, Told::Record);
                for block in left {
                    if self.segments.get(block).state == State::Checkpoint && !self.roots.holds(block) {
                        self.segments.change(block, |segment| segment.state = State::Free);
                        self.hand_back(block);
                    }
                }
                Ok(())
            }
            Err(FtlError::WornOut) => {
                self.mode = Mode::WornOut;
                Err(FtlError::WornOut)
            }
            Err(FtlError::Chip(error)) => self.fail(error),
            Err(error) => Err(error),
        }
    }
}

impl<'c> Keeper<'c> for Server<'c> {
    type Error = FtlError;

    fn medium(&mut self) -> &mut Medium<'c> {
        &mut self.flash.medium
    }

    fn next_seq(&mut self) -> u64 {
        self.next_sequence()
    }

    fn take_blocks(&mut self) -> Result<Taken> {
        self.forget_abandoned();
        let first = self.take_for_record()?;
        self.segments.change(first, |segment| segment.state = State::Checkpoint);
        // The first record has no blocks to use again.
        let is_first = self.roots.blocks().next().is_none();
        let second = if is_first { Some(self.take_for_record()?) } else { self.take_free(0)? };
        let Some(second) = second else { return Ok(Taken::One(first)) };
        self.segments.change(second, |segment| segment.state = State::Checkpoint);
        Ok(Taken::Both([first, second]))
    }

    fn renew(&mut self, block: u32) -> Result<bool> {
        self.erase(block)
    }

    fn failing(&mut self, block: u32) {
        self.segments.change(block, |segment| segment.state = State::Bad);
        self.waiting.doom(block);
    }

    fn record(&mut self, _left: &[u32]) -> Result<Vec<u8>> {
        self.record.sequence = self.sequence;
        self.record.listed = self.listed_for_record();
        self.record.opened = self.named();
        Ok(self.record.encode(&self.identity.disk_bytes(&self.shape)))
    }

    fn chip_error(error: NandError) -> FtlError {
        error.into()
    }

    fn worn_out() -> FtlError {
        FtlError::WornOut
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{ChipSpec, SimChip};

    use super::*;
    use crate::open::{CreateOptions, OpenOptions, create};
    use crate::testing::served;

    #[test]
    fn records_move_with_one_free_segment() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:8:40").unwrap());
        create(&mut chip, &CreateOptions::default(), &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        disk.admit_write().unwrap();
        while disk.policies.wear.free() > 1 {
            disk.take_free(0).unwrap();
        }
        for _ in 0..20 {
            disk.roots.turn_over();
            disk.write_record(false).unwrap();
            assert_eq!(disk.policies.wear.free(), 1);
        }
        let held: alloc::vec::Vec<u32> = disk.roots.blocks().collect();
        let disk = Server::open(disk.flash.medium.into_chip(), OpenOptions::default()).unwrap();
        assert!(disk.roots.is_whole() && disk.roots.blocks().eq(held));
    }
}
