//! The content of files, from their source to blocks.

use crate::word::{half, word};
use std::ops::Range;

use super::{
    FormatError,
    mapper::{Mapped, Mapper},
    tree::Content,
};
use crate::{
    layout::{Inode, Summary},
    write::{Writer, head::Log},
};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Why content could not be written: the source, or everything else.
pub(super) enum Failed {
    Source(std::io::Error),
    Format(FormatError),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed::Source(error)
    }
}

impl<E: Into<FormatError>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Format(error.into())
    }
}

/// Puts blocks where they go, one run after the other.
pub(super) struct Filler {
    mapper: Mapper,
    log: Log,
    width: usize,
}

impl Filler {
    pub(super) fn new(writer: &Writer, inode: &Inode, log: Log) -> Filler {
        let size = writer.super_block().block();
        Filler { mapper: Mapper::new(inode, size), log, width: size.width() }
    }

    /// Writes whole blocks, the first of which is block `index` of the file.
    pub(super) fn put(
        &mut self,
        writer: &mut Writer,
        mut index: u32,
        mut blocks: &[u8],
    ) -> Result<(), FormatError> {
        while !blocks.is_empty() {
            let (owner, in_node) = self.mapper.owner(writer, index)?;
            let (_, in_segment) = writer.next(self.log);
            let left = word(blocks.len() / self.width);
            let count = left.min(in_node).min(in_segment);
            let (part, rest) = blocks.split_at(count as usize * self.width);
            let first = owner.offset;
            let owners = (0..count as usize)
                .map(|ahead| Summary { offset: first.saturating_add(half(ahead)), ..owner });
            let addr = writer.append_data(self.log, part, owners)?;
            self.mapper.set(index, owner, addr, count);
            index += count;
            blocks = rest;
        }
        Ok(())
    }

    pub(super) fn finish(self, writer: &mut Writer) -> Result<Mapped, FormatError> {
        self.mapper.finish(writer)
    }
}

/// Where a file's data are: all of it, or what its source says, in whole blocks.
pub(super) struct Ranges {
    size: u64,
    sparse: bool,
    block: u64,
    at: u64,
}

impl Ranges {
    pub(super) fn new(size: u64, sparse: bool, block: u64) -> Ranges {
        Ranges { size, sparse, block, at: 0 }
    }

    /// The next range; it begins at a block, and ends at one or at the end of the file.
    pub(super) fn next(&mut self, content: &mut dyn Content) -> std::io::Result<Option<Range<u64>>> {
        if self.at >= self.size {
            return Ok(None);
        }
        let (start, end) = if self.sparse {
            match content.next_data(self.at)? {
                Some((start, end)) => (start.max(self.at) / self.block * self.block, end),
                None => return Ok(None),
            }
        } else {
            (self.at, self.size)
        };
        let (start, end) = (start.max(self.at), end.next_multiple_of(self.block).min(self.size));
        self.at = end.next_multiple_of(self.block);
        Ok((start < end).then_some(start..end))
    }
}

/// Reads a file range by range and writes it. Without `read` zeros stand for its content, as where only places matter.
pub(super) fn copy(
    writer: &mut Writer,
    filler: &mut Filler,
    content: &mut dyn Content,
    mut ranges: Ranges,
    read: bool,
    buffer: &mut Vec<u8>,
) -> Result<(), Failed> {
    let block = ranges.block;
    buffer.resize(CHUNK, 0);
    while let Some(range) = ranges.next(content)? {
        let mut at = range.start;
        while at < range.end {
            let want = usize::try_from(range.end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let (place, _) = buffer.split_at_mut(want.next_multiple_of(filler.width));
            if read {
                let (data, rest) = place.split_at_mut(want);
                content.read(at, data)?;
                rest.fill(0);
            }
            // No file reaches so far: the mapper refuses it by name.
            let index = u32::try_from(at / block).unwrap_or(u32::MAX);
            filler.put(writer, index, place)?;
            at += want as u64;
        }
    }
    Ok(())
}
