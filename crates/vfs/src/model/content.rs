//! The bytes of a regular file: blocks that hold data, blocks that are only reserved, and holes.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::{Errno, Result, Seek};

/// Largest file, in bytes: the reach of a signed 64-bit offset.
const MAX_BYTES: u64 = i64::MAX.unsigned_abs();

/// A sparse file. A block missing from `blocks` is a hole, `None` is reserved, `Some` holds data.
///
/// Blocks behind the end are reserved ones only, and the bytes between the end and the end of its block are zero.
pub(super) struct Content {
    size: u64,
    block_bytes: u64,
    blocks: BTreeMap<u64, Option<Box<[u8]>>>,
}

/// The part of a range that lies in one block.
struct Piece {
    block: u64,
    /// First byte, counted from the start of the block.
    at: usize,
    /// First byte, counted from the start of the range.
    from: usize,
    len: usize,
}

impl Content {
    pub(super) fn new(block_bytes: u32) -> Content {
        Content { size: 0, block_bytes: u64::from(block_bytes), blocks: BTreeMap::new() }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Blocks taken, reserved ones too.
    pub(super) fn block_count(&self) -> u64 {
        self.blocks.len() as u64
    }

    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let len = small(self.size.saturating_sub(offset)).min(buffer.len());
        for piece in pieces(self.block_bytes, offset, len) {
            let to = &mut buffer[piece.from..piece.from + piece.len];
            match self.blocks.get(&piece.block) {
                Some(Some(data)) => to.copy_from_slice(&data[piece.at..piece.at + piece.len]),
                _ => to.fill(0),
            }
        }
        len
    }

    /// The caller has checked the range with [`end_of_range`].
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        let block_bytes = small(self.block_bytes);
        for piece in pieces(self.block_bytes, offset, data.len()) {
            let block = self.blocks.entry(piece.block).or_default();
            let block = block.get_or_insert_with(|| vec![0; block_bytes].into_boxed_slice());
            block[piece.at..piece.at + piece.len].copy_from_slice(&data[piece.from..piece.from + piece.len]);
        }
        self.grow(offset + data.len() as u64);
    }

    /// Makes the file end at `size`; blocks wholly behind it go, reserved ones too.
    pub(super) fn set_size(&mut self, size: u64) {
        let _behind = self.blocks.split_off(&size.div_ceil(self.block_bytes));
        if let Some(Some(last)) = self.blocks.get_mut(&(size / self.block_bytes)) {
            last[small(size % self.block_bytes)..].fill(0);
        }
        self.size = size;
    }

    /// Makes the file at least `size` long, with a hole.
    pub(super) fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// The number of blocks that the file would gain if all of `start..end` were allocated.
    pub(super) fn missing(&self, start: u64, end: u64) -> u64 {
        let (first, behind) = self.block_range(start, end);
        (behind - first) - self.blocks.range(first..behind).count() as u64
    }

    pub(super) fn reserve(&mut self, start: u64, end: u64) {
        let (first, behind) = self.block_range(start, end);
        for block in first..behind {
            self.blocks.entry(block).or_default();
        }
    }

    /// Makes `start..end` read as zeros; whole blocks are given back.
    pub(super) fn punch(&mut self, start: u64, end: u64) {
        let (first, behind) = self.block_range(start, end);
        let present: Vec<u64> = self.blocks.range(first..behind).map(|(block, _)| *block).collect();
        for block in present {
            let block_start = block * self.block_bytes;
            let from = start.max(block_start) - block_start;
            let to = end.min(block_start + self.block_bytes) - block_start;
            if to - from == self.block_bytes {
                self.blocks.remove(&block);
            } else if let Some(Some(data)) = self.blocks.get_mut(&block) {
                data[small(from)..small(to)].fill(0);
            }
        }
    }

    pub(super) fn seek(&self, offset: u64, what: Seek) -> Result<u64> {
        if offset >= self.size {
            return Err(Errno::NoAddress.into());
        }
        let (first, behind) = self.block_range(offset, self.size);
        let holds_data = |block: u64| matches!(self.blocks.get(&block), Some(Some(_)));
        let found = match what {
            Seek::Data => {
                self.blocks.range(first..).find(|(_, data)| data.is_some()).map(|(block, _)| *block)
            }
            Seek::Hole => (first..behind).find(|block| !holds_data(*block)).or(Some(behind)),
        };
        let position = found.ok_or(Errno::NoAddress)?.saturating_mul(self.block_bytes).max(offset);
        Ok(position.min(self.size))
    }

    /// The first block of a range that is not empty, and the one behind its last.
    fn block_range(&self, start: u64, end: u64) -> (u64, u64) {
        (start / self.block_bytes, end.div_ceil(self.block_bytes))
    }
}

/// The end of a range of a file, or [`Errno::FileTooBig`] if no file reaches that far.
pub(super) fn end_of_range(offset: u64, length: u64) -> Result<u64> {
    match offset.checked_add(length) {
        Some(end) if end <= MAX_BYTES => Ok(end),
        _ => Err(Errno::FileTooBig.into()),
    }
}

fn pieces(block_bytes: u64, offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let mut from = 0;
    core::iter::from_fn(move || {
        if from == len {
            return None;
        }
        let position = offset + from as u64;
        let at = position % block_bytes;
        let piece = Piece {
            block: position / block_bytes,
            at: small(at),
            from,
            len: small(block_bytes - at).min(len - from),
        };
        from += piece.len;
        Some(piece)
    })
}

/// A number of bytes in memory; a number that does not fit is never smaller than any buffer.
fn small(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
