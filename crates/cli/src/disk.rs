//! A logical disk as a file system with one file in it, so that it can be mounted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pumice_ftl::{Ftl, FtlError, Info};
use pumice_media::{BlockDevice, BlockError, Lba};
use pumice_vfs::{
    Attr, Clock, DirEntry, Errno, FileKind, FileSystem, FsError, Ino, NewNode, RenameMode, Result, Seek,
    SetAttr, SpaceInfo, SpaceMode, Timestamp, XattrMode,
};

use crate::metered::Metered;

/// The name of the file.
const NAME: &[u8] = b"disk";
const DISK: Ino = Ino(2);

/// The file system: a root directory, and `disk` in it, of fixed length.
///
/// fsync flushes the disk; a hole that is punched is trimmed, and reads as zeros.
pub(crate) struct DiskFs {
    inner: Mutex<Inner>,
    clock: Clock,
    block_bytes: u64,
    size: u64,
    read_only: bool,
    born: Timestamp,
}

struct Inner {
    disk: Ftl<Metered>,
    modified: Timestamp,
}

impl DiskFs {
    pub(crate) fn new(disk: Ftl<Metered>, read_only: bool, clock: Clock) -> DiskFs {
        let block_bytes = u64::from(disk.block_bytes());
        let (size, born) = (disk.blocks() * block_bytes, clock());
        let inner = Mutex::new(Inner { disk, modified: born });
        DiskFs { inner, clock, block_bytes, size, read_only, born }
    }

    /// Closes the disk: everything is on the chip afterwards.
    pub(crate) fn close(self) -> std::result::Result<Metered, FtlError> {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).disk.close()
    }

    /// A pass of the patrol is to take so many seconds; with 0 there is none.
    pub(crate) fn set_patrol_period(&self, seconds: u64) {
        self.inner().disk.set_patrol_period(seconds);
    }

    /// The disk's facts about itself.
    pub(crate) fn info(&self) -> Info {
        self.inner().disk.info()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, ino: Ino) -> Result<Attr> {
        let (kind, perm, size, nlink) = match ino {
            Ino::ROOT => (FileKind::Dir, 0o755, 0, 2),
            DISK => (FileKind::File, if self.read_only { 0o400 } else { 0o600 }, self.size, 1),
            _ => return Err(Errno::Stale.into()),
        };
        let inner = self.inner();
        let allocated = if ino == DISK { inner.disk.stored_blocks() * self.block_bytes } else { 0 };
        Ok(Attr {
            ino,
            kind,
            perm,
            nlink,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            size,
            allocated,
            atime: self.born,
            mtime: inner.modified,
            ctime: inner.modified,
            btime: self.born,
            generation: 0,
        })
    }

    /// Checks that an inode is the file.
    fn file(&self, ino: Ino) -> Result<MutexGuard<'_, Inner>> {
        match ino {
            DISK => Ok(self.inner()),
            Ino::ROOT => Err(Errno::IsDir.into()),
            _ => Err(Errno::Stale.into()),
        }
    }

    /// Blocks that a range touches: the block, the part of it, and the part of the range.
    fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = Piece> {
        let (block_bytes, end) = (self.block_bytes, offset + length);
        let blocks = offset / block_bytes..end.div_ceil(block_bytes);
        blocks.filter(move |_| length > 0).map(move |block| {
            let start = block * block_bytes;
            let (from, to) = (start.max(offset), (start + block_bytes).min(end));
            Piece {
                lba: Lba(block),
                at: index(from - start),
                from: index(from - offset),
                bytes: index(to - from),
            }
        })
    }

    fn put(&self, inner: &mut Inner, offset: u64, data: &[u8]) -> Result<()> {
        let mut block = vec![0; index(self.block_bytes)];
        for piece in self.pieces(offset, data.len() as u64) {
            let bytes = data.get(piece.from..piece.from + piece.bytes).unwrap_or_default();
            if bytes.len() == block.len() {
                inner.disk.write(piece.lba, bytes).map_err(failed)?;
                continue;
            }
            inner.disk.read(piece.lba, &mut block).map_err(failed)?;
            if let Some(part) = block.get_mut(piece.at..piece.at + piece.bytes) {
                part.copy_from_slice(bytes);
            }
            inner.disk.write(piece.lba, &block).map_err(failed)?;
        }
        inner.modified = (self.clock)();
        Ok(())
    }

    /// Trims whole blocks of a range and writes zeros to the rest of it.
    fn clear(&self, inner: &mut Inner, offset: u64, length: u64) -> Result<()> {
        let end = offset.saturating_add(length).min(self.size);
        let (first, last) =
            (offset.next_multiple_of(self.block_bytes), end / self.block_bytes * self.block_bytes);
        if first >= last {
            return self.put(inner, offset, &vec![0; index(end.saturating_sub(offset))]);
        }
        self.put(inner, offset, &vec![0; index(first - offset)])?;
        self.put(inner, last, &vec![0; index(end - last)])?;
        let (block, count) = (first / self.block_bytes, (last - first) / self.block_bytes);
        inner.disk.discard(Lba(block), count).map_err(failed)
    }
}

/// The part of a block that a range covers.
struct Piece {
    lba: Lba,
    /// The place in the block.
    at: usize,
    /// The place in the range.
    from: usize,
    bytes: usize,
}

/// A number of bytes as `usize`; one that is too large saturates, so that no slice has it.
fn index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn failed(error: BlockError) -> FsError {
    let errno = match error {
        BlockError::ReadOnly | BlockError::WornOut => Errno::ReadOnly,
        BlockError::OutOfRange { .. } | BlockError::Full => Errno::NoSpace,
        _ if error.is_host_full() => Errno::NoSpace,
        _ => Errno::Io,
    };
    FsError::new(errno, error.to_string())
}

/// The error for things that this file system cannot hold.
fn no<T>() -> Result<T> {
    Err(Errno::Perm.into())
}

impl FileSystem for DiskFs {
    fn space(&self) -> Result<SpaceInfo> {
        let stored = self.inner().disk.stored_blocks() * self.block_bytes;
        Ok(SpaceInfo {
            block_bytes: u32::try_from(self.block_bytes).unwrap_or(u32::MAX),
            total_bytes: self.size,
            free_bytes: self.size.saturating_sub(stored),
            inodes: 2,
            free_inodes: 0,
            name_max: 255,
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr> {
        self.known(ino)
    }

    fn set_attr(&self, ino: Ino, change: &SetAttr) -> Result<Attr> {
        let is_fixed = change.size.is_some_and(|size| ino == DISK && size != self.size);
        if is_fixed || change.perm.is_some() || change.uid.is_some() || change.gid.is_some() {
            return no();
        }
        if let Some(mtime) = change.mtime.filter(|_| ino == DISK) {
            self.inner().modified = mtime;
        }
        self.known(ino)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
        match (dir, name) {
            (Ino::ROOT, NAME) => self.known(DISK),
            (Ino::ROOT, b"." | b"..") => self.known(Ino::ROOT),
            (DISK, _) => Err(Errno::NotDir.into()),
            _ => Err(Errno::NoEntry.into()),
        }
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        if dir == Ino::ROOT { Ok(Ino::ROOT) } else { Err(Errno::NotDir.into()) }
    }

    fn readlink(&self, _ino: Ino) -> Result<Vec<u8>> {
        Err(Errno::Invalid.into())
    }

    fn create(&self, _dir: Ino, _name: &[u8], _node: &NewNode<'_>) -> Result<Attr> {
        no()
    }

    fn link(&self, _ino: Ino, _dir: Ino, _name: &[u8]) -> Result<Attr> {
        no()
    }

    fn unlink(&self, _dir: Ino, _name: &[u8]) -> Result<()> {
        no()
    }

    fn rmdir(&self, _dir: Ino, _name: &[u8]) -> Result<()> {
        no()
    }

    fn rename(&self, _: Ino, _: &[u8], _: Ino, _: &[u8], _: RenameMode) -> Result<()> {
        no()
    }

    fn hold(&self, ino: Ino) -> Result<()> {
        self.known(ino).map(drop)
    }

    fn release(&self, ino: Ino) -> Result<()> {
        self.known(ino).map(drop)
    }

    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let mut inner = self.file(ino)?;
        let length = (buffer.len() as u64).min(self.size.saturating_sub(offset));
        let mut block = vec![0; index(self.block_bytes)];
        for piece in self.pieces(offset, length) {
            let Some(part) = buffer.get_mut(piece.from..piece.from + piece.bytes) else { break };
            if part.len() == block.len() {
                inner.disk.read(piece.lba, part).map_err(failed)?;
            } else {
                inner.disk.read(piece.lba, &mut block).map_err(failed)?;
                part.copy_from_slice(block.get(piece.at..piece.at + piece.bytes).unwrap_or_default());
            }
        }
        Ok(index(length))
    }

    fn write(&self, ino: Ino, offset: u64, data: &[u8]) -> Result<()> {
        let mut inner = self.file(ino)?;
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > self.size) {
            return Err(FsError::new(Errno::NoSpace, format!("the disk ends at byte {}", self.size)));
        }
        self.put(&mut inner, offset, data)
    }

    fn allocate(&self, ino: Ino, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let mut inner = self.file(ino)?;
        let (fits, keeps) = match mode {
            SpaceMode::Reserve { keep_size } | SpaceMode::Zero { keep_size } => (false, keep_size),
            SpaceMode::PunchHole => (true, true),
        };
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.size);
        if length == 0 || (!inside && !fits && !keeps) {
            return Err(if length == 0 { Errno::Invalid } else { Errno::NoSpace }.into());
        }
        match mode {
            SpaceMode::Reserve { .. } => Ok(()),
            _ if offset >= self.size => Ok(()),
            _ => self.clear(&mut inner, offset, length),
        }
    }

    fn seek(&self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        drop(self.file(ino)?);
        match what {
            _ if offset >= self.size => Err(Errno::NoAddress.into()),
            Seek::Data => Ok(offset),
            Seek::Hole => Ok(self.size),
        }
    }

    fn fsync(&self, ino: Ino, _data_only: bool) -> Result<()> {
        self.known(ino)?;
        self.sync()
    }

    fn sync(&self) -> Result<()> {
        self.inner().disk.flush().map_err(failed)
    }

    fn readdir(&self, dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        if dir != Ino::ROOT {
            return Err(Errno::NotDir.into());
        }
        if cookie == 0 {
            each(DirEntry { name: NAME, ino: DISK, kind: FileKind::File, cookie: 1 });
        }
        Ok(())
    }

    fn xattr(&self, _ino: Ino, _name: &[u8]) -> Result<Vec<u8>> {
        Err(Errno::NoData.into())
    }

    fn set_xattr(&self, _ino: Ino, _name: &[u8], _value: &[u8], _mode: XattrMode) -> Result<()> {
        Err(Errno::NotSupported.into())
    }

    fn list_xattr(&self, _ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn remove_xattr(&self, _ino: Ino, _name: &[u8]) -> Result<()> {
        Err(Errno::NoData.into())
    }

    fn maintain(&self) -> Result<bool> {
        let now = (self.clock)().seconds;
        self.inner().disk.maintain(now).map_err(|error| {
            let errno = if matches!(error, FtlError::Chip(_)) { Errno::Io } else { Errno::ReadOnly };
            FsError::new(errno, error.to_string())
        })
    }
}
