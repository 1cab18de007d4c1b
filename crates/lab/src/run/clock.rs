//! The cost of work on a chip.

use pumice_media::ChipSpec;

/// The times of a store's three operations, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Reading a block.
    pub(super) read: u64,
    /// Writing a block.
    pub(super) program: u64,
    /// Erasing a segment.
    pub(super) erase: u64,
}

impl Costs {
    /// The costs on `chip`, one operation at a time: a block takes so many of its pages, a segment so many of its erase
    /// blocks.
    pub(super) fn of(chip: &ChipSpec, block: u64, segment: u64) -> Self {
        let (geometry, timing) = (chip.geometry(), chip.timing());
        let pages = block.div_ceil(u64::from(geometry.page_bytes).max(1));
        let erase_blocks = segment.div_ceil(geometry.block_bytes().max(1));
        Self {
            read: pages.saturating_mul(timing.read_page_ns),
            program: pages.saturating_mul(timing.program_ns),
            erase: erase_blocks.saturating_mul(timing.erase_ns),
        }
    }
}
