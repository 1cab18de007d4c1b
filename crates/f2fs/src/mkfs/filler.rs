//! The blocks of a file on their way to its log, one run after the other.

use super::{
    FormatError,
    mapper::{Mapped, Mapper},
    piece::{Piece, Stretch},
};
use crate::{
    layout::{BlockAddr, Inode, Summary},
    word::{half, word},
    write::{Writer, head::Log},
};

/// Puts blocks where they go, one run after the other.
pub(super) struct Filler {
    mapper: Mapper,
    log: Log,
    width: usize,
    /// Blocks of a cluster, of a compressed file.
    cluster: u32,
    /// Blocks that compression saves, and whether they are given back.
    saved: u64,
    releases: bool,
}

impl Filler {
    pub(super) fn new(writer: &Writer, inode: &Inode, log: Log) -> Filler {
        let size = writer.super_block().block();
        let cluster = inode.cluster_blocks().unwrap_or(1);
        let mapper = Mapper::new(inode, size);
        let log = writer.stream(log);
        Filler { mapper, log, width: size.width(), cluster, saved: 0, releases: false }
    }

    /// Has the room saved by compression given back.
    pub(super) fn release(&mut self) {
        self.releases = true;
    }

    /// Blocks that compression saved.
    pub(super) fn saved(&self) -> u64 {
        self.saved
    }

    /// Writes a piece of a file.
    pub(super) fn piece(&mut self, writer: &mut Writer, piece: &Piece) -> Result<(), FormatError> {
        let (mut index, mut rest) = (piece.index, piece.bytes.as_slice());
        for stretch in &piece.stretches {
            let (Stretch::Blocks(count) | Stretch::Cluster(count)) = *stretch;
            let (now, later) = rest.split_at(count as usize * self.width);
            match stretch {
                Stretch::Blocks(_) => {
                    self.put(writer, index, now)?;
                    index += count;
                }
                Stretch::Cluster(_) => {
                    self.put_cluster(writer, index, now)?;
                    index += self.cluster;
                }
            }
            rest = later;
        }
        Ok(())
    }

    /// Writes a compressed cluster from block `index` of the file on: a mark, its stored blocks, and room kept for the
    /// others.
    fn put_cluster(&mut self, writer: &mut Writer, index: u32, stored: &[u8]) -> Result<(), FormatError> {
        let (owner, _) = self.mapper.owner(writer, index)?;
        let first = u32::from(owner.offset);
        let count = word(stored.len() / self.width);
        debug_assert!(index.is_multiple_of(self.cluster) && count < self.cluster);
        self.mapper.put(owner, first, BlockAddr::COMPRESSED);
        self.put(writer, index + 1, stored)?;
        let saved = self.cluster - count;
        self.saved += u64::from(saved);
        if self.releases {
            return Ok(());
        }
        for slot in first + count + 1..first + self.cluster {
            self.mapper.put(owner, slot, BlockAddr::NEW);
        }
        // The mark counts as a block, too.
        self.mapper.reserve(saved);
        writer.promise_data(saved.into());
        Ok(())
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
            let addr = writer.append_data(self.log, std::iter::once(part), owners)?;
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
