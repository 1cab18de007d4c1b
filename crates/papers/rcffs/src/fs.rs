//! The volume as a file system that several threads may call.

use core::marker::PhantomData;

use parking_lot::Mutex;
use pumice_media::{AnyChip, Nand, NandStats};
use pumice_vfs::{
    Attr, Clock, DirEntry, Errno, FileSystem, Ino, NewNode, RenameMode, Result, Seek, SetAttr, SpaceInfo,
    SpaceMode, XattrMode,
};

use crate::layout::{CHUNK_BYTES, count};
use crate::log::Written;
use crate::scrub::Scrub;
use crate::segment::Use;
use crate::store::Repairs;
use crate::volume::Volume;

/// Bytes of an inode with its entry in the tree, about.
const INODE_BYTES: u64 = 256;
/// Bytes that LZ4 makes of one at the most.
const EXPANSION: u64 = 256;

/// The options of a mount.
pub struct MountOptions {
    /// Write nothing.
    pub read_only: bool,
    /// Bytes of the read cache; the paper's has ten pages.
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
    /// True if the last mount ended without an unmount.
    pub recovered: bool,
    /// Erase blocks of a segment, parity blocks among them, and parity pages of an erase block.
    pub shape: [u32; 3],
    /// Segments that are free, in use, and without enough good blocks.
    pub segments: [u32; 3],
    /// Bytes of all chunks, as they stand on flash.
    pub live_bytes: u64,
    /// Inodes in use.
    pub inodes: u32,
    /// Levels of the mu-tree, and its leaves.
    pub tree: [u32; 2],
    /// Bytes of the read cache now.
    pub cache_bytes: usize,
}

/// A mounted RCFFS.
pub struct Rcffs<N> {
    volume: Mutex<Volume<'static>>,
    chip: PhantomData<fn() -> N>,
}

impl<N: Nand + Send + 'static> Rcffs<N> {
    /// Mounts a chip: finds the newest segment by the next k (3.3), and reads its information and the root of the mu-tree; after
    /// a crash, the spare areas of one segment more (3.2).
    pub fn mount(nand: N, options: MountOptions) -> Result<Rcffs<N>> {
        let MountOptions { read_only, cache_bytes, clock } = options;
        let volume = Volume::mount(AnyChip::own(nand), clock, read_only, cache_bytes)?;
        Ok(Rcffs { volume: Mutex::new(volume), chip: PhantomData })
    }

    /// Writes everything, ends the segment, and gives the chip back.
    pub fn unmount(self) -> Result<N> {
        self.volume.into_inner().unmount()?.take().ok_or_else(|| Errno::Io.into())
    }

    /// Gives the chip back as it is, as if the power were cut.
    pub fn abandon(self) -> Option<N> {
        self.volume.into_inner().abandon().take()
    }
}

impl<N> Rcffs<N> {
    /// The facts that need no walk.
    pub fn info(&self) -> Info {
        let volume = self.volume.lock();
        let (log, state, shape) = (volume.shared_log(), *volume.state(), volume.layout().shape);
        let number = |is_one: fn(&Use) -> bool| count(log.usage().iter().filter(|of| is_one(of)).count());
        Info {
            label: log.identity().label.clone(),
            uuid: log.identity().uuid,
            recovered: volume.recovered(),
            shape: [shape.segment_blocks, shape.parity_blocks, shape.parity_pages],
            segments: [
                number(|of| *of == Use::Free),
                number(|of| of.may_be_live()),
                number(|of| *of == Use::Bad),
            ],
            live_bytes: state.live,
            inodes: volume.inodes(),
            tree: [count(state.height), state.leaves],
            cache_bytes: log.shared_store().cached() * volume.layout().page_bytes(),
        }
    }

    /// Pages written since the mount.
    pub fn written(&self) -> Written {
        self.volume.lock().shared_log().written()
    }

    /// Pages that were found wrong since the mount.
    pub fn repairs(&self) -> Repairs {
        self.volume.lock().shared_log().shared_store().repairs()
    }

    /// The chip's counters.
    pub fn stats(&self) -> NandStats {
        self.volume.lock().shared_log().shared_store().chip().stats()
    }

    /// Sections 3.2 and 6: looks at every segment, in full or by signatures alone, and moves the data out of segments
    /// with a wrong page. `progress` is told how many of how many segments were looked at.
    pub fn scrub(&self, is_quick: bool, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrub> {
        self.volume.lock().scrub(is_quick, progress)
    }

    fn number(ino: Ino) -> Result<u32> {
        Volume::number(ino)
    }
}

impl<N> FileSystem for Rcffs<N> {
    fn space(&self) -> Result<SpaceInfo> {
        let volume = self.volume.lock();
        let (total, live) = (volume.live_max(), volume.live());
        let inodes = u64::from(volume.inodes());
        let free = total.saturating_sub(live);
        let free_inodes = free / INODE_BYTES;
        Ok(SpaceInfo {
            block_bytes: count(CHUNK_BYTES),
            total_bytes: total,
            free_bytes: free,
            inodes: inodes + free_inodes,
            free_inodes,
            name_max: 255,
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        let number = Self::number(ino)?;
        let mut volume = self.volume.lock();
        let inode = volume.inode(number)?;
        Ok(inode.attr(number))
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let number = Self::number(ino)?;
        let mut volume = self.volume.lock();
        let inode = volume.set_attr(number, change)?;
        Ok(inode.attr(number))
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        let mut volume = self.volume.lock();
        let (number, inode) = volume.lookup(Self::number(dir)?, name)?;
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
        let mut volume = self.volume.lock();
        let (number, inode) = volume.create(Self::number(dir)?, name, node)?;
        Ok(inode.attr(number))
    }

    fn link(&self, ino: Ino, dir: Ino, name: &[u8]) -> Result<Attr> {
        let number = Self::number(ino)?;
        let inode = self.volume.lock().link(number, Self::number(dir)?, name)?;
        Ok(inode.attr(number))
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
        self.space().map_or(u64::MAX, |space| space.total_bytes.saturating_mul(EXPANSION))
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

    fn maintain(&self) -> Result<bool> {
        self.volume.lock().maintain()
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
