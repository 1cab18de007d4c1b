//! The volume as a file system that several threads may call.

use core::marker::PhantomData;

use parking_lot::Mutex;
use pumice_media::{AnyChip, Nand, NandStats};
use pumice_vfs::{
    Attr, Clock, DirEntry, Errno, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo,
    SpaceMode, XattrMode,
};

use crate::inode::INODES;
use crate::layout::BLOCK_BYTES;
use crate::volume::Volume;

/// The options of a mount.
pub struct MountOptions {
    /// Write nothing, recover in memory only.
    pub read_only: bool,
    /// Bytes of memory for clean metadata; changed metadata is kept beside it until it is written.
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
    /// True if the last mount ended without an unmount, and the log was replayed.
    pub recovered: bool,
    /// Erase blocks of the log that are good, free, bad.
    pub erase_blocks: [u32; 3],
    /// Erase blocks of the checkpoint region.
    pub checkpoint_blocks: u32,
    /// Blocks of 1 KiB that are live.
    pub live_blocks: u32,
    /// Inodes in use.
    pub inodes: u32,
}

/// Memory that a volume takes, in bytes (table V).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The checkpoint's data.
    pub checkpoint: usize,
    /// The write buffer.
    pub buffer: usize,
    /// All indirect inode map blocks.
    pub map_index: usize,
    /// Other metadata now.
    pub metadata: usize,
    /// The most that it was since the mount.
    pub metadata_most: usize,
}

/// Blocks of 1 KiB by type (table VI): data, directories, inodes, indirect blocks, inode map, indirect inode map,
/// checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocks {
    /// Written since the mount.
    pub written: [u64; 7],
    /// Read since the mount.
    pub read: [u64; 7],
}

/// A mounted ScaleFFS.
pub struct ScaleFs<N> {
    volume: Mutex<Volume<'static>>,
    chip: PhantomData<fn() -> N>,
}

fn sorted(by_kind: &[u64; 10]) -> [u64; 7] {
    let [_, data, dir, first, second, third, inode, map, index, checkpoint] = *by_kind;
    [data, dir, inode, first + second + third, map, index, checkpoint]
}

impl<N: Nand + Send + 'static> ScaleFs<N> {
    /// Mounts a chip: reads the newest checkpoint and the indirect inode map; after a power cut, the spare areas of
    /// later writes, too, 4 MB at the most (4.5).
    pub fn mount(nand: N, options: MountOptions) -> Result<ScaleFs<N>> {
        let MountOptions { read_only, cache_bytes, clock } = options;
        let volume = Volume::mount(AnyChip::own(nand), clock, read_only, cache_bytes)?;
        Ok(ScaleFs { volume: Mutex::new(volume), chip: PhantomData })
    }

    /// Makes a checkpoint and gives the chip back.
    pub fn unmount(self) -> Result<N> {
        self.volume.into_inner().unmount()?.take().ok_or_else(|| Errno::Io.into())
    }

    /// Gives the chip back as it is, as if the power were cut.
    pub fn abandon(self) -> Option<N> {
        self.volume.into_inner().abandon().take()
    }
}

impl<N> ScaleFs<N> {
    /// The facts that need no walk.
    pub fn info(&self) -> Info {
        let volume = self.volume.lock();
        let (layout, index) = (volume.layout(), volume.shared_index());
        let position = index.shared_log().position();
        let identity = volume.identity();
        Info {
            label: identity.label.clone(),
            uuid: identity.uuid,
            recovered: volume.recovered(),
            erase_blocks: [layout.log_blocks().saturating_sub(position.bad), position.free, position.bad],
            checkpoint_blocks: layout.region_blocks(),
            live_blocks: index.census().live,
            inodes: index.census().inodes,
        }
    }

    /// Memory in use.
    pub fn memory(&self) -> Memory {
        let volume = self.volume.lock();
        let index = volume.shared_index();
        let (now, most) = index.cached();
        Memory {
            checkpoint: BLOCK_BYTES,
            buffer: BLOCK_BYTES,
            map_index: index.indirect_map_blocks() * BLOCK_BYTES,
            metadata: now * BLOCK_BYTES,
            metadata_most: most * BLOCK_BYTES,
        }
    }

    /// The blocks written and read, by type.
    pub fn blocks(&self) -> Blocks {
        let volume = self.volume.lock();
        let traffic = volume.shared_index().shared_log().shared_flash().traffic();
        Blocks { written: sorted(&traffic.written), read: sorted(&traffic.read) }
    }

    /// The chip's counters.
    pub fn stats(&self) -> NandStats {
        self.volume.lock().shared_index().shared_log().shared_flash().chip().stats()
    }

    fn number(ino: Ino) -> Result<u32> {
        Volume::number(ino)
    }
}

impl<N> FileSystem for ScaleFs<N> {
    fn space(&self) -> Result<SpaceInfo> {
        let volume = self.volume.lock();
        let census = volume.shared_index().census();
        let (total, each) = (volume.live_max(), BLOCK_BYTES as u64);
        let free = total.saturating_sub(census.live);
        let free_inodes = (INODES - 1).saturating_sub(census.inodes).min(free);
        Ok(SpaceInfo {
            block_bytes: 1024,
            total_bytes: u64::from(total) * each,
            free_bytes: u64::from(free) * each,
            inodes: u64::from(census.inodes) + u64::from(free_inodes),
            free_inodes: u64::from(free_inodes),
            name_max: 255,
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        let number = Self::number(ino)?;
        Ok(self.volume.lock().inode(number)?.attr(number))
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let number = Self::number(ino)?;
        Ok(self.volume.lock().set_attr(number, change)?.attr(number))
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let (number, inode) = self.volume.lock().lookup(Self::number(dir)?, name)?;
        Ok(inode.attr(number))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let parent = self.volume.lock().parent(Self::number(dir)?)?;
        Ok(Ino(u64::from(parent)))
    }

    fn readlink(&self, ino: Ino) -> Result<Vec<u8>> {
        self.volume.lock().readlink(Self::number(ino)?)
    }

    fn create(&self, dir: Ino, name: &[u8], node: &NewNode<'_>) -> Result<Attr> {
        let (number, inode) = self.volume.lock().create(Self::number(dir)?, name, node)?;
        Ok(inode.attr(number))
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        let number = Self::number(ino)?;
        Ok(self.volume.lock().link(number, Self::number(dir)?, name)?.attr(number))
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

    fn xattr(&self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.volume.lock().xattr(Self::number(ino)?, name)
    }

    fn set_xattr(&self, ino: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.volume.lock().set_xattr(Self::number(ino)?, name, value, mode)
    }

    fn list_xattr(&self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.volume.lock().list_xattr(Self::number(ino)?)
    }

    fn remove_xattr(&self, ino: Ino, name: &[u8]) -> Result<()> {
        self.volume.lock().remove_xattr(Self::number(ino)?, name)
    }
}
