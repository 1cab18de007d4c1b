//! The simulator's state of a segment.

use crate::{Class, SegmentView};

/// Clocks are of the write clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub(super) valid: u32,
    /// Pages written since the erase.
    pub(super) used: u32,
    pub(super) created: u32,
    pub(super) written: u32,
    pub(super) invalidated: u32,
    pub(super) erases: u32,
    pub(super) class: Class,
}

impl Segment {
    /// One more live page.
    #[inline]
    pub(super) fn write(&mut self, now: u32) {
        if self.used == 0 {
            self.created = now;
        }
        self.used += 1;
        self.valid += 1;
        self.written = now;
        self.invalidated = now;
    }

    pub(super) fn view(&self, capacity: u32, now: u32) -> SegmentView {
        SegmentView {
            valid: self.valid,
            capacity,
            created: now.wrapping_sub(self.created),
            written: now.wrapping_sub(self.written),
            invalidated: now.wrapping_sub(self.invalidated),
            erases: self.erases,
            class: self.class,
        }
    }
}
