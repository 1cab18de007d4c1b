//! Valid counts of the segments in a selector.

use crate::packed::{NONE, Packed};

/// Valid counts, and the sum of all invalid pages. 4 bytes a segment.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    valid: Packed,
    segments: u32,
    capacity: u32,
    members: u32,
    live: u64,
}

impl Stock {
    pub(super) fn new(segments: u32, capacity: u32) -> Self {
        Self { valid: Packed::new(segments), segments, capacity, members: 0, live: 0 }
    }

    /// The valid count of a member.
    pub(super) fn valid(&self, id: u32) -> Option<u32> {
        Some(self.valid.get(id)).filter(|valid| *valid != NONE)
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn members(&self) -> u32 {
        self.members
    }

    /// Valid pages of all members.
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Pages of all members that are not valid.
    pub(super) fn dead(&self) -> u64 {
        u64::from(self.members) * u64::from(self.capacity) - self.live
    }

    /// A new member; false if its number is too high.
    pub(super) fn insert(&mut self, id: u32, valid: u32) -> bool {
        if id >= self.segments {
            return false;
        }
        let valid = valid.min(self.capacity);
        self.valid.set(id, valid);
        self.members += 1;
        self.live += u64::from(valid);
        true
    }

    /// One page of a segment died; the count it had before, if it is a member that had any.
    pub(super) fn invalidated(&mut self, id: u32) -> Option<u32> {
        let valid = self.valid(id).filter(|valid| *valid > 0)?;
        self.valid.set(id, valid - 1);
        self.live -= 1;
        Some(valid)
    }

    /// The valid count a member leaves with.
    pub(super) fn remove(&mut self, id: u32) -> Option<u32> {
        let valid = self.valid(id)?;
        self.valid.set(id, NONE);
        self.members -= 1;
        self.live -= u64::from(valid);
        Some(valid)
    }
}
