//! The volume as a file system that several threads may call.

use core::marker::PhantomData;

use parking_lot::Mutex;
use pumice_media::{AnyChip, Nand, NandStats};
use pumice_vfs::{
    Attr, Clock, DirEntry, Errno, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo,
    SpaceMode, XattrMode,
};

use crate::inode::{Inode, NAME_MAX};
use crate::layout::INODES;
use crate::store::Written;
use crate::volume::Volume;

/// The options of a mount.
pub struct MountOptions {
    /// Write nothing.
    pub read_only: bool,
    /// Bytes of the cache list (2.3): inode pages and index pages that are kept.
    pub cache_bytes: usize,
    /// The time.
    pub clock: Clock,
}

/// Facts about a volume that need no walk.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// A name for people.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// True if the last mount ended without an unmount, and every block was looked at.
    pub recovered: bool,
    /// Inode-stored blocks, data blocks, free blocks, bad blocks.
    pub erase_blocks: [u32; 4],
    /// Live pages.
    pub live_pages: u32,
    /// Inodes in use.
    pub inodes: u32,
    /// Bytes of the cache list now.
    pub cache_bytes: usize,
}

/// A mounted CFFS.
pub struct Cffs<N> {
    volume: Mutex<Volume<'static>>,
    chip: PhantomData<fn() -> N>,
}

fn shown(volume: &Volume<'_>, ino: u32, inode: &Inode) -> Attr {
    inode.attr(ino, volume.links(ino), volume.layout().page_bytes())
}

impl<N: Nand + Send + 'static> Cffs<N> {
    /// Mounts a chip: reads the inode-stored blocks, and the index pages of the files they tell of (2.2).
    pub fn mount(nand: N, options: MountOptions) -> Result<Cffs<N>> {
        let MountOptions { read_only, cache_bytes, clock } = options;
        let volume = Volume::mount(AnyChip::own(nand), clock, read_only, cache_bytes)?;
        Ok(Cffs { volume: Mutex::new(volume), chip: PhantomData })
    }

    /// Writes the `InodeMapBlock` and gives the chip back.
    pub fn unmount(self) -> Result<N> {
        self.volume.into_inner().unmount()?.take().ok_or_else(|| Errno::Io.into())
    }

    /// Gives the chip back as it is, as if the power were cut.
    pub fn abandon(self) -> Option<N> {
        self.volume.into_inner().abandon().take()
    }
}

impl<N> Cffs<N> {
    /// The facts that need no walk.
    pub fn info(&self) -> Info {
        let volume = self.volume.lock();
        Info {
            label: volume.record().label.clone(),
            uuid: volume.record().uuid,
            recovered: volume.recovered(),
            erase_blocks: volume.block_counts(),
            live_pages: volume.live(),
            inodes: volume.tree().len(),
            cache_bytes: volume.shared_store().cached() * volume.layout().page_bytes(),
        }
    }

    /// Pages written since the mount.
    pub fn written(&self) -> Written {
        self.volume.lock().shared_store().written()
    }

    /// The chip's counters.
    pub fn stats(&self) -> NandStats {
        self.volume.lock().shared_store().shared_flash().chip().stats()
    }

    fn number(ino: Ino) -> Result<u32> {
        Volume::number(ino)
    }
}

impl<N> FileSystem for Cffs<N> {
    fn space(&self) -> Result<SpaceInfo> {
        let volume = self.volume.lock();
        let (total, each) = (volume.live_max(), volume.layout().page_bytes() as u64);
        let free = total.saturating_sub(volume.live());
        let inodes = volume.tree().len();
        let free_inodes = (INODES - 1).saturating_sub(inodes).min(free);
        Ok(SpaceInfo {
            block_bytes: u32::try_from(each).unwrap_or(u32::MAX),
            total_bytes: u64::from(total) * each,
            free_bytes: u64::from(free) * each,
            inodes: u64::from(inodes) + u64::from(free_inodes),
            free_inodes: u64::from(free_inodes),
            name_max: u32::try_from(NAME_MAX).unwrap_or(u32::MAX),
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        let number = Self::number(ino)?;
        let mut volume = self.volume.lock();
        let inode = volume.inode(number)?;
        Ok(shown(&volume, number, &inode))
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let number = Self::number(ino)?;
        let mut volume = self.volume.lock();
        let inode = volume.set_attr(number, change)?;
        Ok(shown(&volume, number, &inode))
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let mut volume = self.volume.lock();
        let (number, inode) = volume.lookup(Self::number(dir)?, name)?;
        Ok(shown(&volume, number, &inode))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let parent = self.volume.lock().parent(Self::number(dir)?)?;
        Ok(Ino(u64::from(parent)))
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.volume.lock().readlink(Self::number(ino)?)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        let mut volume = self.volume.lock();
        let (number, inode) = volume.create(Self::number(dir)?, name, node)?;
        Ok(shown(&volume, number, &inode))
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        let number = Self::number(ino)?;
        let volume = self.volume.lock();
        let inode = volume.link(number, Self::number(dir)?, name)?;
        Ok(shown(&volume, number, &inode))
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.volume.lock().unlink(Self::number(dir)?, name)
    }

    fn rmdir(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.volume.lock().rmdir(Self::number(dir)?, name)
    }

    fn rename(&self, dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> Result<()> {
        let (dir, to_dir) = (Self::number(dir)?, Self::number(to_dir)?);
        self.volume.lock().rename((dir, name), (to_dir, to_name), mode)
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        self.volume.lock().hold(Self::number(ino)?)
    }

    fn release(&self, ino: Ino) -> Result<()> {
        self.volume.lock().release(Self::number(ino)?)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.volume.lock().read(Self::number(ino)?, offset, buffer)
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        self.volume.lock().write(Self::number(ino)?, offset, data)
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        self.volume.lock().allocate(Self::number(ino)?, mode, offset, length)
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        self.volume.lock().seek(Self::number(ino)?, offset, what)
    }

    fn content_max(&self) -> u64 {
        self.space().map_or(u64::MAX, |space| space.total_bytes)
    }

    fn fsync(&self, ino: Ino, _data_only: bool) -> Result<()> {
        self.volume.lock().fsync(Self::number(ino)?)
    }

    fn sync(&self) -> Result<()> {
        self.volume.lock().sync()
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        const AT_ONCE: usize = 64;
        let (dir, mut cookie) = (Self::number(dir)?, cookie);
        loop {
            // The receiver of an entry may call again.
            let mut found = Vec::new();
            self.volume.lock().readdir(dir, cookie, &mut |entry| {
                found.push((entry.name.to_vec(), entry.ino, entry.kind, entry.cookie));
                found.len() < AT_ONCE
            })?;
            for (name, ino, kind, here) in &found {
                if !each(DirEntry { name, ino: *ino, kind: *kind, cookie: *here }) {
                    return Ok(());
                }
                cookie = *here;
            }
            if found.len() < AT_ONCE {
                return Ok(());
            }
        }
    }

    /// The paper has no extended attributes.
    fn xattr(&self, ino: Ino, _name: &[u8]) -> Result<Vec<u8>> {
        self.attr(ino)?;
        Err(Errno::NoData.into())
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.attr(ino).map(|_| Vec::new())
    }

    fn set_xattr(&self, ino: Ino, _name: &[u8], _value: &[u8], _mode: XattrMode) -> Result<()> {
        self.attr(ino)?;
        Err(Errno::NotSupported.into())
    }

    fn remove_xattr(&self, ino: Ino, _name: &[u8]) -> Result<()> {
        self.attr(ino)?;
        Err(Errno::NoData.into())
    }
}
