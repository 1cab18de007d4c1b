//! A run on a disk, before it is made.

use super::{Mount, Work};
use crate::{
    LabError, Sources,
    measured::{Found, Job},
};

/// The options of a mount, and the work to be done there.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The options of the mount.
    pub mount: Mount,
    /// The work.
    pub work: Work,
}

impl Job for Task {
    fn names(&self) -> [String; 3] {
        let Task { mount: Mount { logging, in_place, streams }, work } = self;
        let mib = work.volume_bytes() >> 20;
        [
            format!("f2fs, {logging:?}, {in_place:?}, {streams:?}"),
            format!("disk of {mib} MiB"),
            work.to_string(),
        ]
    }

    fn sources(&self) -> Sources {
        Sources::Disk
    }

    fn measure(&self, seed: u64) -> Result<Found, LabError> {
        self.work.measure(self.mount, seed).map(Found::from)
    }
}
