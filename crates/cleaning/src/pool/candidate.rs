//! A candidate in twenty-four bytes.

use crate::{Class, SegmentView};

/// A segment of the pool, with clocks in place of ages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) id: u32,
    valid: u32,
    created: u32,
    written: u32,
    changed: u32,
    erases: u16,
    class: Class,
}

impl Candidate {
    /// A candidate from a view taken at clock `now`.
    pub(super) fn new(id: u32, view: &SegmentView, now: u32) -> Self {
        Self {
            id,
            valid: view.valid,
            created: now.wrapping_sub(view.created),
            written: now.wrapping_sub(view.written),
            changed: now.wrapping_sub(view.invalidated),
            erases: u16::try_from(view.erases).unwrap_or(u16::MAX),
            class: view.class,
        }
    }

    pub(super) fn set_valid(&mut self, valid: u32, now: u32) {
        (self.valid, self.changed) = (valid, now);
    }

    /// As policies see it, with the capacity that all have.
    pub(super) fn view(&self, capacity: u32, now: u32) -> SegmentView {
        SegmentView {
            valid: self.valid.min(capacity),
            capacity,
            created: now.wrapping_sub(self.created),
            written: now.wrapping_sub(self.written),
            invalidated: now.wrapping_sub(self.changed),
            erases: u32::from(self.erases),
            class: self.class,
        }
    }
}
