//! Chips and mounts under test.

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

use pumice_media::{ChipSpec, SimChip};
use pumice_scaleffs::{FormatOptions, MountOptions, ScaleFs, format};
use pumice_vfs::{Clock, FileKind, NewNode, Timestamp};

/// Memory of the mounts under test: little, so that the cache spills.
pub(crate) const CACHE_BYTES: usize = 64 << 10;

pub(crate) const FILE: NewNode<'_> =
    NewNode { kind: FileKind::File, perm: 0o644, uid: 7, gid: 8, rdev: 0, target: b"" };

pub(crate) fn chip(blocks: u32) -> SimChip {
    SimChip::new(&ChipSpec::parse_geometry(&format!("512+16:32:{blocks}")).unwrap())
}

pub(crate) fn formatted(blocks: u32, created: Timestamp) -> SimChip {
    format(chip(blocks), &FormatOptions { created, ..FormatOptions::default() }).unwrap()
}

pub(crate) fn mount(chip: SimChip, clock: Clock) -> ScaleFs<SimChip> {
    let options = MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock };
    ScaleFs::mount(chip, options).unwrap()
}
