//! Chips under test.

#[path = "../../../../common/tests/support/mod.rs"]
pub(crate) mod support;

use pumice_cffs::{FormatOptions, Volume, check, format};
use pumice_media::{ChipSpec, SimChip};
use pumice_vfs::{CheckReport, FileKind, NewNode, Result, Timestamp};
use support::Subject;

pub(crate) use support::FILE;
pub(crate) const DIR: NewNode<'_> = NewNode { kind: FileKind::Dir, perm: 0o755, ..FILE };

/// A chip of this shape.
pub(crate) struct Chip(pub(crate) &'static str);

impl Subject for Chip {
    type Volume = Volume<'static>;

    fn name(&self) -> String {
        self.0.to_owned()
    }

    fn slack(&self) -> u64 {
        (24 << 10) * if self.0.starts_with("2048") { 4 } else { 1 }
    }

    fn chip(&self) -> SimChip {
        SimChip::new(&ChipSpec::parse_geometry(self.0).unwrap())
    }

    fn format(&self, chip: SimChip, created: Timestamp) -> SimChip {
        format(chip, &FormatOptions { created, ..FormatOptions::default() }).unwrap()
    }

    fn check(chip: SimChip) -> Result<CheckReport> {
        check(chip)
    }
}
