//! The file systems that stand on a raw NAND chip, in one table: Pumice's own, and those of the papers.

use std::{path::Path, sync::Arc};

use pumice_cffs::Cffs;
use pumice_nandfs::NandFs;
use pumice_rcffs::Rcffs;
use pumice_scaleffs::ScaleFs;
use pumice_vfs::{CheckReport, FileSystem, FsError, Timestamp};

use crate::{
    context::now,
    failure::{Failure, Outcome},
    metered::Metered,
};

/// The kind of file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Nandfs,
    ScaleFfs,
    Cffs,
    Rcffs,
}

/// The parameters of a new volume.
pub(crate) struct NewVolume {
    pub(crate) label: String,
    pub(crate) uuid: [u8; 16],
    pub(crate) created: Timestamp,
    /// User and group of the root directory.
    pub(crate) owner: (u32, u32),
    /// The options of nandfs alone; its other ones are above.
    pub(crate) nandfs: pumice_nandfs::FormatOptions,
    /// Those of RCFFS alone.
    pub(crate) rcffs: pumice_rcffs::FormatOptions,
}

impl Kind {
    /// All of them; the one that is met most is looked for first.
    const ALL: [Kind; 4] = [Kind::Nandfs, Kind::ScaleFfs, Kind::Cffs, Kind::Rcffs];

    /// The name that `mkfs -t` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Nandfs => "nandfs",
            Kind::ScaleFfs => "scaleffs",
            Kind::Cffs => "cffs",
            Kind::Rcffs => "rcffs",
        }
    }

    /// The kind with this name; mount(8) and mkfs(8) call nandfs `pumice`.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        let name = if name == "pumice" { "nandfs" } else { name };
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The one that a chip holds, in any version.
    pub(crate) fn on(chip: &mut Metered) -> Result<Option<Kind>, FsError> {
        for kind in Kind::ALL {
            let is_there = match kind {
                Kind::Nandfs => pumice_nandfs::probe(chip)?,
                Kind::ScaleFfs => pumice_scaleffs::probe(chip)?,
                Kind::Cffs => pumice_cffs::probe(chip)?,
                Kind::Rcffs => pumice_rcffs::probe(chip)?,
            };
            if is_there {
                return Ok(Some(kind));
            }
        }
        Ok(None)
    }

    /// Makes an empty volume; `progress` is told how many of how many steps are done, where the file system says so.
    pub(crate) fn format(
        self,
        chip: &mut Metered,
        new: NewVolume,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), FsError> {
        let NewVolume { label, uuid, created, owner, nandfs, rcffs } = new;
        match self {
            Kind::Nandfs => {
                let options = nandfs.with(|it| {
                    it.label = label;
                    it.uuid = uuid;
                    it.created = created;
                    it.owner = owner;
                });
                pumice_nandfs::format(chip, &options, progress)
            }
            Kind::ScaleFfs => {
                let options = pumice_scaleffs::FormatOptions { label, uuid, created, owner };
                pumice_scaleffs::format(chip, &options).map(drop)
            }
            Kind::Cffs => {
                let options = pumice_cffs::FormatOptions { label, uuid, created, owner };
                pumice_cffs::format(chip, &options).map(drop)
            }
            Kind::Rcffs => {
                let options = pumice_rcffs::FormatOptions { label, uuid, created, owner, ..rcffs };
                pumice_rcffs::format(chip, &options).map(drop)
            }
        }
    }

    /// Mounts a volume.
    pub(crate) fn mount(
        self,
        chip: Metered,
        read_only: bool,
        cache_bytes: usize,
    ) -> Result<Mounted, FsError> {
        let clock = Box::new(now);
        Ok(match self {
            Kind::Nandfs => {
                let options =
                    pumice_nandfs::MountOptions::new(cache_bytes, clock).with(|it| it.read_only = read_only);
                Mounted::Nandfs(Arc::new(NandFs::mount(chip, options)?))
            }
            Kind::ScaleFfs => {
                let options = pumice_scaleffs::MountOptions { read_only, cache_bytes, clock };
                Mounted::ScaleFfs(Arc::new(ScaleFs::mount(chip, options)?))
            }
            Kind::Cffs => {
                let options = pumice_cffs::MountOptions { read_only, cache_bytes, clock };
                Mounted::Cffs(Arc::new(Cffs::mount(chip, options)?))
            }
            Kind::Rcffs => {
                let options = pumice_rcffs::MountOptions { read_only, cache_bytes, clock };
                Mounted::Rcffs(Arc::new(Rcffs::mount(chip, options)?))
            }
        })
    }

    /// Reads everything and compares it; writes nothing.
    pub(crate) fn check(
        self,
        chip: Metered,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport, FsError> {
        match self {
            Kind::Nandfs => pumice_nandfs::check(chip, progress),
            Kind::ScaleFfs => pumice_scaleffs::check(chip),
            Kind::Cffs => pumice_cffs::check(chip),
            Kind::Rcffs => pumice_rcffs::check(chip),
        }
    }
}

/// A mounted file system on a chip.
pub(crate) enum Mounted {
    Nandfs(Arc<NandFs<Metered>>),
    ScaleFfs(Arc<ScaleFs<Metered>>),
    Cffs(Arc<Cffs<Metered>>),
    Rcffs(Arc<Rcffs<Metered>>),
}

impl Mounted {
    /// The file system.
    pub(crate) fn fs(&self) -> &(dyn FileSystem + Send + Sync + 'static) {
        match self {
            Mounted::Nandfs(fs) => &**fs,
            Mounted::ScaleFfs(fs) => &**fs,
            Mounted::Cffs(fs) => &**fs,
            Mounted::Rcffs(fs) => &**fs,
        }
    }

    /// The file system, to be served by other threads.
    pub(crate) fn shared(&self) -> Arc<dyn FileSystem + Send + Sync> {
        match self {
            Mounted::Nandfs(fs) => fs.clone(),
            Mounted::ScaleFfs(fs) => fs.clone(),
            Mounted::Cffs(fs) => fs.clone(),
            Mounted::Rcffs(fs) => fs.clone(),
        }
    }

    /// Unmounts, and gives the chip back; nobody else may have it.
    pub(crate) fn unmount(self, path: &Path) -> Outcome<Metered> {
        let unmounted = match self {
            Mounted::Nandfs(fs) => owned(fs, path)?.unmount(),
            Mounted::ScaleFfs(fs) => owned(fs, path)?.unmount(),
            Mounted::Cffs(fs) => owned(fs, path)?.unmount(),
            Mounted::Rcffs(fs) => owned(fs, path)?.unmount(),
        };
        unmounted.map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    }
}

/// Takes the value out of its `Arc`, which must be the last one.
pub(crate) fn owned<T>(shared: Arc<T>, path: &Path) -> Outcome<T> {
    Arc::try_unwrap(shared)
        .map_err(|_| Failure::new(format!("{}: still in use, not unmounted", path.display())))
}
