//! A line of the lookup table: the state of a segment.

use pumice_cleaning::{Class, SegmentView};

/// The state of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum State {
    /// Holds nothing that is needed; erased before use.
    Free = 0,
    /// A head writes to it.
    Open = 1,
    /// Written; may be cleaned.
    Sealed = 2,
    /// Written, and some of it cannot be read: left alone until all of it is overwritten.
    Stuck = 3,
    /// Holds a part of the checkpoint.
    Checkpoint = 4,
    /// Belongs to the anchors.
    Anchor = 5,
    /// Marked bad, or about to be.
    Bad = 6,
}

impl State {
    pub(crate) fn from_byte(byte: u8) -> Option<State> {
        use State::{Anchor, Bad, Checkpoint, Free, Open, Sealed, Stuck};
        [Free, Open, Sealed, Stuck, Checkpoint, Anchor, Bad].into_iter().find(|state| *state as u8 == byte)
    }

    /// True if logical blocks may lie in it.
    pub(crate) fn holds_data(self) -> bool {
        matches!(self, State::Open | State::Sealed | State::Stuck)
    }

    /// The same, and what is bad may still hold some.
    pub(crate) fn may_hold_data(self) -> bool {
        self.holds_data() || self == State::Bad
    }

    /// True if logical blocks or a checkpoint may ever lie in it.
    pub(crate) fn is_usable(self) -> bool {
        !matches!(self, State::Bad | State::Anchor)
    }
}

/// A line of the table. Clocks are the write clock: user writes, wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) state: State,
    /// The head that wrote it.
    pub(crate) class: u8,
    /// Pages programmed, its summary included.
    pub(crate) used: u16,
    /// It is to be emptied soon: its bits are near the limit of ECC, or it should have parity and has none.
    pub(crate) weak: bool,
    /// Its reads since it was erased, in pieces of about a thousand pages, up to [`READS_MOST`](pumice_flashlog::READS_MOST).
    pub(crate) reads: u8,
    /// It holds news that no checkpoint knows yet, beside blocks: trimmed ranges, or a tag that names the blocks of a
    /// lost page.
    pub(crate) trims: bool,
    /// Not asked since the power cut whether it went bad before.
    pub(crate) is_unasked: bool,
    /// Erases so far.
    pub(crate) erases: u32,
    /// The time when it was opened.
    pub(crate) opened: u32,
    /// The time when it was written to the end.
    pub(crate) sealed: u32,
    /// The time of its last change: written to the end or, if later, a block in it overwritten.
    pub(crate) changed: u32,
    /// Logical blocks that live in it.
    pub(crate) valid: u32,
}

impl Segment {
    pub(crate) const FRESH: Segment = Segment {
        state: State::Free,
        class: 0,
        used: 0,
        weak: false,
        reads: 0,
        trims: false,
        is_unasked: false,
        erases: 0,
        opened: 0,
        sealed: 0,
        changed: 0,
        valid: 0,
    };

    /// True if blocks live in it, or it holds news that no checkpoint knows.
    pub(crate) fn is_needed(&self) -> bool {
        self.valid > 0 || self.trims
    }

    /// True if it waits to be emptied.
    pub(crate) fn is_weak(&self) -> bool {
        self.weak && self.state == State::Sealed
    }

    /// The policies' view of it.
    pub(crate) fn view(&self, capacity: u32, now: u32) -> SegmentView {
        SegmentView {
            valid: self.valid,
            capacity,
            created: now.wrapping_sub(self.opened),
            written: now.wrapping_sub(self.sealed),
            invalidated: now.wrapping_sub(self.changed),
            erases: self.erases,
            class: Class(self.class),
        }
    }
}
