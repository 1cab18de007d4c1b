//! A volume as a file system that several threads may call.

use core::{marker::PhantomData, ops::DerefMut};

use parking_lot::Mutex;
use pumice_media::{AnyChip, Nand, NandStats};
use pumice_vfs::{
    Attr, Clock, DirEntry, Errno, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo,
    SpaceMode, XattrMode,
};

use crate::volume::Volume;

/// Entries of a directory that are read before the receiver is told.
const AT_ONCE: usize = 64;

/// The options of a mount.
pub struct MountOptions {
    /// Write nothing; after a power cut, recover in memory only.
    pub read_only: bool,
    /// Bytes of memory for what could be read again.
    pub cache_bytes: usize,
    /// The time.
    pub clock: Clock,
}

/// A mounted file system, its volume on a chip of type `N`.
pub struct Mounted<V, N> {
    volume: Mutex<V>,
    chip: PhantomData<fn() -> N>,
}

impl<V: Volume<'static>, N: Nand + Send + 'static> Mounted<V, N> {
    /// Mounts a chip.
    pub fn mount(nand: N, options: MountOptions) -> Result<Mounted<V, N>> {
        let MountOptions { read_only, cache_bytes, clock } = options;
        let volume = V::mount(AnyChip::own(nand), clock, read_only, cache_bytes)?;
        Ok(Mounted { volume: Mutex::new(volume), chip: PhantomData })
    }

    /// Writes everything and gives the chip back.
    pub fn unmount(self) -> Result<N> {
        self.volume.into_inner().unmount()?.take().ok_or_else(|| Errno::Io.into())
    }

    /// Gives the chip back as it is, as if the power were cut.
    pub fn abandon(self) -> Option<N> {
        self.volume.into_inner().abandon().take()
    }
}

impl<V: Volume<'static>, N> Mounted<V, N> {
    /// The volume, for what only its paper has; other calls wait until it is dropped.
    pub fn volume(&self) -> impl DerefMut<Target = V> + '_ {
        self.volume.lock()
    }

    /// The facts that need no walk.
    pub fn info(&self) -> V::Info {
        self.volume.lock().info()
    }

    /// The chip's counters.
    pub fn stats(&self) -> NandStats {
        self.volume.lock().chip().stats()
    }

    /// The attributes of an inode that a call left.
    fn shown(&self, call: impl FnOnce(&mut V) -> Result<(u32, V::Inode)>) -> Result<Attr> {
        let mut volume = self.volume.lock();
        let (number, inode) = call(&mut volume)?;
        Ok(volume.shown(number, &inode))
    }
}

impl<V: Volume<'static> + Send, N> FileSystem for Mounted<V, N> {
    fn space(&self) -> Result<SpaceInfo> {
        Ok(self.volume.lock().space())
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        let ino = V::number(ino)?;
        self.shown(|volume| Ok((ino, volume.inode(ino)?)))
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let ino = V::number(ino)?;
        self.shown(|volume| Ok((ino, volume.set_attr(ino, change)?)))
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let dir = V::number(dir)?;
        self.shown(|volume| volume.lookup(dir, name))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let parent = self.volume.lock().parent(V::number(dir)?)?;
        Ok(Ino(u64::from(parent)))
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.volume.lock().readlink(V::number(ino)?)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        let dir = V::number(dir)?;
        self.shown(|volume| volume.create(dir, name, node))
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        let (ino, dir) = (V::number(ino)?, V::number(dir)?);
        self.shown(|volume| Ok((ino, volume.link(ino, dir, name)?)))
    }

    fn unlink(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.volume.lock().unlink(V::number(dir)?, name)
    }

    fn rmdir(&self, dir: Ino, name: &[u8]) -> Result<()> {
        self.volume.lock().rmdir(V::number(dir)?, name)
    }

    fn rename(&self, dir: Ino, name: &[u8], to_dir: Ino, to_name: &[u8], mode: RenameMode) -> Result<()> {
        let (dir, to_dir) = (V::number(dir)?, V::number(to_dir)?);
        self.volume.lock().rename((dir, name), (to_dir, to_name), mode)
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        self.volume.lock().hold(V::number(ino)?)
    }

    fn release(&self, ino: Ino) -> Result<()> {
        self.volume.lock().release(V::number(ino)?)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.volume.lock().read(V::number(ino)?, offset, buffer)
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        self.volume.lock().write(V::number(ino)?, offset, data)
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        self.volume.lock().allocate(V::number(ino)?, mode, offset, length)
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        self.volume.lock().seek(V::number(ino)?, offset, what)
    }

    fn content_max(&self) -> u64 {
        self.volume.lock().space().total_bytes.saturating_mul(V::EXPANSION)
    }

    fn fsync(&self, ino: Ino, _data_only: bool) -> Result<()> {
        self.volume.lock().fsync(V::number(ino)?)
    }

    fn sync(&self) -> Result<()> {
        self.volume.lock().sync()
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let (dir, mut cookie) = (V::number(dir)?, cookie);
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

    fn maintain(&self) -> Result<bool> {
        self.volume.lock().maintain()
    }

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.volume.lock().xattr(V::number(ino)?, name)
    }

    fn set_xattr(&self, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.volume.lock().set_xattr(V::number(ino)?, name, value, mode)
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.volume.lock().list_xattr(V::number(ino)?)
    }

    fn remove_xattr(&self, ino: Ino, name: &[u8]) -> Result<()> {
        self.volume.lock().remove_xattr(V::number(ino)?, name)
    }
}
