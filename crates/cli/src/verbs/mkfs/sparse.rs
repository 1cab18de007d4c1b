//! Android's sparse format, as fastboot and simg2img take it: a header, then chunks of blocks that are stored, filled with
//! a word, or left as they are (libsparse's `sparse_format.h`, version 1.0). All numbers are little-endian.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
};

use crate::tree::push::next_data;

const MAGIC: u32 = 0xed26_ff3a;
const MAJOR: u16 = 1;
const HEADER_BYTES: u16 = 28;
const CHUNK_BYTES: u16 = 12;
/// The length of a chunk has 32 bits; readers hold a part of it in memory.
const CHUNK_MAX: u64 = 64 << 20;
const COPIED: usize = 1 << 20;

/// The contents of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stored = 0xcac1,
    Zeros = 0xcac2,
    /// The old contents stay.
    Left = 0xcac3,
}

/// A volume as a sparse image. Holes in front of block `kept` must read as zeros; behind it nothing is read that was not
/// written.
pub(super) struct Sparse<'a> {
    raw: &'a File,
    block_bytes: u32,
    blocks: u64,
    kept: u64,
}

impl<'a> Sparse<'a> {
    /// The sparse form of a raw image of so many blocks.
    pub(super) fn new(raw: &'a File, block_bytes: u32, blocks: u64, kept: u64) -> Sparse<'a> {
        Sparse { raw, block_bytes, blocks, kept }
    }

    /// Writes it.
    pub(super) fn write(&self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        out.write_all(&self.header(0)?)?;
        let (mut at, mut chunks) = (0, 0_u32);
        while at < self.blocks {
            let (kind, end) = self.chunk(at)?;
            self.put(kind, at, end, out)?;
            (at, chunks) = (end, chunks + 1);
        }
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&self.header(chunks)?)
    }

    fn header(&self, chunks: u32) -> io::Result<Vec<u8>> {
        let blocks = u32::try_from(self.blocks).map_err(io::Error::other)?;
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        for half in [MAJOR, 0, HEADER_BYTES, CHUNK_BYTES] {
            bytes.extend(half.to_le_bytes());
        }
        for word in [self.block_bytes, blocks, chunks, 0] {
            bytes.extend(word.to_le_bytes());
        }
        Ok(bytes)
    }

    /// The kind of the chunk that begins at block `at`, and where it ends.
    fn chunk(&self, at: u64) -> io::Result<(Kind, u64)> {
        let block = u64::from(self.block_bytes);
        let data = next_data(self.raw, at * block, self.blocks * block)?;
        let (start, end) = data.map_or((self.blocks, self.blocks), |(start, end)| {
            (start / block, end.div_ceil(block).min(self.blocks))
        });
        Ok(if start <= at {
            (Kind::Stored, end.min(at + CHUNK_MAX / block))
        } else if at < self.kept {
            (Kind::Zeros, start.min(self.kept))
        } else {
            (Kind::Left, start)
        })
    }

    fn put(&self, kind: Kind, at: u64, end: u64, out: &mut impl Write) -> io::Result<()> {
        let block = u64::from(self.block_bytes);
        let blocks = u32::try_from(end - at).map_err(io::Error::other)?;
        let data = match kind {
            Kind::Stored => (end - at) * block,
            Kind::Zeros => 4,
            Kind::Left => 0,
        };
        let all = u32::try_from(data + u64::from(CHUNK_BYTES)).map_err(io::Error::other)?;
        out.write_all(&(kind as u16).to_le_bytes())?;
        out.write_all(&[0; 2])?;
        out.write_all(&blocks.to_le_bytes())?;
        out.write_all(&all.to_le_bytes())?;
        match kind {
            Kind::Stored => self.copy(at * block, end * block, out),
            Kind::Zeros => out.write_all(&[0; 4]),
            Kind::Left => Ok(()),
        }
    }

    fn copy(&self, mut at: u64, end: u64, out: &mut impl Write) -> io::Result<()> {
        let mut buffer = vec![0; COPIED];
        while at < end {
            let length = usize::try_from(end - at).map_or(COPIED, |rest| rest.min(COPIED));
            let part = buffer.get_mut(..length).unwrap_or_default();
            self.raw.read_exact_at(part, at)?;
            out.write_all(part)?;
            at += length as u64;
        }
        Ok(())
    }
}
