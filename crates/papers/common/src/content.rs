//! Content of files: what a call checks before the volume reads or changes anything.

use core::ops::Range;

use pumice_vfs::{Errno, FileKind, Result, Seek, SetAttr, SpaceMode};

use crate::{inodes::Inodes, piece::number_of};

/// What becomes of a range that is reserved, punched or zeroed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cover {
    /// It reads as zeros.
    pub clears: bool,
    /// The file reaches to its end.
    pub grows: bool,
}

impl From<SpaceMode> for Cover {
    fn from(mode: SpaceMode) -> Cover {
        let (clears, grows) = match mode {
            SpaceMode::Reserve { keep_size } => (false, !keep_size),
            SpaceMode::PunchHole => (true, false),
            SpaceMode::Zero { keep_size } => (true, !keep_size),
        };
        Cover { clears, grows }
    }
}

/// The content of a volume's files.
pub trait Content: Inodes {
    /// Bytes of a block.
    fn block_bytes(&self) -> usize;

    /// Bytes that a file may have.
    fn size_max(&self) -> u64;

    /// Fills a buffer from the blocks of an inode.
    fn fill(&mut self, ino: u32, inode: &Self::Inode, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Writes some bytes, which end within the largest file.
    fn put_bytes(&mut self, ino: u32, inode: Self::Inode, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Changes attributes; a length is that of a regular file.
    fn apply(&mut self, ino: u32, inode: Self::Inode, change: &SetAttr) -> Result<Self::Inode>;

    /// Changes a range, which ends within the largest file.
    fn cover(&mut self, ino: u32, inode: Self::Inode, cover: Cover, range: Range<u64>) -> Result<()>;

    /// The first block in a range that is there, or that is not; its end if there is none.
    fn next_block(&mut self, ino: u32, inode: &Self::Inode, range: Range<u32>, there: bool) -> Result<u32>;

    /// A regular file.
    fn file(&mut self, ino: u32) -> Result<Self::Inode> {
        let inode = self.inode(ino)?;
        match inode.kind {
            FileKind::File => Ok(inode),
            FileKind::Dir => Err(Errno::IsDir.into()),
            _ => Err(Errno::Invalid.into()),
        }
    }

    /// Reads from a file; returns how many bytes.
    fn read(&mut self, ino: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let inode = self.file(ino)?;
        let left = usize::try_from(inode.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let there = left.min(buffer.len());
        self.fill(ino, &inode, offset, buffer.get_mut(..there).unwrap_or_default())?;
        Ok(there)
    }

    /// The target of a symbolic link.
    fn readlink(&mut self, ino: u32) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        let length = usize::try_from(inode.size).ok().filter(|length| *length < 4096);
        let (FileKind::Symlink, Some(length)) = (inode.kind, length) else {
            return Err(Errno::Invalid.into());
        };
        let mut target = vec![0; length];
        self.fill(ino, &inode, 0, &mut target)?;
        Ok(target)
    }

    /// Writes to a file.
    fn write(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let inode = self.file(ino)?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.end(offset, bytes.len() as u64)?;
        self.writable()?;
        self.put_bytes(ino, inode, offset, bytes)
    }

    /// The end of a range, if a file can reach so far.
    fn end(&self, offset: u64, length: u64) -> Result<u64> {
        let end = offset.checked_add(length).filter(|end| *end <= self.size_max());
        end.ok_or_else(|| Errno::FileTooBig.into())
    }

    /// Changes attributes.
    fn set_attr(&mut self, ino: u32, change: &SetAttr) -> Result<Self::Inode> {
        let inode = self.inode(ino)?;
        match (change.size, inode.kind) {
            (Some(_), FileKind::Dir) => return Err(Errno::IsDir.into()),
            (Some(size), FileKind::File) if size > self.size_max() => return Err(Errno::FileTooBig.into()),
            (None, _) | (_, FileKind::File) => {}
            _ => return Err(Errno::Invalid.into()),
        }
        if *change == SetAttr::default() {
            return Ok(inode);
        }
        self.writable()?;
        self.apply(ino, inode, change)
    }

    /// Reserves, punches or zeroes a range of a file.
    fn allocate(&mut self, ino: u32, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let inode = self.file(ino)?;
        if length == 0 {
            return Err(Errno::Invalid.into());
        }
        let end = self.end(offset, length)?;
        self.writable()?;
        self.cover(ino, inode, mode.into(), offset..end)
    }

    /// The next data or hole of a file.
    fn seek(&mut self, ino: u32, offset: u64, what: Seek) -> Result<u64> {
        let inode = self.file(ino)?;
        if offset >= inode.size {
            return Err(Errno::NoAddress.into());
        }
        let each = self.block_bytes() as u64;
        let number = |offset: u64| number_of(self.block_bytes(), offset);
        let blocks = number(offset)..number(inode.size.next_multiple_of(each));
        let end = blocks.end;
        let found = self.next_block(ino, &inode, blocks, what == Seek::Data)?;
        match what {
            Seek::Data if found == end => Err(Errno::NoAddress.into()),
            Seek::Data => Ok(offset.max(u64::from(found) * each)),
            Seek::Hole => Ok(offset.max(u64::from(found) * each).min(inode.size)),
        }
    }
}
