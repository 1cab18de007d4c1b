//! What a policy sees of a segment.

/// A closed segment (an erase block, for raw NAND) at the moment of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Live data, in any unit (pages, bytes). More than `capacity` counts as `capacity`.
    pub valid: u32,
    /// What the segment holds when full, in the unit of `valid`; lost pages are not counted.
    pub capacity: u32,
    /// Write clock since the segment last changed: since its last write or, if later, its last invalidation.
    pub age: u32,
    /// Times the segment was erased so far.
    pub erases: u32,
}

impl SegmentView {
    /// What cleaning gains, in the unit of `valid`.
    pub fn reclaimable(&self) -> u32 {
        self.capacity.saturating_sub(self.valid)
    }
}
