//! A candidate in sixteen bytes.

use crate::{Class, SegmentView};

/// A segment of the pool; of its clocks only that of the last change is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) id: u32,
    changed: u32,
    valid: [u8; 3],
    capacity: [u8; 3],
    erases: u16,
}

/// The largest number in three bytes.
pub(super) const MAX_U24: u32 = (1 << 24) - 1;

impl Candidate {
    /// Packs a view taken at clock `now`; `None` if its capacity needs more than 24 bits.
    pub(super) fn new(id: u32, view: &SegmentView, now: u32) -> Option<Self> {
        (view.capacity <= MAX_U24).then(|| Self {
            id,
            changed: now.wrapping_sub(view.invalidated),
            valid: pack(view.valid.min(view.capacity)),
            capacity: pack(view.capacity),
            erases: u16::try_from(view.erases).unwrap_or(u16::MAX),
        })
    }

    pub(super) fn set_valid(&mut self, valid: u32, now: u32) {
        self.valid = pack(valid.min(unpack(self.capacity)));
        self.changed = now;
    }

    pub(super) fn view(&self, now: u32) -> SegmentView {
        let age = now.wrapping_sub(self.changed);
        SegmentView {
            valid: unpack(self.valid),
            capacity: unpack(self.capacity),
            created: age,
            written: age,
            invalidated: age,
            erases: u32::from(self.erases),
            class: Class(0),
        }
    }
}

fn pack(value: u32) -> [u8; 3] {
    let [a, b, c, _] = value.to_le_bytes();
    [a, b, c]
}

fn unpack([a, b, c]: [u8; 3]) -> u32 {
    u32::from_le_bytes([a, b, c, 0])
}
