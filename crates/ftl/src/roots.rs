//! What the roots of the log need of a disk.

use alloc::vec::Vec;

use pumice_flashlog::{Keeper, Medium};
use pumice_media::{Geometry, Nand, NandError};

use crate::error::{FtlError, Result};
use crate::ftl::{Ftl, Mode};
use crate::layout::RawRecord;
use crate::segments::State;
use crate::shape::Shape;
use crate::stream::segments_at_most;

/// The shape of records: that of anchors, whose pages are small, or of the log's pages if it takes more to name all
/// segments of a checkpoint. `None` if the chip has no anchors.
pub(crate) fn record_shape(
    shape: &Shape,
    logical_blocks: u32,
    geometry: &Geometry,
) -> Option<pumice_flashlog::Shape> {
    let segments = segments_at_most(shape, logical_blocks) as usize;
    let anchors = pumice_flashlog::Shape::of_anchors(geometry)?;
    let fits = size_of::<RawRecord>() + segments.saturating_mul(4) <= anchors.payload();
    Some(if fits { anchors } else { shape.medium })
}

/// Records that fit into their segments at the least after a checkpoint: that of the first write after a start, which is
/// written twice, and that of the next checkpoint.
const ROOM_LEAST: u32 = 3;

impl<N: Nand> Ftl<N> {
    /// Leaves the segments of records for others before they are full, just after a checkpoint, when those of the one
    /// before are free.
    pub(crate) fn turn_over_roots(&mut self) -> Result<()> {
        if self.roots.is_nearly_full(ROOM_LEAST) && self.policies.wear.free() >= 2 {
            self.roots.turn_over();
            self.write_record(self.record.clean)?;
        }
        Ok(())
    }

    /// Before a checkpoint takes segments: where its record has no place, as after some cuts, the record of the one
    /// before moves first, which gives two segments back. What the cleaner writes for that outlives a second cut as all
    /// else since the last checkpoint does.
    pub(crate) fn move_full_roots(&mut self) -> Result<()> {
        self.roots.settle(&mut self.flash.medium)?;
        if !self.roots.is_full() || self.roots.blocks().next().is_none() {
            return Ok(());
        }
        self.make_room(2)?;
        if !self.record.segments.is_empty() && self.policies.wear.free() >= 2 {
            self.write_record(false)?;
        }
        Ok(())
    }

    /// Of two segments that were taken for records and of which one failed, the other is free again.
    fn forget_abandoned(&mut self) {
        for block in 0..self.shape.blocks {
            let is_needed = self.roots.holds(block) || self.record.segments.contains(&block);
            if self.segments.get(block).state == State::Checkpoint && !is_needed {
                self.segments.change(block, |segment| segment.state = State::Free);
                self.hand_back(block);
            }
        }
    }

    /// A segment for records, while there are so many. A program may have failed in those that had room, and erases may
    /// fail too: the cleaner makes more. What it moves follows the checkpoint, whose record is no longer a clean one then.
    fn take_for_record(&mut self, segments: u32) -> Result<u32> {
        let mut segments = segments;
        loop {
            // In a clean state the record on the chip says that nothing follows it.
            let has_moved = self.mode == Mode::Dirty && self.make_room(segments)?;
            self.record.clean &= !has_moved;
            if self.policies.wear.free() == 0 {
                return Err(FtlError::WornOut);
            }
            if let Some(block) = self.take_free(0)? {
                return Ok(block);
            }
            segments = 1;
        }
    }

    /// Writes the record of the newest checkpoint anew, with what it says of the time since.
    pub(crate) fn write_record(&mut self, clean: bool) -> Result<()> {
        // Segments that a cut write may have touched need no thought: every segment is erased before it is used.
        self.roots.settle(&mut self.flash.medium)?;
        self.record.clean = clean;
        let mut roots = self.roots.clone();
        let done = roots.write(self);
        self.roots = roots;
        match done {
            Ok(left) => {
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

impl<N: Nand> Keeper for Ftl<N> {
    type Chip = N;
    type Error = FtlError;

    fn medium(&mut self) -> &mut Medium<N> {
        &mut self.flash.medium
    }

    fn next_seq(&mut self) -> u64 {
        self.next_sequence()
    }

    fn take_blocks(&mut self) -> Result<[u32; 2]> {
        self.forget_abandoned();
        let first = self.take_for_record(2)?;
        match self.take_for_record(1) {
            Ok(second) => {
                for block in [first, second] {
                    self.segments.change(block, |segment| segment.state = State::Checkpoint);
                }
                Ok([first, second])
            }
            Err(error) => {
                self.hand_back(first);
                Err(error)
            }
        }
    }

    fn failing(&mut self, block: u32) {
        self.segments.change(block, |segment| segment.state = State::Bad);
        self.doomed.push(block);
    }

    fn record(&mut self, _left: &[u32]) -> Result<Vec<u8>> {
        Ok(self.record.encode())
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

    #[test]
    fn a_segment_without_its_fellow_goes_back() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:8:40").unwrap());
        create(&mut chip, &CreateOptions::default(), &mut |_, _| {}).unwrap();
        let mut disk = Ftl::open(chip, OpenOptions::default()).unwrap();
        while disk.policies.wear.free() > 1 {
            disk.take_free(0).unwrap();
        }
        assert_eq!(disk.take_blocks(), Err(FtlError::WornOut));
        assert_eq!(disk.policies.wear.free(), 1);
        let block = disk.take_free(0).unwrap().unwrap();
        assert_eq!(disk.segments.get(block).state, State::Free);
    }
}
