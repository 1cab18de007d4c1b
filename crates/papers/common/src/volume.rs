//! A volume on a chip.

use pumice_media::AnyChip;
use pumice_vfs::{Clock, Result, SpaceInfo};

use crate::{content::Content, names::Names, xattrs::Xattrs};

/// A mounted volume.
pub trait Volume<'c>: Names + Content + Xattrs + Sized {
    /// The facts that need no walk.
    type Info;

    /// Bytes that one byte on flash may hold at the most.
    const EXPANSION: u64 = 1;

    /// Mounts a chip.
    fn mount(nand: AnyChip<'c>, clock: Clock, read_only: bool, cache_bytes: usize) -> Result<Self>;

    /// Writes everything and gives the chip back.
    fn unmount(self) -> Result<AnyChip<'c>>;

    /// Gives the chip back as it is.
    fn abandon(self) -> AnyChip<'c>;

    /// The chip.
    fn chip(&self) -> &AnyChip<'c>;

    /// The facts that need no walk.
    fn info(&self) -> Self::Info;

    /// Space and inodes.
    fn space(&self) -> SpaceInfo;

    /// An inode outlives a power cut.
    fn fsync(&mut self, ino: u32) -> Result<()>;

    /// Everything outlives a power cut.
    fn sync(&mut self) -> Result<()>;

    /// Does a part of the work that can wait; false if none is left.
    fn maintain(&mut self) -> Result<bool> {
        Ok(false)
    }
}
