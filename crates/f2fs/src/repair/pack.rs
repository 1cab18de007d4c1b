//! The checkpoint pack of a volume under repair: its numbers, its bitmaps, the summaries of its six logs, its orphans.
//! It is written as an unmount writes it, without journals.

use zerocopy::{
    FromZeros,
    little_endian::{U16, U32},
};

use super::draft::Draft;
use crate::{
    error::{Error, Result},
    layout::{
        BlockAddr, CpFlags, Nid, OrphanBlock, RawCheckpoint, RawOrphanTail, SegNo, SummaryBlock, SuperBlock,
    },
    volume::Volume,
    word::{half, word},
};

/// Logs of data; as many of nodes follow.
pub(super) const DATA_LOGS: usize = 3;
pub(super) const LOGS: u32 = 6;
/// Kinds of segments, as the SIT has them.
pub(super) const HOT_DATA: u8 = 0;
pub(super) const WARM_DATA: u8 = 1;
pub(super) const HOT_NODES: u8 = 3;
pub(super) const WARM_NODES: u8 = 4;
pub(super) const COLD_NODES: u8 = 5;
/// Blocks of a segment.
pub(super) const BLOCKS: u32 = 512;

/// Flags of states that a pack written here does not have.
const DROPPED: [CpFlags; 6] = [
    CpFlags::ORPHAN,
    CpFlags::COMPACT_SUM,
    CpFlags::NAT_BITS,
    CpFlags::FASTBOOT,
    CpFlags::NOCRC_RECOVERY,
    CpFlags::TRIMMED,
];

/// A checkpoint pack.
pub(super) struct Pack {
    /// 1 or 2.
    pub(super) number: u8,
    pub(super) raw: RawCheckpoint,
    pub(super) sit: Vec<u8>,
    pub(super) nat: Vec<u8>,
    pub(super) summaries: Vec<SummaryBlock>,
    pub(super) orphans: Vec<Nid>,
}

impl Pack {
    /// The pack that counts.
    pub(super) fn of(volume: &Volume) -> Result<Pack> {
        let layout = volume.summary_layout();
        let heads = volume.log_heads().iter().enumerate();
        let summaries = heads.map(|(log, head)| {
            let mut summary = SummaryBlock::empty(layout, log >= DATA_LOGS);
            if let Some(stored) = &head.summary {
                (0..512).for_each(|offset| summary.set_entry(offset, stored.entry(offset)));
                if log == DATA_LOGS {
                    // The kilobytes that were ever written stand there.
                    summary.set_journal(stored.journal());
                }
            }
            summary
        });
        let summaries = summaries.collect();
        let (sit, nat) = volume.versions();
        let orphans = match volume.orphan_blocks() {
            Ok(blocks) => blocks,
            // Inodes without a name and a link become orphans again.
            Err(Error::Corrupt(_) | Error::Read { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Pack {
            number: volume.checkpoint().pack(),
            raw: *volume.checkpoint().raw(),
            sit: sit.to_vec(),
            nat: nat.to_vec(),
            summaries,
            orphans: orphans.into_iter().flat_map(|block| block.inodes).collect(),
        })
    }

    /// Takes flags away.
    pub(super) fn clear(&mut self, flags: CpFlags) {
        self.raw.change_flags(flags, CpFlags(0));
    }

    /// The log that writes to a segment.
    pub(super) fn log_of(&self, segno: SegNo) -> Option<usize> {
        (0..LOGS as usize).find(|log| self.raw.segment(*log) == segno)
    }

    /// Its blocks, the foot last, which alone makes it valid.
    pub(super) fn blocks(&self, sb: &SuperBlock) -> Vec<u8> {
        let width = sb.block().width();
        let payload = sb.payload();
        let room = sb.blocks_per_segment().saturating_sub(2 + LOGS + payload) * sb.block().orphans();
        let orphans = self.orphans.get(..room as usize).unwrap_or(&self.orphans);
        let count = word(orphans.len().div_ceil(sb.block().orphans() as usize));
        let mut raw = self.raw;
        let dropped = DROPPED.into_iter().fold(CpFlags(0), CpFlags::with);
        raw.change_flags(dropped, CpFlags::UMOUNT.with(CpFlags::CRC_RECOVERY));
        if count > 0 {
            raw.change_flags(CpFlags(0), CpFlags::ORPHAN);
        }
        raw.set_parts(1 + payload + count, 2 + LOGS + payload + count);
        let mut blocks = raw.to_blocks(sb, &self.sit, &self.nat);
        let foot = blocks.get(..width).unwrap_or_default().to_vec();
        for (number, inodes) in (1..).zip(orphans.chunks(sb.block().orphans() as usize)) {
            let mut tail = RawOrphanTail::new_zeroed();
            (tail.blk_addr, tail.blk_count) = (U16::new(number), U16::new(half(count)));
            tail.entry_count = U32::new(word(inodes.len()));
            let block = OrphanBlock { inodes: inodes.to_vec(), tail, checksum: 0 };
            blocks.extend(block.to_block(sb.block()));
        }
        for summary in &self.summaries {
            blocks.extend_from_slice(summary.as_bytes());
            blocks.resize(blocks.len().next_multiple_of(width), 0);
        }
        blocks.extend(foot);
        blocks
    }

    /// Writes it into a draft.
    pub(super) fn write(&self, draft: &Draft, sb: &SuperBlock) {
        let start = sb.checkpoint_addr(self.number);
        let blocks = self.blocks(sb);
        for (addr, block) in (start.0..).zip(blocks.chunks_exact(sb.block().width())) {
            draft.write(BlockAddr(addr), block);
        }
    }
}
