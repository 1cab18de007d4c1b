//! Section 4: read and write. Bytes wait in chunks of 4 KiB in memory; all of it is zeros that no chunk has.

use pumice_vfs::{Errno, FileKind, Result, Seek, SetAttr, SpaceMode};

use super::Volume;
use crate::error::damaged;
use crate::inode::Inode;
use crate::layout::CHUNK_BYTES;
use crate::mutree::{CHUNKS, Key};

const BYTES: u64 = CHUNK_BYTES as u64;
/// Bytes that a file may have: its chunks are counted in 31 bits.
const SIZE_MAX: u64 = CHUNKS * BYTES;

/// A part of one chunk: which, from where in it, and how many bytes.
struct Piece {
    number: u64,
    from: usize,
    bytes: usize,
}

/// The parts of chunks that a range covers.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Piece> {
    let (mut at, mut left) = (offset, length);
    core::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let from = usize::try_from(at % BYTES).ok()?;
        let bytes = left.min(CHUNK_BYTES - from);
        let piece = Piece { number: at / BYTES, from, bytes };
        at += bytes as u64;
        left -= bytes;
        Some(piece)
    })
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
        self.read_chunks(ino, offset, buffer.get_mut(..there).unwrap_or_default())?;
        Ok(there)
    }

    /// Fills `buffer` from the chunks of an inode, whatever its length.
    pub(super) fn read_chunks(&mut self, ino: u32, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut rest = buffer;
        for Piece { number, from, bytes } in pieces(offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(bytes);
            rest = behind;
            let chunk = self.chunk(Key::data(ino, number))?.unwrap_or_default();
            let there = chunk.len().saturating_sub(from).min(bytes);
            part[..there].copy_from_slice(&chunk[chunk.len().min(from)..][..there]);
            part[there..].fill(0);
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, ino: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let size = self.file(ino)?.size;
        if bytes.is_empty() {
            return Ok(());
        }
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > SIZE_MAX) {
            return Err(Errno::FileTooBig.into());
        }
        let more = self.growth(ino, size, (offset, bytes.len()))?;
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

    /// Bytes by which a write makes a file larger on flash, if nothing can be compressed.
    fn growth(&mut self, ino: u32, size: u64, (offset, length): (u64, usize)) -> Result<usize> {
        let mut more = 0;
        for Piece { number, from, bytes } in pieces(offset, length) {
            let there = match self.dirty.get(Key::data(ino, number)) {
                Some(changed) => changed.bytes.as_ref().map_or(0, Vec::len),
                None => self.stored_bytes(Key::data(ino, number))?,
            };
            // A chunk that is there keeps its end.
            let end = if there > 0 { size.saturating_sub(number * BYTES).min(BYTES) } else { 0 };
            more += usize::try_from(end).unwrap_or(CHUNK_BYTES).max(from + bytes).saturating_sub(there);
        }
        Ok(more)
    }

    fn write_part(&mut self, ino: u32, inode: &mut Inode, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for piece in pieces(offset, bytes.len()) {
            let (part, behind) = rest.split_at(piece.bytes);
            rest = behind;
            let key = Key::data(ino, piece.number);
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
        (inode.times[1], inode.times[2]) = (self.now(), self.now());
        self.put_inode(ino, &inode)
    }

    pub(crate) fn set_attr(&mut self, ino: u32, change: &SetAttr) -> Result<Inode> {
        let mut inode = self.inode(ino)?;
        match (change.size, inode.kind) {
            (Some(_), FileKind::Dir) => return Err(Errno::IsDir.into()),
            (Some(size), FileKind::File) if size > SIZE_MAX => return Err(Errno::FileTooBig.into()),
            (None, _) | (_, FileKind::File) => {}
            _ => return Err(Errno::Invalid.into()),
        }
        if *change == SetAttr::default() {
            return Ok(inode);
        }
        self.writable()?;
        if let Some(size) = change.size {
            if size < inode.size {
                self.clear(ino, &mut inode, size, SIZE_MAX)?;
            }
            inode.size = size;
            inode.times[1] = self.now();
        }
        inode.perm = change.perm.map_or(inode.perm, |perm| perm & 0o7777);
        inode.uid = change.uid.unwrap_or(inode.uid);
        inode.gid = change.gid.unwrap_or(inode.gid);
        let now = self.now();
        let [atime, mtime, ctime, _] = &mut inode.times;
        *atime = change.atime.unwrap_or(*atime);
        *mtime = change.mtime.unwrap_or(*mtime);
        *ctime = change.ctime.unwrap_or(now);
        self.put_inode(ino, &inode)?;
        self.write_back()?;
        Ok(inode)
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

    pub(crate) fn allocate(&mut self, ino: u32, mode: SpaceMode, offset: u64, length: u64) -> Result<()> {
        let mut inode = self.file(ino)?;
        if length == 0 {
            return Err(Errno::Invalid.into());
        }
        let end = offset.checked_add(length).filter(|end| *end <= SIZE_MAX).ok_or(Errno::FileTooBig)?;
        self.writable()?;
        let (clears, grows) = match mode {
            SpaceMode::Reserve { keep_size } => (false, !keep_size),
            SpaceMode::PunchHole => (true, false),
            SpaceMode::Zero { keep_size } => (true, !keep_size),
        };
        if clears {
            self.clear(ino, &mut inode, offset, end)?;
        }
        if grows {
            inode.size = inode.size.max(end);
        }
        self.touch(ino, inode)?;
        self.write_back()
    }

    pub(crate) fn seek(&mut self, ino: u32, offset: u64, what: Seek) -> Result<u64> {
        let size = self.file(ino)?.size;
        if offset >= size {
            return Err(Errno::NoAddress.into());
        }
        let mut number = offset / BYTES;
        loop {
            let found = self.next_key(Key::data(ino, number))?;
            let found = found.filter(|key| key.ino() == ino && !key.is_metadata()).map(Key::number);
            match (what, found) {
                (Seek::Data, Some(found)) if found * BYTES < size => return Ok(offset.max(found * BYTES)),
                (Seek::Data, _) => return Err(Errno::NoAddress.into()),
                (Seek::Hole, Some(found)) if found == number => number += 1,
                (Seek::Hole, _) => return Ok(offset.max(number * BYTES).min(size)),
            }
        }
    }
}
