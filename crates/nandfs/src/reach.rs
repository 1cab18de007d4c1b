//! The work of a recovery, which checkpoints in time keep small.

use crate::codec::{len32, size};
use crate::pages::Pages;

/// Device time that recovery may take to look at the blocks of the window, in nanoseconds.
const WINDOW_NS: u64 = 6_000_000;
/// Device time that recovery may take to read the writes of fsync, in nanoseconds.
const RECOVERY_NS: u64 = 10_000_000;
/// A checkpoint is near if recovery may read no more than so many pages more, and a quarter of all that it may read.
const NEAR_READS: u32 = 48;

/// The work of a recovery.
pub(crate) struct Reach {
    /// Most blocks in the window: recovery takes a look at each.
    window_most: usize,
    /// Chip reads that recovery would need for the writes of fsync since the last checkpoint.
    reads: u32,
    /// The limit of these, kept by a checkpoint in time.
    limit: u32,
}

impl Reach {
    /// The limits for a chip.
    pub(crate) fn of(pages: &Pages<'_>) -> Reach {
        let medium = pages.medium();
        // Real chips do not tell their times.
        let limit = RECOVERY_NS.checked_div(medium.page_read_ns()).unwrap_or(600).clamp(32, 2048);
        Reach {
            window_most: size(WINDOW_NS.checked_div(medium.peek_ns()).unwrap_or(240)).clamp(64, 1024),
            reads: 0,
            limit: len32(size(limit)),
        }
    }

    /// Most blocks in the window.
    pub(crate) fn window_most(&self) -> usize {
        self.window_most
    }

    /// An fsync has made so many reads more.
    pub(crate) fn add(&mut self, reads: u32) {
        self.reads += reads;
    }

    /// A checkpoint was made: nothing is left to read.
    pub(crate) fn begin(&mut self) {
        self.reads = 0;
    }

    /// Chip reads that recovery would need.
    pub(crate) fn reads(&self, pages: &Pages<'_>) -> u32 {
        self.reads + pages.scan_pages()
    }

    /// True if a checkpoint is due.
    pub(crate) fn is_over(&self, pages: &Pages<'_>) -> bool {
        self.reads(pages) > self.limit
    }

    /// True if a checkpoint is soon due.
    pub(crate) fn is_nearly_over(&self, pages: &Pages<'_>) -> bool {
        self.reads(pages) + NEAR_READS.min(self.limit / 4) > self.limit
    }
}
