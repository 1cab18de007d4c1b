//! Section 4.1: read and write. A block of data is written as soon as it is full; a part of one waits in the one
//! buffer.

use pumice_vfs::{Errno, FileKind, Result, Seek, SetAttr, SpaceMode};

use super::{Buffer, Volume};
use crate::inode::{BLOCKS_MAX, Inode};
use crate::layout::{Addr, BLOCK_BYTES, POINTERS};
use crate::spare::{Kind, Owner};

const BYTES: u64 = BLOCK_BYTES as u64;
/// Bytes that a file may have.
const SIZE_MAX: u64 = BLOCKS_MAX as u64 * BYTES;

/// A part of one block: which, from where in it, and how many bytes.
struct Piece {
    block: u32,
    from: usize,
    bytes: usize,
}

/// The parts of blocks that a range covers; it ends within the 2^24 blocks that there are.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let mut at = offset;
    let mut left = length;
    core::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let from = usize::try_from(at % BYTES).ok()?;
        let bytes = left.min(BLOCK_BYTES - from);
        let piece = Piece { block: number_of(at), from, bytes };
        at += bytes as u64;
        left -= bytes;
        Some(piece)
    })
}

/// The block that holds a byte; its number has three bytes.
fn number_of(offset: u64) -> u32 {
    debug_assert!(offset / BYTES <= 1 << 24, "byte {offset} of a file");
    u32::try_from(offset / BYTES).unwrap_or(u32::MAX)
}

fn data(ino: u32, block: u32) -> Owner {
    Owner { ino, kind: Kind::Data, offset: block }
}

impl Volume<'_> {
    /// A regular file's inode.
    fn file(&mut self, ino: u32) -> Result<Inode> {
        let inode = self.inode(ino)?;
        match inode.kind {
            FileKind::File => Ok(inode),
            FileKind::Dir => Err(Errno::IsDir.into()),
            _ => Err(Errno::Invalid.into()),
        }
    }

    pub(crate) fn read(&mut self, ino: u32, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let size = self.file(ino)?.size;
        let there = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        self.read_blocks(ino, offset, buffer.get_mut(..there).unwrap_or_default())?;
        Ok(there)
    }

    /// Fills `buffer` from the blocks of an inode, whatever its length.
    pub(super) fn read_blocks(&mut self, ino: u32, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let kind = self.inode(ino)?.content();
        let mut rest = buffer;
        for Piece { block, from, bytes } in pieces(offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(bytes);
            rest = behind;
            self.read_piece(Owner { ino, kind, offset: block }, from, part)?;
        }
        Ok(())
    }

    fn read_piece(&mut self, owner: Owner, from: usize, into: &mut [u8]) -> Result<()> {
        if let Some(kept) = self.buffer.as_ref().filter(|kept| kept.owner == owner) {
            into.copy_from_slice(&kept.bytes[from..from + into.len()]);
            return Ok(());
        }
        let Some(bytes) = self.index.read_data(owner)? else {
            into.fill(0);
            return Ok(());
        };
        into.copy_from_slice(&bytes[from..from + into.len()]);
        // Where only a part was wanted, the next one may be soon.
        if into.len() < BLOCK_BYTES && self.buffer.as_ref().is_none_or(|kept| !kept.dirty) {
            self.buffer = Some(Buffer { owner, bytes, dirty: false });
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file(ino)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > SIZE_MAX) {
            return Err(Errno::FileTooBig.into());
        }
        self.writable()?;
        let new = self.missing(ino, offset, bytes.len())?;
        self.admit(if new > 0 { new + new / POINTERS + 4 } else { 0 })?;
        let first = usize::try_from(BYTES - offset % BYTES).unwrap_or(BLOCK_BYTES);
        let at_once = self.at_once() as usize * BLOCK_BYTES;
        let mut done = 0;
        while done < bytes.len() {
            // Each part but the first begins with a block.
            let end = if done == 0 { first + at_once - BLOCK_BYTES } else { done + at_once }.min(bytes.len());
            let (at, part) = (offset + done as u64, &bytes[done..end]);
            self.change(self.at_once() + 8, 0, |volume| volume.write_part(ino, at, part))?;
            done = end;
        }
        Ok(())
    }

    /// The number of blocks of a range that are not there yet.
    fn missing(&mut self, ino: u32, offset: u64, length: usize) -> Result<u32> {
        let mut new = 0;
        for Piece { block, .. } in pieces(offset, length) {
            new += u32::from(self.index.address(data(ino, block))? == Addr::NONE);
        }
        Ok(new)
    }

    fn write_part(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for piece in pieces(offset, bytes.len()) {
            let (part, behind) = rest.split_at(piece.bytes);
            rest = behind;
            let owner = data(ino, piece.block);
            if part.len() == BLOCK_BYTES {
                self.buffer.take_if(|kept| kept.owner == owner);
                self.index.write(owner, part)?;
                continue;
            }
            self.fill(owner, piece.from, part)?;
            // Full of new data: written at once.
            if piece.from + piece.bytes == BLOCK_BYTES {
                self.flush_buffer()?;
            }
        }
        let mut inode = self.inode(ino)?;
        inode.size = inode.size.max(offset + bytes.len() as u64);
        self.touch(ino, inode)
    }

    /// Changes a part of a block in the buffer.
    fn fill(&mut self, owner: Owner, from: usize, part: &[u8]) -> Result<()> {
        if self.buffer.as_ref().is_none_or(|kept| kept.owner != owner) {
            self.flush_buffer()?;
            let bytes = if let Some(bytes) = self.index.read_data(owner)? {
                bytes
            } else {
                self.index.set_address(owner, Addr::PENDING)?;
                vec![0; BLOCK_BYTES]
            };
            self.buffer = Some(Buffer { owner, bytes, dirty: false });
        }
        if let Some(kept) = &mut self.buffer {
            kept.bytes[from..from + part.len()].copy_from_slice(part);
            kept.dirty = true;
        }
        Ok(())
    }

    /// Writes the buffer if it holds something new.
    pub(super) fn flush_buffer(&mut self) -> Result<()> {
        if let Some(kept) = &mut self.buffer
            && kept.dirty
        {
            self.index.write(kept.owner, &kept.bytes)?;
            kept.dirty = false;
        }
        Ok(())
    }

    /// Drops the buffer of an inode.
    pub(super) fn forget_buffer(&mut self, ino: u32) {
        self.buffer.take_if(|kept| kept.owner.ino == ino);
    }

    /// Notes a change of content.
    pub(super) fn touch(&mut self, ino: u32, mut inode: Inode) -> Result<()> {
        inode.blocks = self.inode(ino)?.blocks;
        (inode.times[1], inode.times[2]) = (self.now(), self.now());
        self.index.set_inode(ino, &inode)
    }

    pub(crate) fn set_attr(&mut self, ino: u32, change: &SetAttr) -> Result<Inode> {
        let inode = self.inode(ino)?;
        match (change.size, inode.kind) {
            (Some(_), FileKind::Dir) => return Err(Errno::IsDir.into()),
            (Some(size), FileKind::File) if size > SIZE_MAX => return Err(Errno::FileTooBig.into()),
            (None, _) | (_, FileKind::File) => {}
            _ => return Err(Errno::Invalid.into()),
        }
        if *change == SetAttr::default() {
            return Ok(inode);
        }
        self.change(8, 0, |volume| {
            if let Some(size) = change.size {
                volume.resize(ino, size)?;
            }
            let mut inode = volume.inode(ino)?;
            inode.perm = change.perm.map_or(inode.perm, |perm| perm & 0o7777);
            inode.uid = change.uid.unwrap_or(inode.uid);
            inode.gid = change.gid.unwrap_or(inode.gid);
            let now = volume.now();
            let [atime, mtime, ctime, _] = &mut inode.times;
            *atime = change.atime.unwrap_or(*atime);
            *mtime = change.mtime.unwrap_or(*mtime);
            *ctime = change.ctime.unwrap_or(now);
            volume.index.set_inode(ino, &inode)?;
            Ok(inode)
        })
    }

    fn resize(&mut self, ino: u32, size: u64) -> Result<()> {
        let old = self.inode(ino)?.size;
        if size < old {
            self.clear(ino, size, old)?;
            self.index.punch(ino, Kind::Data, number_of(size.div_ceil(BYTES) * BYTES), BLOCKS_MAX)?;
        }
        let mut inode = self.inode(ino)?;
        inode.size = size;
        self.touch(ino, inode)
    }

    /// Makes a range read as zeros: whole blocks become holes. The range ends within [`SIZE_MAX`].
    fn clear(&mut self, ino: u32, from: u64, to: u64) -> Result<()> {
        let (first, last) = (number_of(from.div_ceil(BYTES) * BYTES), number_of(to));
        for (start, end) in
            [(from, to.min(u64::from(first) * BYTES)), (from.max(u64::from(last) * BYTES), to)]
        {
            let length = usize::try_from(end.saturating_sub(start)).unwrap_or(BLOCK_BYTES);
            for Piece { block, from, bytes } in pieces(start, length.min(BLOCK_BYTES)) {
                let owner = data(ino, block);
                if self.index.address(owner)? != Addr::NONE {
                    self.fill(owner, from, &vec![0; bytes])?;
                }
            }
        }
        let gone = first..last.max(first);
        self.buffer.take_if(|kept| kept.owner.ino == ino && gone.contains(&kept.owner.offset));
        self.index.punch(ino, Kind::Data, gone.start, gone.end)
    }

    pub(crate) fn allocate(&mut self, ino: u32, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let inode = self.file(ino)?;
        if length == 0 {
            return Err(Errno::Invalid.into());
        }
        let end = offset.checked_add(length).filter(|end| *end <= SIZE_MAX);
        let end = end.ok_or(Errno::FileTooBig)?;
        self.change(8, 0, |volume| {
            let size = inode.size;
            let (clears, grows) = match mode {
                SpaceMode::Reserve { keep_size } => (false, !keep_size),
                SpaceMode::PunchHole => (true, false),
                SpaceMode::Zero { keep_size } => (true, !keep_size),
            };
            if clears && offset < size {
                volume.clear(ino, offset, end.min(size.next_multiple_of(BYTES)))?;
            }
            let mut inode = volume.inode(ino)?;
            if grows {
                inode.size = size.max(end);
            }
            volume.touch(ino, inode)
        })
    }

    pub(crate) fn seek(&mut self, ino: u32, offset: u64, what: Seek) -> Result<u64> {
        let size = self.file(ino)?.size;
        if offset >= size {
            return Err(Errno::NoAddress.into());
        }
        let end = number_of(size.div_ceil(BYTES) * BYTES);
        let found = self.index.next_block(ino, number_of(offset), end, what == Seek::Data)?;
        match what {
            Seek::Data if found == end => Err(Errno::NoAddress.into()),
            Seek::Data => Ok(offset.max(u64::from(found) * BYTES)),
            Seek::Hole => Ok(offset.max(u64::from(found) * BYTES).min(size)),
        }
    }
}
