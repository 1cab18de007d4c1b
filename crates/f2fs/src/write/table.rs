//! A table on the medium, NAT or SIT: each of its blocks has two places, and a bit says which of them counts. A checkpoint
//! writes changed blocks to the other place, so that the last checkpoint's stay.

use zerocopy::IntoBytes;

use super::medium::Medium;
use crate::{
    error::Result,
    layout::{BlockAddr, JournalEntries, SuperBlock, journal_bytes},
};

/// The place of a table, and the copy of each block that counts.
pub(crate) struct Table {
    start: BlockAddr,
    /// Blocks of the first copy that stand in a row, with as many of the second behind them.
    run: u32,
    per_block: u32,
    /// A bit for each block, the first the highest of the first byte: 1 for the second copy.
    versions: Vec<u8>,
}

/// Bytes of the number in front of an entry in a journal.
const NUMBER_BYTES: usize = 4;

impl Table {
    /// The NAT: segments of its copies take turns.
    pub(crate) fn nat(sb: &SuperBlock) -> Table {
        let blocks = sb.raw().segment_count_nat.get() / 2 * sb.blocks_per_segment();
        Table::new(sb.raw().nat_blkaddr.get(), blocks, sb.blocks_per_segment(), sb.block().nat_entries())
    }

    /// The SIT: its second copy stands behind the first.
    pub(crate) fn sit(sb: &SuperBlock) -> Table {
        let blocks = sb.raw().segment_count_sit.get() / 2 * sb.blocks_per_segment();
        Table::new(sb.raw().sit_blkaddr.get(), blocks, blocks, sb.block().sit_entries())
    }

    fn new(start: u32, blocks: u32, run: u32, per_block: u32) -> Table {
        Table { start: BlockAddr(start), run, per_block, versions: vec![0; blocks.div_ceil(8) as usize] }
    }

    /// The same table, of which these copies count.
    pub(crate) fn with_versions(mut self, versions: &[u8]) -> Table {
        debug_assert_eq!(self.versions.len(), versions.len());
        self.versions = versions.to_vec();
        self
    }

    /// Entries in a block.
    pub(crate) fn per_block(&self) -> u32 {
        self.per_block
    }

    /// The bits as they stand in a checkpoint.
    pub(crate) fn versions(&self) -> &[u8] {
        &self.versions
    }

    /// Brings entries, sorted by number, to the medium: into a journal, if its `room` bytes are enough, otherwise into
    /// the other copies of their blocks, unless these have them already. Returns the journal, which is empty in that case.
    pub(crate) fn write<E: JournalEntries>(
        &mut self,
        medium: &mut Medium,
        entries: &[E],
        room: usize,
        has_them: impl Fn(u32) -> bool,
    ) -> Result<Vec<u8>> {
        if let Some(journal) = journal_bytes(entries, room) {
            return Ok(journal);
        }
        let per_block = self.per_block;
        for entries in entries.chunk_by(|a, b| index_of(a, per_block) == index_of(b, per_block)) {
            let Some(index) = entries.first().map(|entry| index_of(entry, per_block)) else { continue };
            // Blocks that could not be written do not count.
            if !has_them(index) {
                self.write_other(medium, entries)?;
            }
            if let Some(byte) = self.versions.get_mut((index / 8) as usize) {
                *byte ^= 0x80 >> (index % 8);
            }
        }
        Ok(Vec::new())
    }

    /// Writes the copy of a block that does not count, with some entries other than in the one that does.
    pub(crate) fn write_other<E: JournalEntries>(&self, medium: &mut Medium, entries: &[E]) -> Result<()> {
        let Some(index) = entries.first().map(|entry| index_of(entry, self.per_block)) else { return Ok(()) };
        let mut block = medium.read(self.place(index))?.to_vec();
        for raw in entries.iter().map(JournalEntries::to_raw) {
            let Some((number, entry)) = raw.as_bytes().split_first_chunk::<NUMBER_BYTES>() else { continue };
            let at = (u32::from_le_bytes(*number) % self.per_block) as usize * entry.len();
            debug_assert!(at + entry.len() <= block.len());
            block.iter_mut().skip(at).zip(entry).for_each(|(to, from)| *to = *from);
        }
        medium.write(self.copy(index, !self.is_second(index)), &block)
    }

    /// The place of block `index` that counts.
    pub(crate) fn place(&self, index: u32) -> BlockAddr {
        self.copy(index, self.is_second(index))
    }

    fn is_second(&self, index: u32) -> bool {
        let byte = self.versions.get((index / 8) as usize).copied().unwrap_or_default();
        byte & (0x80 >> (index % 8)) != 0
    }

    fn copy(&self, index: u32, is_second: bool) -> BlockAddr {
        let second = if is_second { self.run } else { 0 };
        let first = index / self.run * self.run * 2 + index % self.run;
        BlockAddr(self.start.0.saturating_add(first).saturating_add(second))
    }
}

/// The block that an entry is in, of a table with so many in each.
fn index_of<E: JournalEntries>(entry: &E, per_block: u32) -> u32 {
    let raw = entry.to_raw();
    let number = raw.as_bytes().first_chunk::<NUMBER_BYTES>();
    debug_assert!(number.is_some(), "an entry of a journal without its number");
    number.map_or(0, |number| u32::from_le_bytes(*number)) / per_block
}
