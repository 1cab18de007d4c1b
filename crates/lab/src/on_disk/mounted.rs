//! A volume of F2FS that is worked on.

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicU64, Ordering},
};

use pumice_f2fs::{
    SegNo, Volume, WritableF2fs, WritableOptions,
    mkfs::{Attributes, FormatOptions, NoContent, Plan, Size, Tree},
};
use pumice_media::{BlockDevice, ReadAt};
use pumice_vfs::{FileSystem, FsError, Timestamp};

use super::{
    Mount,
    watched::{SEGMENT, Watched, Written},
};
use crate::{
    LabError,
    disk::{BLOCK, Disk},
};

/// Nanoseconds that pass each time the clock is asked.
const TICK: u64 = 1_000_000;
const CACHE_BYTES: usize = 8 << 20;

/// A mounted volume, and the disk that it is on.
pub(crate) struct Mounted<D> {
    fs: WritableF2fs,
    disk: Disk<D>,
}

/// A segment of the main area.
pub(super) struct Segment {
    /// Blocks in use.
    pub(super) in_use: u32,
    /// Its writes.
    pub(super) written: Written,
}

impl Mounted<Watched> {
    /// Makes an empty volume of so many bytes in memory and mounts it.
    pub(super) fn in_memory(bytes: u64, mount: Mount) -> Result<Self, LabError> {
        Mounted::new(Watched::new(bytes / u64::from(BLOCK)), mount)
    }

    /// Nanoseconds that all requests took so far.
    pub(super) fn ns(&self) -> u64 {
        self.disk.with(Watched::ns)
    }

    /// The segments of the main area, those in use as the last checkpoint has them.
    pub(super) fn segments(&self) -> Result<Vec<Segment>, LabError> {
        let volume = Volume::open(vec![Box::new(self.disk.clone())], CACHE_BYTES).map_err(FsError::from)?;
        let first = u64::from(volume.super_block().main_start().0) / SEGMENT;
        let written = self.disk.with(|disk| disk.segments().to_vec());
        let main = written.into_iter().skip(usize::try_from(first).unwrap_or(usize::MAX));
        (0..volume.super_block().main_segments())
            .zip(main)
            .map(|(segno, written)| {
                let entry = volume.sit_entry(SegNo(segno)).map_err(FsError::from)?;
                Ok(Segment { in_use: entry.bits(), written })
            })
            .collect()
    }
}

impl<D: BlockDevice + Send + 'static> Mounted<D> {
    /// Makes an empty volume on all of a disk and mounts it.
    pub(crate) fn new(disk: D, mount: Mount) -> Result<Self, LabError> {
        let failed = |error: &dyn ToString| LabError::Setup(error.to_string());
        let options = FormatOptions { uuid: [1; 16], ..FormatOptions::default() };
        let tree = Tree::new(Attributes::directory(0o755, 0, 0, Timestamp::default()));
        let disk = Disk::new(disk);
        let plan = Plan::new(options, tree, &NoContent, Size::Bytes(disk.bytes()), NonZeroUsize::MIN)
            .map_err(|error| failed(&error))?;
        plan.write(Box::new(disk.clone()), true, &NoContent, &mut |_| ()).map_err(|error| failed(&error))?;
        let options = WritableOptions {
            cache_bytes: CACHE_BYTES,
            logging: mount.logging,
            in_place: mount.in_place,
            streams: mount.streams,
            ..WritableOptions::new(Box::new(clock()))
        };
        let fs = WritableF2fs::mount(Box::new(disk.clone()), options).map_err(FsError::from)?;
        Ok(Mounted { fs, disk })
    }

    pub(crate) fn fs(&self) -> &dyn FileSystem {
        &self.fs
    }

    pub(crate) fn disk(&self) -> &Disk<D> {
        &self.disk
    }

    /// Blocks written so far.
    pub(super) fn written(&self) -> u64 {
        self.disk.written()
    }
}

/// A clock that goes on whenever it is looked at: the same on every machine.
fn clock() -> impl Fn() -> Timestamp {
    let asked = AtomicU64::new(0);
    move || {
        let ns = asked.fetch_add(1, Ordering::Relaxed) * TICK;
        let nanos = (ns % 1_000_000_000) as u32;
        Timestamp { seconds: (ns / 1_000_000_000).cast_signed(), nanos }
    }
}
