//! The tables: NAT, SIT and SSA, each a block at a time, with newer entries from the journals.

use zerocopy::FromBytes;

use super::{Block, Volume};
use crate::{
    error::{Place, Result, corrupt},
    layout::{
        BlockAddr, NatEntry, Nid, OrphanBlock, RawNatEntry, RawSitEntry, SegNo, SitEntry, Summary,
        SummaryBlock,
    },
};

impl Volume {
    /// The copies of each block that count, as bitmaps: of the SIT, and of the NAT.
    pub(crate) fn versions(&self) -> (&[u8], &[u8]) {
        (&self.sit_bitmap, &self.nat_bitmap)
    }

    /// Blocks of the NAT, of which each has two places.
    pub fn nat_blocks(&self) -> u32 {
        self.sb.raw().segment_count_nat.get() / 2 * self.sb.blocks_per_segment()
    }

    /// Blocks of the SIT that have entries of segments.
    pub fn sit_blocks(&self) -> u32 {
        self.sb.main_segments().div_ceil(self.block_size().sit_entries())
    }

    /// The address of block `index` of the NAT. Its two places are a segment apart.
    pub fn nat_addr(&self, index: u32) -> BlockAddr {
        let per_segment = self.sb.blocks_per_segment();
        let first = index / per_segment * per_segment * 2 + index % per_segment;
        let second = if bit(&self.nat_bitmap, index) { per_segment } else { 0 };
        BlockAddr(self.sb.raw().nat_blkaddr.get().saturating_add(first).saturating_add(second))
    }

    /// The address of block `index` of the SIT. Its second place is half the SIT further.
    pub fn sit_addr(&self, index: u32) -> BlockAddr {
        let half = self.sb.raw().segment_count_sit.get() / 2 * self.sb.blocks_per_segment();
        let second = if bit(&self.sit_bitmap, index) { half } else { 0 };
        BlockAddr(self.sb.raw().sit_blkaddr.get().saturating_add(index).saturating_add(second))
    }

    /// The other place of block `index` of the NAT.
    pub(crate) fn nat_other(&self, index: u32) -> BlockAddr {
        self.other(self.nat_addr(index), bit(&self.nat_bitmap, index), self.sb.blocks_per_segment())
    }

    /// The other place of block `index` of the SIT.
    pub(crate) fn sit_other(&self, index: u32) -> BlockAddr {
        let half = self.sb.raw().segment_count_sit.get() / 2 * self.sb.blocks_per_segment();
        self.other(self.sit_addr(index), bit(&self.sit_bitmap, index), half)
    }

    fn other(&self, addr: BlockAddr, is_second: bool, step: u32) -> BlockAddr {
        debug_assert!(!self.is_main(addr), "a table in the main area");
        BlockAddr(if is_second { addr.0.saturating_sub(step) } else { addr.0.saturating_add(step) })
    }

    /// Block `index` of the NAT as it stands on the medium, without the journal.
    pub fn nat_block(&self, index: u32) -> Result<Block> {
        self.block(self.nat_addr(index))
    }

    /// Block `index` of the SIT as it stands on the medium, without the journal.
    pub fn sit_block(&self, index: u32) -> Result<Block> {
        self.block(self.sit_addr(index))
    }

    /// The entry of a node: from the journal, otherwise from the NAT; or as a search found it.
    pub fn nat_entry(&self, nid: Nid) -> Result<NatEntry> {
        if nid.is_null() || nid.0 >= self.sb.nid_limit() {
            return Err(corrupt(Place::Node(nid), "the number is", nid.0, self.sb.nid_limit()));
        }
        if let Some(found) = &self.found {
            return Ok(found.get(&nid).copied().unwrap_or_default());
        }
        self.stored_nat_entry(nid)
    }

    /// The entry of a node in the journal, otherwise in the NAT.
    pub(crate) fn stored_nat_entry(&self, nid: Nid) -> Result<NatEntry> {
        if let Some(entry) = self.logs.nat.get(&nid) {
            return Ok(*entry);
        }
        let per_block = self.block_size().nat_entries();
        let block = self.nat_block(nid.0 / per_block)?;
        Ok(nat_entry_in(&block, nid.0 % per_block))
    }

    /// The entry of a segment: from the journal, otherwise from the SIT.
    pub fn sit_entry(&self, segno: SegNo) -> Result<SitEntry> {
        if segno.0 >= self.sb.main_segments() {
            let segments = self.sb.main_segments();
            return Err(corrupt(Place::Segment(segno), "the number is", segno.0, segments));
        }
        if let Some(entry) = self.logs.sit.get(&segno) {
            return Ok(*entry);
        }
        let per_block = self.block_size().sit_entries();
        let block = self.sit_block(segno.0 / per_block)?;
        Ok(sit_entry_in(&block, segno.0 % per_block))
    }

    /// The segment of a block of the main area, and which of its blocks it is.
    pub fn segment_of(&self, addr: BlockAddr) -> Option<(SegNo, u32)> {
        let inside = addr.0.checked_sub(self.sb.main_start().0).filter(|_| self.is_main(addr))?;
        let per_segment = self.sb.blocks_per_segment();
        Some((SegNo(inside / per_segment), inside % per_segment))
    }

    /// The first block of a segment.
    pub fn segment_start(&self, segno: SegNo) -> BlockAddr {
        let inside = segno.0.saturating_mul(self.sb.blocks_per_segment());
        BlockAddr(self.sb.main_start().0.saturating_add(inside))
    }

    /// True if the SIT counts a block of the main area as valid.
    pub fn is_valid(&self, addr: BlockAddr) -> Result<bool> {
        match self.segment_of(addr) {
            Some((segno, offset)) => Ok(self.sit_entry(segno)?.is_valid(offset)),
            None => Ok(false),
        }
    }

    /// The summary of a segment as it stands in the SSA. For the segment of a log head
    /// [`Volume::log_heads`] has a newer one.
    pub fn ssa(&self, segno: SegNo) -> Result<SummaryBlock> {
        let layout = self.summary_layout();
        let start = self.sb.raw().ssa_blkaddr.get();
        let addr = BlockAddr(start.saturating_add(segno.0 / layout.per_block));
        let block = self.block(addr)?;
        let at = (segno.0 % layout.per_block) as usize * layout.bytes;
        let bytes = block.get(at..at + layout.bytes).unwrap_or_default();
        Ok(SummaryBlock::new(bytes.to_vec(), layout))
    }

    /// The owner of a main-area block, from the newest summary.
    pub fn summary(&self, addr: BlockAddr) -> Result<Option<Summary>> {
        let Some((segno, offset)) = self.segment_of(addr) else { return Ok(None) };
        let head = self.logs.heads.iter().find(|head| head.segno == segno);
        match head.and_then(|head| head.summary.as_ref()) {
            Some(summary) => Ok(Some(summary.entry(offset))),
            None => Ok(Some(self.ssa(segno)?.entry(offset))),
        }
    }

    /// The orphan blocks of the checkpoint.
    pub fn orphan_blocks(&self) -> Result<Vec<OrphanBlock>> {
        let start = self.sb.checkpoint_addr(self.cp.pack()).0 + 1 + self.sb.raw().cp_payload.get();
        let mut blocks = Vec::new();
        for index in 0..self.cp.orphan_blocks(&self.sb) {
            let addr = BlockAddr(start.saturating_add(index));
            let block = self.block(addr)?;
            let orphans = OrphanBlock::from_block(&block, self.block_size()).map_err(|count| {
                corrupt(Place::Block(addr), "orphans are", count, self.block_size().orphans())
            })?;
            blocks.push(orphans);
        }
        Ok(blocks)
    }

    /// The NAT bits at the end of the pack's segment, if the checkpoint has them. They say of each block of the NAT
    /// whether it is full, and whether it is empty, behind the checkpoint's version with its checksum.
    pub fn nat_bits(&self) -> Result<Option<Vec<u8>>> {
        if !self.cp.flags().has(crate::layout::CpFlags::NAT_BITS) {
            return Ok(None);
        }
        let bytes = 8 + 2 * (self.nat_blocks() as usize).div_ceil(8);
        let blocks = u32::try_from(bytes.div_ceil(self.block_size().width())).unwrap_or(u32::MAX);
        let Some(inside) = self.sb.blocks_per_segment().checked_sub(blocks) else { return Ok(None) };
        let mut buffer = vec![0; blocks as usize * self.block_size().width()];
        let start = self.sb.checkpoint_addr(self.cp.pack());
        self.read_blocks(BlockAddr(start.0.saturating_add(inside)), &mut buffer)?;
        buffer.truncate(bytes);
        Ok(Some(buffer))
    }
}

/// Entry `index` of a block of the NAT.
pub(crate) fn nat_entry_in(block: &[u8], index: u32) -> NatEntry {
    let at = index as usize * size_of::<RawNatEntry>();
    let raw = block.get(at..).and_then(|rest| RawNatEntry::read_from_prefix(rest).ok());
    raw.map(|(raw, _)| raw.into()).unwrap_or_default()
}

/// Entry `index` of a block of the SIT.
pub(crate) fn sit_entry_in(block: &[u8], index: u32) -> SitEntry {
    let at = index as usize * size_of::<RawSitEntry>();
    let raw = block.get(at..).and_then(|rest| RawSitEntry::read_from_prefix(rest).ok());
    raw.map_or(SitEntry::EMPTY, |(raw, _)| raw.into())
}

/// A bit of a version bitmap: the first is the highest of the first byte.
fn bit(bitmap: &[u8], index: u32) -> bool {
    bitmap.get((index / 8) as usize).is_some_and(|byte| byte & (0x80 >> (index % 8)) != 0)
}
