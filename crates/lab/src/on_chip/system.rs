//! The file systems that are compared, under one roof.

use pumice_cffs::Cffs;
use pumice_media::{NandStats, SimChip};
use pumice_nandfs::NandFs;
use pumice_rcffs::Rcffs;
use pumice_scaleffs::ScaleFs;
use pumice_vfs::{FileSystem, Timestamp};

use super::counted::Counted;
use crate::{LabError, Sources};

/// Memory of each for cached and unwritten data.
const CACHE_BYTES: usize = 2 << 20;

/// A file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// The ScaleFFS paper's.
    ScaleFfs,
    /// The CFFS paper's.
    Cffs,
    /// The same without the weight that gives a free block another role than before.
    CffsUnweighted,
    /// The RCFFS paper's, which compresses.
    Rcffs,
    /// The same without compression.
    RcffsPlain,
    /// The same, plain, with the paper's K parity pages in each erase block and M parity blocks in each segment.
    RcffsParity(u8, u8),
    /// Pumice's own, as it ships.
    Nandfs,
    /// The same with a parity page in each erase block.
    NandfsParity,
    /// The same with LZ4.
    NandfsPacked,
    /// The same with both.
    NandfsBoth,
}

impl System {
    /// Its name in records.
    pub fn name(self) -> String {
        let name = match self {
            System::RcffsParity(pages, blocks) => return format!("rcffs, plain, K {pages}, M {blocks}"),
            System::ScaleFfs => "scaleffs",
            System::Cffs => "cffs",
            System::CffsUnweighted => "cffs, no weight",
            System::Rcffs => "rcffs",
            System::RcffsPlain => "rcffs, plain",
            System::Nandfs => "nandfs",
            System::NandfsParity => "nandfs, parity",
            System::NandfsPacked => "nandfs, LZ4",
            System::NandfsBoth => "nandfs, parity and LZ4",
        };
        name.to_owned()
    }

    /// The sources that decide its figures.
    pub(super) fn sources(self) -> Sources {
        match self {
            System::ScaleFfs => Sources::ScaleFfs,
            System::Cffs | System::CffsUnweighted => Sources::Cffs,
            System::Rcffs | System::RcffsPlain | System::RcffsParity(..) => Sources::Rcffs,
            System::Nandfs | System::NandfsParity | System::NandfsPacked | System::NandfsBoth => {
                Sources::Nandfs
            }
        }
    }

    /// Makes an empty volume.
    pub(super) fn format(self, mut chip: SimChip) -> Result<SimChip, LabError> {
        match self {
            System::ScaleFfs => {
                Ok(pumice_scaleffs::format(chip, &pumice_scaleffs::FormatOptions::default())?)
            }
            System::Cffs | System::CffsUnweighted => {
                Ok(pumice_cffs::format(chip, &pumice_cffs::FormatOptions::default())?)
            }
            System::Rcffs | System::RcffsPlain | System::RcffsParity(..) => {
                let (pages, blocks) = match self {
                    System::RcffsParity(pages, blocks) => (pages, blocks),
                    _ => (1, 1),
                };
                let options = pumice_rcffs::FormatOptions {
                    compress: self == System::Rcffs,
                    parity_pages: pages.into(),
                    parity_blocks: blocks.into(),
                    ..Default::default()
                };
                Ok(pumice_rcffs::format(chip, &options)?)
            }
            System::Nandfs | System::NandfsParity | System::NandfsPacked | System::NandfsBoth => {
                let is_protected = matches!(self, System::NandfsParity | System::NandfsBoth);
                let is_packed = matches!(self, System::NandfsPacked | System::NandfsBoth);
                let options = pumice_nandfs::FormatOptions::default().with(|it| {
                    it.erased = true;
                    it.parity_pages = u8::from(is_protected);
                    it.compression = is_packed.then_some(pumice_nandfs::Compression::Lz4);
                });
                pumice_nandfs::format(&mut chip, &options, &mut |_, _| ())?;
                Ok(chip)
            }
        }
    }

    pub(super) fn mount(self, chip: SimChip) -> Result<Mounted, LabError> {
        self.mount_with(chip, CACHE_BYTES)
    }

    /// The same with so many bytes of memory for cached data.
    pub(super) fn mount_with(self, chip: SimChip, cache_bytes: usize) -> Result<Mounted, LabError> {
        let clock = Box::new(Timestamp::default);
        let read_only = false;
        let chip = Counted::new(chip);
        Ok(match self {
            System::ScaleFfs => {
                let options = pumice_scaleffs::MountOptions { read_only, cache_bytes, clock };
                Mounted::ScaleFfs(ScaleFs::mount(chip, options)?)
            }
            System::Cffs | System::CffsUnweighted => {
                let options = pumice_cffs::MountOptions { read_only, cache_bytes, clock };
                let fs = Cffs::mount(chip, options)?;
                if self == System::CffsUnweighted {
                    fs.volume().ignore_weight();
                }
                Mounted::Cffs(fs)
            }
            System::Rcffs | System::RcffsPlain | System::RcffsParity(..) => {
                let options = pumice_rcffs::MountOptions { read_only, cache_bytes, clock };
                Mounted::Rcffs(Rcffs::mount(chip, options)?)
            }
            System::Nandfs | System::NandfsParity | System::NandfsPacked | System::NandfsBoth => {
                // Ten pages, as the papers' file systems have at times, are too few for it.
                let cache_bytes = cache_bytes.max(pumice_nandfs::cache_least(&chip)?);
                let options =
                    pumice_nandfs::MountOptions::new(cache_bytes, clock).with(|it| it.read_only = read_only);
                Mounted::Nandfs(NandFs::mount(chip, options)?)
            }
        })
    }
}

/// A mounted volume.
#[expect(clippy::large_enum_variant, reason = "one at a time")]
pub(super) enum Mounted {
    ScaleFfs(ScaleFs<Counted>),
    Cffs(Cffs<Counted>),
    Rcffs(Rcffs<Counted>),
    Nandfs(NandFs<Counted>),
}

impl Mounted {
    pub(super) fn fs(&self) -> &dyn FileSystem {
        match self {
            Mounted::ScaleFfs(fs) => fs,
            Mounted::Cffs(fs) => fs,
            Mounted::Rcffs(fs) => fs,
            Mounted::Nandfs(fs) => fs,
        }
    }

    /// The chip's counters so far.
    pub(super) fn stats(&self) -> Result<NandStats, LabError> {
        Ok(match self {
            Mounted::ScaleFfs(fs) => fs.stats(),
            Mounted::Cffs(fs) => fs.stats(),
            Mounted::Rcffs(fs) => fs.stats(),
            Mounted::Nandfs(fs) => fs.stats()?,
        })
    }

    /// It, if it is ScaleFFS, which alone counts blocks by type.
    pub(super) fn scaleffs(&self) -> Result<&ScaleFs<Counted>, LabError> {
        match self {
            Mounted::ScaleFfs(fs) => Ok(fs),
            Mounted::Cffs(_) | Mounted::Rcffs(_) | Mounted::Nandfs(_) => {
                Err(LabError::Setup("only scaleffs counts blocks by type".to_owned()))
            }
        }
    }

    /// Pages that cleaning copied, and blocks that it reclaimed, since the mount, of those that count it.
    pub(super) fn cleaned(&self) -> Result<Option<(u64, u64)>, LabError> {
        Ok(match self {
            Mounted::ScaleFfs(_) | Mounted::Rcffs(_) => None,
            Mounted::Cffs(fs) => {
                let written = fs.volume().written();
                Some((written.copied, written.reclaimed))
            }
            Mounted::Nandfs(fs) => Some((fs.info()?.copied_pages, fs.stats()?.erases)),
        })
    }

    /// Reads all that is stored; the quick form, for volumes with parity, compares signatures in spare areas.
    pub(super) fn scrub(&self, is_quick: bool) -> Result<(), LabError> {
        match self {
            Mounted::Rcffs(fs) => {
                fs.volume().scrub(is_quick, &mut |_, _| ())?;
            }
            Mounted::Nandfs(fs) if is_quick => {
                fs.quick_scrub(&mut |_, _| ())?;
            }
            Mounted::Nandfs(fs) => {
                fs.scrub(&mut |_, _| ())?;
            }
            Mounted::ScaleFfs(_) | Mounted::Cffs(_) => {
                return Err(LabError::Setup("this file system has no such scrub".to_owned()));
            }
        }
        Ok(())
    }

    pub(super) fn unmount(self) -> Result<SimChip, LabError> {
        Ok(self.unmount_counted()?.0)
    }

    /// The chip, and how often each of its pages was programmed since the mount.
    pub(super) fn unmount_counted(self) -> Result<(SimChip, Vec<u32>), LabError> {
        let chip = match self {
            Mounted::ScaleFfs(fs) => fs.unmount()?,
            Mounted::Cffs(fs) => fs.unmount()?,
            Mounted::Rcffs(fs) => fs.unmount()?,
            Mounted::Nandfs(fs) => fs.unmount()?,
        };
        Ok(chip.into_parts())
    }

    /// Loses power.
    pub(super) fn cut(self) -> Result<SimChip, LabError> {
        let chip = match self {
            Mounted::ScaleFfs(fs) => fs.abandon(),
            Mounted::Cffs(fs) => fs.abandon(),
            Mounted::Rcffs(fs) => fs.abandon(),
            Mounted::Nandfs(fs) => fs.abandon(),
        };
        let chip = chip.ok_or_else(|| LabError::Setup("the file system has lost its chip".to_owned()))?;
        Ok(chip.into_parts().0)
    }
}
