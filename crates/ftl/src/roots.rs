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

impl<N: Nand> Ftl<N> {
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
                    if self.segments.get(block).state == State::Checkpoint {
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

    fn take_block(&mut self) -> Result<u32> {
        let block = self.take_free(0)?.ok_or(FtlError::WornOut)?;
        self.segments.change(block, |segment| segment.state = State::Checkpoint);
        Ok(block)
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
