//! Chips under test.

#[path = "../../../../common/tests/support/mod.rs"]
pub(crate) mod support;

use pumice_media::{ChipSpec, SimChip};
use pumice_scaleffs::{FormatOptions, Volume, check, format};
use pumice_vfs::{CheckReport, Result, Timestamp};
use support::Subject;

pub(crate) use support::FILE;

/// A chip of so many erase blocks of 16 KiB.
pub(crate) struct Chip(pub(crate) u32);

impl Subject for Chip {
    type Volume = Volume<'static>;

    fn name(&self) -> String {
        self.0.to_string()
    }

    fn slack(&self) -> u64 {
        24 << 10
    }

    fn chip(&self) -> SimChip {
        SimChip::new(&ChipSpec::parse_geometry(&format!("512+16:32:{}", self.0)).unwrap())
    }

    fn format(&self, chip: SimChip, created: Timestamp) -> SimChip {
        format(chip, &FormatOptions { created, ..FormatOptions::default() }).unwrap()
    }

    fn check(chip: SimChip) -> Result<CheckReport> {
        check(chip)
    }
}
