//! The tests that every paper's file system stands, and their tools. Each crate names its chips and its volume.

pub(crate) mod conformance;
pub(crate) mod cut;
pub(crate) mod faults;
pub(crate) mod full;
#[allow(dead_code, reason = "nandfs uses all of it")]
#[path = "../../../../nandfs/tests/it/cut/image.rs"]
pub(crate) mod image;
pub(crate) mod lives;
#[path = "../../../../nandfs/tests/it/cut/rebuild.rs"]
mod rebuild;
#[allow(dead_code, reason = "nandfs uses all of it")]
#[path = "../../../../nandfs/tests/it/cut/shared.rs"]
mod shared;
#[allow(dead_code, reason = "nandfs uses all of it")]
#[path = "../../../../nandfs/tests/it/cut/step.rs"]
pub(crate) mod step;
#[allow(dead_code, reason = "RCFFS promises all at one call")]
pub(crate) mod tree;

use pumice_common::{MountOptions, Mounted, Volume};
use pumice_media::{Nand, SimChip};
use pumice_vfs::{CheckReport, Clock, FileKind, NewNode, Result, Timestamp};

/// Memory of the mounts under test: little, so that caches spill.
const CACHE_BYTES: usize = 64 << 10;

pub(crate) const FILE: NewNode<'_> =
    NewNode { kind: FileKind::File, perm: 0o644, uid: 7, gid: 8, rdev: 0, target: b"" };

/// A chip of one shape, and the file system on it.
pub(crate) trait Subject {
    /// The file system.
    type Volume: Volume<'static> + Send;

    /// The name of the chip.
    fn name(&self) -> String;

    /// Bytes that a call asks for in its worst case.
    fn slack(&self) -> u64;

    /// The chip, as it was sold.
    fn chip(&self) -> SimChip;

    /// Makes the file system on it.
    fn format(&self, chip: SimChip, created: Timestamp) -> SimChip;

    /// Reads everything and compares it.
    fn check(chip: SimChip) -> Result<CheckReport>;

    /// An empty volume.
    fn formatted(&self, created: Timestamp) -> SimChip {
        self.format(self.chip(), created)
    }
}

/// A subject, mounted.
pub(crate) type Fs<S, N = SimChip> = Mounted<<S as Subject>::Volume, N>;

pub(crate) fn try_mount<S: Subject, N: Nand + Send + 'static>(chip: N, clock: Clock) -> Result<Fs<S, N>> {
    Mounted::mount(chip, MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock })
}

/// Mounts where there is no time.
pub(crate) fn mount<S: Subject>(chip: SimChip) -> Fs<S> {
    try_mount::<S, _>(chip, Box::new(Timestamp::default)).unwrap()
}
