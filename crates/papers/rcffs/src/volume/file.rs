//! Section 4: read and write. Bytes wait in chunks of 4 KiB in memory; all of it is zeros that no chunk has.

use core::ops::Range;

use pumice_common::{Content, Cover, Inodes, Piece, damaged, pieces};
use pumice_vfs::{Errno, Result, SetAttr};

use super::Volume;
use crate::inode::Inode;
use crate::layout::CHUNK_BYTES;
use crate::mutree::{CHUNKS, Key};

const BYTES: u64 = CHUNK_BYTES as u64;
/// Bytes that a file may have: its chunks are counted in 31 bits.
const SIZE_MAX: u64 = CHUNKS * BYTES;

impl Content for Volume<'_> {
    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn size_max(&self) -> u64 {
        SIZE_MAX
    }

    fn fill(&mut self, ino: u32, _inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut rest = buffer;
        for Piece { number, from, bytes } in pieces(CHUNK_BYTES, offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(bytes);
            rest = behind;
            let chunk = self.chunk(Key::data(ino, number.into()))?.unwrap_or_default();
            let there = chunk.len().saturating_sub(from).min(bytes);
            part[..there].copy_from_slice(&chunk[chunk.len().min(from)..][..there]);
            part[there..].fill(0);
        }
        Ok(())
    }

    fn put_bytes(&mut self, ino: u32, inode: Inode, offset: u64, bytes: &[u8]) -> Result<()> {
        let more = self.growth(ino, inode.size, (offset, bytes.len()))?;
        self.admit(more)?;
        // A call of more is written back part by part.
        let at_once = usize::try_from(self.dirty_max() / 2 / BYTES * BYTES).unwrap_or(CHUNK_BYTES);
        for (number, part) in bytes.chunks(at_once.max(CHUNK_BYTES)).enumerate() {
            let at = offset + (number * at_once.max(CHUNK_BYTES)) as u64;
            let mut inode = self.inode(ino)?;
            self.write_part(ino, &mut inode, at, part)?;
            inode.size = inode.size.max(at + part.len() as u64);
            self.touch(ino, inode)?;
            self.write_back()?;
        }
        Ok(())
    }

    fn apply(&mut self, ino: u32, mut inode: Inode, change: &SetAttr) -> Result<Inode> {
        if let Some(size) = change.size {
            if size < inode.size {
                self.clear(ino, &mut inode, size, SIZE_MAX)?;
            }
            inode.size = size;
            inode.times[1] = self.now();
        }
        inode.change(change, self.now());
        self.put_inode(ino, &inode)?;
        self.write_back()?;
        Ok(inode)
    }

    fn cover(&mut self, ino: u32, mut inode: Inode, cover: Cover, range: Range<u64>) -> Result<()> {
        if cover.clears {
            self.clear(ino, &mut inode, range.start, range.end)?;
        }
        if cover.grows {
            inode.size = inode.size.max(range.end);
        }
        self.touch(ino, inode)?;
        self.write_back()
    }

    fn next_block(&mut self, ino: u32, _inode: &Inode, range: Range<u32>, there: bool) -> Result<u32> {
        for number in range.clone() {
            let found = self.next_key(Key::data(ino, number.into()))?;
            let found = found.filter(|key| key.ino() == ino && !key.is_metadata()).map(Key::number);
            let next = found.and_then(|found| u32::try_from(found).ok()).unwrap_or(range.end).min(range.end);
            if there || next != number {
                return Ok(if there { next } else { number });
            }
        }
        Ok(range.end)
    }
}

impl Volume<'_> {
    /// Bytes by which a write makes a file larger on flash, if nothing can be compressed.
    fn growth(&mut self, ino: u32, size: u64, (offset, length): (u64, usize)) -> Result<usize> {
        let mut more = 0;
        for Piece { number, from, bytes } in pieces(CHUNK_BYTES, offset, length) {
            let there = match self.dirty.get(Key::data(ino, number.into())) {
                Some(changed) => changed.bytes.as_ref().map_or(0, Vec::len),
                None => self.stored_bytes(Key::data(ino, number.into()))?,
            };
            // A chunk that is there keeps its end.
            let end = if there > 0 { size.saturating_sub(u64::from(number) * BYTES).min(BYTES) } else { 0 };
            more += usize::try_from(end).unwrap_or(CHUNK_BYTES).max(from + bytes).saturating_sub(there);
        }
        Ok(more)
    }

    fn write_part(&mut self, ino: u32, inode: &mut Inode, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for piece in pieces(CHUNK_BYTES, offset, bytes.len()) {
            let (part, behind) = rest.split_at(piece.bytes);
            rest = behind;
            let key = Key::data(ino, piece.number.into());
            let is_whole = part.len() == CHUNK_BYTES;
            let is_new = match self.dirty.get(key) {
                Some(changed) => changed.bytes.is_none(),
                None => self.stored_bytes(key)? == 0,
            };
            let mut chunk =
                if is_whole || is_new { Vec::new() } else { self.chunk(key)?.unwrap_or_default() };
            if chunk.len() < piece.from + part.len() {
                chunk.resize(piece.from + part.len(), 0);
            }
            chunk[piece.from..piece.from + part.len()].copy_from_slice(part);
            inode.chunks = inode.chunks.checked_add(u32::from(is_new)).ok_or(Errno::FileTooBig)?;
            self.put(key, Some(chunk))?;
        }
        Ok(())
    }

    /// Notes a change of content.
    fn touch(&mut self, ino: u32, mut inode: Inode) -> Result<()> {
        inode.touch(self.now());
        self.put_inode(ino, &inode)
    }

    /// Makes a range read as zeros: chunks that it covers go, the ends of others are cut or filled.
    fn clear(&mut self, ino: u32, inode: &mut Inode, from: u64, to: u64) -> Result<()> {
        let mut at = Key::data(ino, from / BYTES);
        let last = (to - 1) / BYTES;
        while let Some(key) = self.next_key(at)?.filter(|key| *key <= Key::data(ino, last)) {
            let start = key.number() * BYTES;
            let within = |offset: u64| usize::try_from(offset.saturating_sub(start).min(BYTES));
            let (begin, end) = (within(from).unwrap_or(0), within(to).unwrap_or(CHUNK_BYTES));
            let left = if begin == 0 && end == CHUNK_BYTES {
                None
            } else {
                let mut chunk = self.chunk(key)?.unwrap_or_default();
                if end >= chunk.len() {
                    chunk.truncate(begin);
                } else {
                    chunk[begin..end].fill(0);
                }
                (!chunk.is_empty()).then_some(chunk)
            };
            let chunks = inode.chunks.checked_sub(u32::from(left.is_none()));
            inode.chunks =
                chunks.ok_or_else(|| damaged(format_args!("inode {ino} counts too few chunks")))?;
            self.put(key, left)?;
            at = key.next();
        }
        Ok(())
    }
}
