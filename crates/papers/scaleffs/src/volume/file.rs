//! Section 4.1: read and write. A block of data is written as soon as it is full; a part of one waits in the one
//! buffer.

use core::ops::Range;

use pumice_common::{Content, Cover, Inodes, Piece, pieces};
use pumice_vfs::{Result, SetAttr};

use super::{Buffer, Volume};
use crate::inode::{BLOCKS_MAX, Inode};
use crate::layout::{Addr, BLOCK_BYTES, POINTERS};
use crate::spare::{Kind, Owner};

const BYTES: u64 = BLOCK_BYTES as u64;
/// Bytes that a file may have.
const SIZE_MAX: u64 = BLOCKS_MAX as u64 * BYTES;

/// The number of the block that holds a byte; it has three bytes.
fn number_of(offset: u64) -> u32 {
    pumice_common::number_of(BLOCK_BYTES, offset)
}

fn data(ino: u32, block: u32) -> Owner {
    Owner { ino, kind: Kind::Data, offset: block }
}

impl Content for Volume<'_> {
    fn block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    fn size_max(&self) -> u64 {
        SIZE_MAX
    }

    fn fill(&mut self, ino: u32, _inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_blocks(ino, offset, buffer)
    }

    fn put_bytes(&mut self, ino: u32, _inode: Inode, offset: u64, bytes: &[u8]) -> Result<()> {
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

    fn apply(&mut self, ino: u32, _inode: Inode, change: &SetAttr) -> Result<Inode> {
        self.change(8, 0, |volume| {
            if let Some(size) = change.size {
                volume.resize(ino, size)?;
            }
            let mut inode = volume.inode(ino)?;
            inode.change(change, volume.now());
            volume.index.set_inode(ino, &inode)?;
            Ok(inode)
        })
    }

    fn cover(&mut self, ino: u32, inode: Inode, cover: Cover, range: Range<u64>) -> Result<()> {
        self.change(8, 0, |volume| {
            let size = inode.size;
            if cover.clears && range.start < size {
                volume.clear(ino, range.start, range.end.min(size.next_multiple_of(BYTES)))?;
            }
            let mut inode = volume.inode(ino)?;
            if cover.grows {
                inode.size = size.max(range.end);
            }
            volume.touch(ino, inode)
        })
    }

    fn next_block(&mut self, ino: u32, _inode: &Inode, range: Range<u32>, there: bool) -> Result<u32> {
        self.index.next_block(ino, range.start, range.end, there)
    }
}

impl Volume<'_> {
    /// Fills `buffer` from the blocks of an inode, whatever its length.
    pub(super) fn read_blocks(&mut self, ino: u32, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let kind = self.inode(ino)?.content();
        let mut rest = buffer;
        for Piece { number: block, from, bytes } in pieces(BLOCK_BYTES, offset, rest.len()) {
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

    /// The number of blocks of a range that are not there yet.
    fn missing(&mut self, ino: u32, offset: u64, length: usize) -> Result<u32> {
        let mut new = 0;
        for Piece { number: block, .. } in pieces(BLOCK_BYTES, offset, length) {
            new += u32::from(self.index.address(data(ino, block))? == Addr::NONE);
        }
        Ok(new)
    }

    fn write_part(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for piece in pieces(BLOCK_BYTES, offset, bytes.len()) {
            let (part, behind) = rest.split_at(piece.bytes);
            rest = behind;
            let owner = data(ino, piece.number);
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
        inode.touch(self.now());
        self.index.set_inode(ino, &inode)
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
            for Piece { number: block, from, bytes } in pieces(BLOCK_BYTES, start, length.min(BLOCK_BYTES)) {
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
}
