//! Free segments are erased before they are written.

use alloc::vec::Vec;

use pumice_cleaning::Class;
use pumice_media::NandError;

use crate::error::Result;
use crate::log::Log;
use crate::map::Map;
use crate::segment::State;
use crate::shape::ANCHOR_BLOCKS;

impl Log<'_> {
    /// Notes whether a segment is bad or an anchor's, and erases it unless it is known to be erased.
    pub(crate) fn prepare(&mut self, block: u32, keep: bool) -> Result<()> {
        let is_good = !self.flash.medium.is_bad(block)? && (keep || self.flash.medium.renew(block)?);
        let state = match block < ANCHOR_BLOCKS {
            _ if !is_good => State::Bad,
            true => State::Anchor,
            false => State::Free,
        };
        self.segments.change(block, |segment| segment.state = state);
        Ok(())
    }

    /// Finds which of these segments went bad before the power cut, as far as they are free and nobody asked yet.
    pub(crate) fn ask_for_bad(&mut self, blocks: Vec<u32>) -> Result<()> {
        for block in blocks {
            if self.segments.get(block).is_unasked {
                self.went_bad(block)?;
            }
        }
        Ok(())
    }

    /// Takes a free segment and erases it; `None` if there is none.
    pub(crate) fn take_free(&mut self, map: &mut Map, class: u8) -> Result<Option<u32>> {
        while let Some(block) = self.policies.wear.allocate(Class(class), &self.segments) {
            if self.erase(map, block)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Erases a segment; false if the chip failed to, and the segment is marked bad.
    pub(crate) fn erase(&mut self, map: &mut Map, block: u32) -> Result<bool> {
        if self.segments.get(block).is_unasked && self.went_bad(block)? {
            self.check_wear();
            return Ok(false);
        }
        if self.segments.get(block).valid > 0 {
            // Old blocks must not be counted off later, from what is written next.
            map.count_off_all(self)?;
        }
        debug_assert!(
            self.aftermath.surveys.is_empty(),
            "segment {block} is erased, and remembered as it was"
        );
        let is_listed = self.recorded.listed.erase(block);
        debug_assert!(self.shape.tagged || !is_listed, "segment {block} is listed, and erased");
        match self.flash.medium.erase(block) {
            Ok(()) => {
                self.segments.change(block, |segment| {
                    segment.erases = segment.erases.saturating_add(1);
                    (segment.weak, segment.reads) = (false, 0);
                    (segment.trims, segment.valid) = (false, 0);
                });
                self.status.counters.erases += 1;
                Ok(true)
            }
            Err(NandError::EraseFailed(_)) => {
                self.segments.change(block, |segment| segment.state = State::Bad);
                self.flash.medium.mark_bad(block)?;
                self.check_wear();
                Ok(false)
            }
            Err(error) => self.status.fail(error),
        }
    }

    /// True if a segment of which nobody knew turned bad before the power cut.
    fn went_bad(&mut self, block: u32) -> Result<bool> {
        let is_bad = self.flash.medium.is_bad(block)?;
        self.segments.change(block, |segment| {
            segment.is_unasked = false;
            if is_bad {
                segment.state = State::Bad;
            }
        });
        Ok(is_bad)
    }
}
