//! Segments that a power cut left without parity, or with parity in memory alone.

use alloc::vec::Vec;

use crate::error::Result;
use crate::head::Head;
use crate::log::Log;
use crate::segment::State;

impl Log<'_> {
    /// Marks segments to be emptied if a power cut may have prevented or corrupted their parity. `touched` has the
    /// segments written since the checkpoint, with their last sequence numbers. Those with room left are marked, and
    /// the one written last: a torn page may read as if it were sound.
    pub(crate) fn mark_without_parity(&mut self, touched: Vec<(u64, u32)>) -> Result<()> {
        if !self.shape.has_parity() {
            return Ok(());
        }
        let last = touched.iter().max().copied();
        for (sequence, block) in touched {
            let segment = self.segments.get(block);
            let has_room = self.shape.has_room(segment.used.into(), segment.used.into());
            let is_doubted = has_room || last == Some((sequence, block));
            let is_written = matches!(segment.state, State::Sealed | State::Stuck);
            if is_written && (is_doubted || !self.flash.medium.has_parity(block)?) {
                self.segments.change(block, |segment| segment.weak = true);
            }
        }
        Ok(())
    }

    /// Closes the heads of a clean checkpoint where segments have parity: that over their pages was in memory alone. There are
    /// some only if the cleaner had to make room while the checkpoint was made.
    pub(crate) fn end_without_parity(&mut self) {
        if !self.shape.has_parity() {
            return;
        }
        for Head { block, index, .. } in self.heads.take_all(|_| true) {
            self.close_head(block, Some(index));
            self.segments.change(block, |segment| segment.weak = true);
        }
    }
}
