//! A policy's view of a segment.

/// A temperature class; 0 is the hottest. Every class in use is an open head, and costs an erase block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u8);

/// A closed segment (an erase block, for raw NAND) at the moment of the question.
///
/// The three ages are in user writes. A caller that does not keep all three clocks gives the nearest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentView {
    /// Live data, in any unit (pages, bytes). More than `capacity` counts as `capacity`.
    pub valid: u32,
    /// The segment's contents when full, in the unit of `valid`; lost pages are not counted.
    pub capacity: u32,
    /// Age of the segment: since its first write.
    pub created: u32,
    /// Since the last write into it.
    pub written: u32,
    /// Since the last invalidation in it or, if later, the last write into it.
    pub invalidated: u32,
    /// Times the segment was erased so far.
    pub erases: u32,
    /// The head that wrote it.
    pub class: Class,
}

impl SegmentView {
    /// The gain of cleaning, in the unit of `valid`.
    pub fn reclaimable(&self) -> u32 {
        self.capacity.saturating_sub(self.valid)
    }
}
