//! Records and anchors, and the heads: their segments are named by the record before they are opened.

use alloc::vec::Vec;

use pumice_cleaning::Class;
use pumice_flashlog::{Keeper, Medium, Taken};
use pumice_media::{Geometry, Nand, NandError};

use crate::error::{FtlError, Result};
use crate::head::{Head, MOVING};
use crate::layout::RawRecord;
use crate::listed::{RECORDED_MOST, Told};
use crate::log::Log;
use crate::segment::State;
use crate::server::Server;
use crate::shape::Shape;
use crate::status::Mode;
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

impl Server<'_> {
    /// Frees the other of two segments taken for records after one of them failed.
    fn forget_abandoned(&mut self) {
        for block in 0..self.log.shape.blocks {
            let is_part = self.log.recorded.record.segments.contains(&block) || self.map.log.holds(block);
            let is_needed = self.log.recorded.roots.holds(block) || is_part;
            if self.log.segments.get(block).state == State::Checkpoint && !is_needed {
                self.log.give_back([block]);
            }
        }
    }

    /// A segment for records. A program may have failed in those that had room, and erases may fail too: the cleaner
    /// makes more. Its copies follow the checkpoint, so that the record is no longer a clean one then.
    fn take_for_record(&mut self) -> Result<u32> {
        loop {
            // In a clean state the record on the chip says that nothing follows it.
            let has_moved = self.log.status.mode() == Mode::Dirty && self.make_room(1)?;
            self.log.recorded.record.clean &= !has_moved;
            if self.log.policies.wear.free() == 0 {
                return Err(FtlError::WornOut);
            }
            if let Some(block) = self.log.take_free(&mut self.map, 0)? {
                return Ok(block);
            }
        }
    }

    /// Writes an anchor that says which segment counts for nothing.
    pub(crate) fn write_void(&mut self) -> Result<()> {
        self.log.recorded.roots.find_ends(&mut self.log.flash.medium)?;
        let mut roots = self.log.recorded.roots.clone();
        roots.change_own(self.log.recorded.identity.own_bytes(&self.log.shape).to_vec());
        let done = roots.write_anchor(self);
        self.log.recorded.roots = roots;
        match done {
            Err(FtlError::Chip(error)) => self.log.status.fail(error),
            done => done,
        }
    }

    /// The segments that the record being written names: those that were opened, and those that may be soon.
    fn named(&mut self) -> Option<Vec<u32>> {
        if self.log.recorded.record.clean {
            return self.log.recorded.opened.name(core::iter::empty(), core::iter::empty(), usize::MAX);
        }
        let geometry = self.log.flash.medium.chip().geometry();
        let shape = record_shape(&self.log.shape, self.map.table.len(), &geometry)?;
        let taken =
            record_bytes(self.log.recorded.record.segments.len() + self.log.recorded.record.listed.len());
        debug_assert!(taken <= shape.payload(), "a record of {taken} bytes");
        let room = shape.payload().saturating_sub(taken) / size_of::<u32>();
        self.log.policies.wear.offer(&self.log.segments);
        // Where few are free, those that will be cleaned next are opened soon.
        let victims = self.log.segments.emptiest(OFFERED - self.log.policies.wear.offered().count());
        self.log.recorded.opened.name(
            self.log.policies.wear.offered(),
            self.log.waiting.free().chain(victims),
            room,
        )
    }

    /// Takes a free segment for a head, which the record names by then. While a record is being written, only segments
    /// that it and the last one name are taken.
    fn take_to_open(&mut self, class: u8) -> Result<Option<u32>> {
        let (mut found, mut passed) = (None, Vec::new());
        while let Some(block) = self.log.policies.wear.allocate(Class(class), &self.log.segments) {
            if self.log.recorded.opened.may_be(block) {
                self.log.recorded.opened.add(block);
                found = Some(block);
                break;
            }
            if self.log.recorded.opened.is_recording() {
                passed.push(block);
            } else {
                // Free until it is named: the record may need a segment itself.
                self.log.hand_back(block);
                self.write_record(false)?;
            }
        }
        let is_none_named = found.is_none() && !passed.is_empty();
        for block in passed {
            self.log.hand_back(block);
        }
        if is_none_named { Err(FtlError::WornOut) } else { Ok(found) }
    }

    /// Has the record name a segment that was taken already; false if there may be no room for the record.
    pub(crate) fn name_taken(&mut self, block: u32) -> Result<bool> {
        let is_named = self.log.recorded.opened.may_be(block);
        if !is_named && (self.log.recorded.opened.is_recording() || self.log.policies.wear.free() == 0) {
            return Ok(false);
        }
        self.log.recorded.opened.add(block);
        if !is_named {
            self.write_record(false)?;
        }
        Ok(true)
    }

    /// Has the record list the segments that a commit wrote to, and that nothing elsewhere tells, if there is room for it.
    pub(crate) fn record_untold(&mut self) -> Result<()> {
        if self.log.shape.tagged
            || self.log.status.mode() != Mode::Dirty
            || self.log.recorded.opened.is_recording()
            || !self.log.recorded.listed.is_untold()
        {
            return Ok(());
        }
        self.log.recorded.roots.find_ends(&mut self.log.flash.medium)?;
        if self.log.recorded.roots.is_full() && self.log.policies.wear.free() < 2 {
            return Ok(());
        }
        self.write_record(false)
    }

    /// Writes the record of the newest checkpoint anew, with its news since then.
    pub(crate) fn write_record(&mut self, clean: bool) -> Result<()> {
        // Segments that a cut write may have touched need no thought: every segment is erased before it is used.
        self.log.recorded.roots.find_ends(&mut self.log.flash.medium)?;
        self.log.recorded.record.clean = clean;
        self.log.recorded.opened.begin();
        let mut roots = self.log.recorded.roots.clone();
        let done = roots.secure(self).and_then(|()| roots.write(self));
        self.log.recorded.roots = roots;
        if done.is_err() {
            self.log.recorded.opened.doubt();
        }
        match done {
            Ok(left) => {
                self.log.recorded.opened.recorded();
                let medium = self.log.shape.medium;
                let listed = self.log.recorded.record.listed.iter().map(|page| medium.block_of(*page));
                self.log.recorded.listed.tell(listed, Told::Record);
                for block in left {
                    if self.log.segments.get(block).state == State::Checkpoint
                        && !self.log.recorded.roots.holds(block)
                    {
                        self.log.give_back([block]);
                    }
                }
                self.log.check_wear();
                Ok(())
            }
            Err(FtlError::WornOut) => {
                self.log.status.wear_out();
                Err(FtlError::WornOut)
            }
            Err(FtlError::Chip(error)) => self.log.status.fail(error),
            Err(error) => Err(error),
        }
    }

    /// The head for a copy of a class: its own or, where opening it would leave too few free segments, the nearest.
    pub(crate) fn head_for_cleaner(&mut self, class: u8) -> Result<usize> {
        self.head_above(class, self.for_checkpoint())
    }

    /// The same, where opening it must leave so many free segments.
    pub(crate) fn head_above(&mut self, class: u8, least: u32) -> Result<usize> {
        let at = usize::from(class).min(MOVING - 1);
        if self.log.is_open(at) {
            return Ok(at);
        }
        let near = self.log.nearest(at);
        let is_needed = |free| near.is_none() && free > 0;
        while is_needed(self.log.policies.wear.free()) || self.log.policies.wear.free() > least {
            if self.open_head(at, class)? {
                return Ok(at);
            }
        }
        near.ok_or(FtlError::WornOut)
    }

    /// Opens a head; false if its segment turned out bad or there is none.
    pub(crate) fn open_head(&mut self, at: usize, class: u8) -> Result<bool> {
        let Some(block) = self.take_to_open(class)? else { return Ok(false) };
        if !self.log.erase(&mut self.map, block)? {
            return Ok(false);
        }
        let now = self.log.clock;
        self.log.segments.change(block, |segment| {
            (segment.state, segment.class, segment.used) = (State::Open, class, 0);
            (segment.opened, segment.sealed, segment.changed) = (now, now, now);
        });
        self.log.recorded.listed.add(block, 0);
        let head = Head::new(&self.log.shape, block, class, self.log.segments.get(block).erases, now);
        self.log.heads.put(at, head);
        Ok(true)
    }
}

impl<'c> Keeper<'c> for Server<'c> {
    type Error = FtlError;

    fn medium(&mut self) -> &mut Medium<'c> {
        &mut self.log.flash.medium
    }

    fn take_blocks(&mut self) -> Result<Taken> {
        self.forget_abandoned();
        let first = self.take_for_record()?;
        self.log.segments.change(first, |segment| segment.state = State::Checkpoint);
        // The first record has no blocks to use again.
        let is_first = self.log.recorded.roots.blocks().next().is_none();
        let second =
            if is_first { Some(self.take_for_record()?) } else { self.log.take_free(&mut self.map, 0)? };
        let Some(second) = second else { return Ok(Taken::One(first)) };
        self.log.segments.change(second, |segment| segment.state = State::Checkpoint);
        Ok(Taken::Both([first, second]))
    }

    fn renew(&mut self, block: u32) -> Result<bool> {
        self.log.erase(&mut self.map, block)
    }

    fn failing(&mut self, block: u32) {
        self.log.segments.change(block, |segment| segment.state = State::Bad);
        self.log.waiting.doom(block);
    }

    fn record(&mut self, _left: &[u32]) -> Result<Vec<u8>> {
        self.log.recorded.record.sequence = self.log.flash.medium.seq();
        self.log.recorded.record.listed = self.log.listed_for_record();
        self.log.recorded.record.opened = self.named();
        Ok(self.log.recorded.record.encode(&self.log.recorded.identity.disk_bytes(&self.log.shape)))
    }

    fn chip_error(error: NandError) -> FtlError {
        error.into()
    }

    fn worn_out() -> FtlError {
        FtlError::WornOut
    }
}

impl Log<'_> {
    /// The segments that the record being written lists, where pages have no tags of their own.
    fn listed_for_record(&self) -> Vec<u32> {
        if self.shape.tagged {
            return Vec::new();
        }
        let is_open = |block| self.segments.get(block).state == State::Open;
        // Others may be erased before there is a later summary.
        let is_needed = |block| is_open(block) || self.segments.get(block).is_needed();
        let listed =
            self.recorded.listed.for_record(is_open).into_iter().filter(|place| is_needed(place.block));
        listed.map(|place| self.shape.page(place)).collect()
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
        while disk.log.policies.wear.free() > 1 {
            disk.log.take_free(&mut disk.map, 0).unwrap();
        }
        for _ in 0..20 {
            disk.log.recorded.roots.turn_over();
            disk.write_record(false).unwrap();
            assert_eq!(disk.log.policies.wear.free(), 1);
        }
        let held: alloc::vec::Vec<u32> = disk.log.recorded.roots.blocks().collect();
        let disk = Server::open(disk.log.flash.medium.into_chip(), OpenOptions::default()).unwrap();
        assert!(disk.log.recorded.roots.is_whole() && disk.log.recorded.roots.blocks().eq(held));
    }
}
