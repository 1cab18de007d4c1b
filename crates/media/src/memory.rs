//! The memory of a simulated chip beside its pages.

use crate::faults::Faults;
use crate::nand::NandStats;

/// A chip's memory beside its pages, for stores that outlive the process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct Memory {
    /// Faults that are set.
    pub faults: Faults,
    /// Work done since the chip was made.
    pub stats: NandStats,
    /// Programs, erases and bad-block marks begun since the chip was made.
    pub operations: u64,
    /// Seconds that have passed since the chip was made, by the clock that its owner sets.
    pub clock_s: u32,
}
