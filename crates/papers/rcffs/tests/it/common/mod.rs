//! Chips under test.

#[path = "../../../../common/tests/support/mod.rs"]
pub(crate) mod support;

use pumice_media::{ChipSpec, SimChip};
use pumice_rcffs::{FormatOptions, Volume, check, format};
use pumice_vfs::{CheckReport, Result, Timestamp};
use support::Subject;

pub(crate) use support::FILE;

/// A chip of this shape; parity pages, parity blocks, compression.
pub(crate) struct Chip(pub(crate) &'static str, pub(crate) u32, pub(crate) u32, pub(crate) bool);

/// A chip with the paper's own parity.
pub(crate) const fn usual(shape: &'static str) -> Chip {
    Chip(shape, 1, 1, true)
}

impl Subject for Chip {
    type Volume = Volume<'static>;

    fn name(&self) -> String {
        format!("{}, {} and {}", self.0, self.1, self.2)
    }

    fn slack(&self) -> u64 {
        48 << 10
    }

    fn chip(&self) -> SimChip {
        SimChip::new(&ChipSpec::parse_geometry(self.0).unwrap())
    }

    /// Segments of a small chip have four blocks.
    fn format(&self, chip: SimChip, created: Timestamp) -> SimChip {
        let options = FormatOptions {
            created,
            segment_blocks: 4,
            parity_pages: self.1,
            parity_blocks: self.2,
            compress: self.3,
            ..FormatOptions::default()
        };
        format(chip, &options).unwrap()
    }

    fn check(chip: SimChip) -> Result<CheckReport> {
        check(chip)
    }
}
