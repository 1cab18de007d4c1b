//! Section 3.4: chunks of several files packed back to back into pages, and their compression.
//!
//! A chunk has 4,096 bytes of a file, or less at its end; an inode; or up to 32 entries of a directory. Chunks lie over
//! the pages of one erase block, compressed (LZ4 block, no header) or as they are.

use std::collections::VecDeque;

use pumice_common::damaged;
use pumice_vfs::Result;

use crate::layout::{Addr, CHUNK_MAX, count};
use crate::mutree::{Key, Place};

/// A chunk on its way to flash.
#[derive(Clone)]
pub(crate) struct Chunk {
    pub(crate) key: Key,
    pub(crate) bytes: Vec<u8>,
    pub(crate) packed: bool,
}

impl Chunk {
    /// A chunk, compressed if that makes it smaller.
    pub(crate) fn new(key: Key, bytes: Vec<u8>, compress: bool) -> Chunk {
        if compress {
            let smaller = lz4_flex::block::compress(&bytes);
            if smaller.len() < bytes.len() {
                return Chunk { key, bytes: smaller, packed: true };
            }
        }
        Chunk { key, bytes, packed: false }
    }
}

/// The contents of a chunk.
pub(crate) fn unpacked(stored: Vec<u8>, packed: bool) -> Result<Vec<u8>> {
    if !packed {
        return Ok(stored);
    }
    let found = lz4_flex::block::decompress(&stored, CHUNK_MAX);
    found.map_err(|error| damaged(format_args!("a chunk cannot be decompressed: {error}")))
}

/// A chunk in the write buffer or in pages before it, as long as not all of it is programmed.
struct Pending {
    chunk: Chunk,
    page: Addr,
    offset: u16,
}

/// The write buffer: a page that is filled with chunks (section 4).
pub(crate) struct Packer {
    page_bytes: usize,
    buffer: Vec<u8>,
    pending: VecDeque<Pending>,
}

impl Packer {
    pub(crate) fn new(page_bytes: usize) -> Packer {
        Packer { page_bytes, buffer: Vec::new(), pending: VecDeque::new() }
    }

    /// Bytes in the buffer.
    pub(crate) fn filled(&self) -> usize {
        self.buffer.len()
    }

    /// Chunks that are not placed yet.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Begins a chunk at the end of the buffer, which will be programmed at `page`.
    pub(crate) fn begin(&mut self, chunk: Chunk, page: Addr) {
        debug_assert!(self.buffer.len() < self.page_bytes, "a full buffer is programmed");
        let offset = u16::try_from(self.buffer.len()).unwrap_or(u16::MAX);
        self.pending.push_back(Pending { chunk, page, offset });
    }

    /// Adds the newest chunk, from a byte of it on, as far as there is room; returns how many bytes.
    pub(crate) fn fill(&mut self, from: usize) -> usize {
        let Some(newest) = self.pending.back() else { return 0 };
        let rest = &newest.chunk.bytes[from..];
        let bytes = rest.len().min(self.page_bytes - self.buffer.len());
        self.buffer.extend_from_slice(&rest[..bytes]);
        bytes
    }

    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() == self.page_bytes
    }

    /// The page to be programmed: the buffer, filled up with zeros.
    pub(crate) fn page(&mut self) -> Vec<u8> {
        let mut page = core::mem::take(&mut self.buffer);
        page.resize(self.page_bytes, 0);
        page
    }

    /// The page at an address was programmed; tells which chunks end there, and where they are.
    pub(crate) fn programmed(&mut self, at: Addr) -> Vec<(Key, Place)> {
        let mut placed = Vec::new();
        while let Some(first) = self.pending.front() {
            let bytes = first.chunk.bytes.len();
            let end = usize::from(first.offset) + bytes;
            if first.page.0 + count(end.div_ceil(self.page_bytes)) > at.0 + 1 {
                break;
            }
            let place = Place {
                page: first.page,
                offset: first.offset,
                bytes: u16::try_from(bytes).unwrap_or(u16::MAX),
                packed: first.chunk.packed,
            };
            placed.push((first.chunk.key, place));
            self.pending.pop_front();
        }
        placed
    }

    /// The page failed: all chunks that have a part of it, in order, to be put in again.
    pub(crate) fn failed(&mut self) -> Vec<Chunk> {
        self.buffer.clear();
        self.pending.drain(..).map(|pending| pending.chunk).collect()
    }
}
