//! Chips and mounts under test.

#[path = "../../../../scaleffs/tests/it/common/full.rs"]
pub(crate) mod full;
#[allow(dead_code, reason = "nandfs uses all of it")]
#[path = "../../../../../nandfs/tests/it/cut/image.rs"]
pub(crate) mod image;
#[allow(dead_code, reason = "nandfs uses all of it")]
#[path = "../../../../../nandfs/tests/it/cut/shared.rs"]
pub(crate) mod shared;
#[allow(dead_code, reason = "nandfs uses all of it")]
#[path = "../../../../../nandfs/tests/it/cut/step.rs"]
pub(crate) mod step;

use pumice_cffs::{Cffs, FormatOptions, MountOptions, format};
use pumice_media::{ChipSpec, SimChip};
use pumice_vfs::{Clock, FileKind, NewNode, Timestamp};

/// The cache list of the mounts under test: little, so that it spills.
pub(crate) const CACHE_BYTES: usize = 64 << 10;

pub(crate) const FILE: NewNode<'_> =
    NewNode { kind: FileKind::File, perm: 0o644, uid: 7, gid: 8, rdev: 0, target: b"" };
pub(crate) const DIR: NewNode<'_> = NewNode { kind: FileKind::Dir, perm: 0o755, ..FILE };

pub(crate) fn chip(shape: &str) -> SimChip {
    SimChip::new(&ChipSpec::parse_geometry(shape).unwrap())
}

pub(crate) fn formatted(shape: &str, created: Timestamp) -> SimChip {
    format(chip(shape), &FormatOptions { created, ..FormatOptions::default() }).unwrap()
}

pub(crate) fn mount(chip: SimChip, clock: Clock) -> Cffs<SimChip> {
    let options = MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock };
    Cffs::mount(chip, options).unwrap()
}
