//! A checkpoint pack: head, payload, summaries, and the foot, which alone makes it valid.

use crate::word::{half, word};
use zerocopy::{
    FromZeros,
    little_endian::{U16, U32, U64},
};

use super::{
    head::{Heads, Log},
    medium::Medium,
    nat::Nat,
    nat_bits,
    sit::Sit,
};
use crate::{
    error::Result,
    layout::{BlockAddr, Checkpoint, CpFlags, RawCheckpoint, SegNo, SummaryBlock, SuperBlock},
};

/// What is kept back from users.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserve {
    /// Segments that only the cleaner may use.
    pub(crate) reserved: u32,
    /// Segments that users cannot fill, these among them.
    pub(crate) overprovision: u32,
    /// The bitmaps follow the checksum.
    pub(crate) large_nat: bool,
}

/// Everything that a pack is made of, as unmount writes it.
pub(crate) struct Pack<'a> {
    pub(crate) sb: &'a SuperBlock,
    pub(crate) nat: &'a Nat,
    pub(crate) sit: &'a Sit,
    pub(crate) heads: &'a Heads,
    /// 1 or 2.
    pub(crate) number: u8,
    /// Of the NAT, and of the SIT.
    pub(crate) journals: [&'a [u8]; 2],
    pub(crate) version: u64,
    pub(crate) reserve: Reserve,
}

impl Pack<'_> {
    /// Writes the pack. What it speaks of is durable before the foot is, and the foot before this returns.
    pub(crate) fn write(&self, medium: &mut Medium) -> Result<()> {
        let width = self.sb.block().width();
        let start = self.sb.checkpoint_addr(self.number);
        let bits = nat_bits::blocks(self.nat, self.sb);
        let in_front = self.blocks_per_segment() - word(bits.len() / width);
        let has_bits = self.total() <= in_front;
        let mut blocks =
            self.raw(has_bits).to_blocks(self.sb, self.sit.table().versions(), self.nat.table().versions());
        let foot = blocks.get(..width).unwrap_or_default().to_vec();
        for summary in self.summaries() {
            blocks.extend_from_slice(summary.as_bytes());
            blocks.resize(blocks.len().next_multiple_of(width), 0);
        }
        medium.write(start, &blocks)?;
        if has_bits {
            let head = Checkpoint::from_block(self.number, &foot, self.sb.block())?;
            let bits = nat_bits::with_version(bits, head.footer_version());
            medium.write(BlockAddr(start.0 + in_front), &bits)?;
        }
        medium.flush()?;
        medium.write(BlockAddr(start.0 + self.total() - 1), &foot)?;
        medium.flush()
    }

    fn blocks_per_segment(&self) -> u32 {
        self.sb.blocks_per_segment()
    }

    fn payload(&self) -> u32 {
        self.sb.raw().cp_payload.get()
    }

    /// Blocks of the pack: head, payload, six summaries, foot.
    fn total(&self) -> u32 {
        2 + self.payload() + 6
    }

    /// Three of data, the first with the NAT's journal and the last with the SIT's, then three of nodes.
    fn summaries(&self) -> Vec<SummaryBlock> {
        let mut summaries: Vec<SummaryBlock> =
            Log::ALL.iter().map(|log| self.heads.of(*log).summary().clone()).collect();
        let [nat, sit] = self.journals;
        for (log, journal) in [(Log::HotData, nat), (Log::ColdData, sit)] {
            if let Some(summary) = summaries.get_mut(log.index()) {
                summary.set_journal(journal);
            }
        }
        summaries
    }

    fn raw(&self, has_bits: bool) -> RawCheckpoint {
        let mut raw = RawCheckpoint::new_zeroed();
        let mut flags = CpFlags::UMOUNT.with(CpFlags::CRC_RECOVERY);
        if has_bits {
            flags = flags.with(CpFlags::NAT_BITS);
        }
        if self.reserve.large_nat {
            flags = flags.with(CpFlags::LARGE_NAT_BITMAP);
        }
        let users = self.sb.main_segments().saturating_sub(self.reserve.overprovision);
        let (nodes, inodes, next_free) = self.nat.counts();
        raw.checkpoint_ver = U64::new(self.version);
        raw.user_block_count = U64::new(u64::from(users) * u64::from(self.blocks_per_segment()));
        raw.valid_block_count = U64::new(self.sit.valid_blocks());
        raw.rsvd_segment_count = U32::new(self.reserve.reserved);
        raw.overprov_segment_count = U32::new(self.reserve.overprovision);
        raw.free_segment_count = U32::new(self.sit.free_segments());
        raw.ckpt_flags = U32::new(flags.0);
        raw.cp_pack_total_block_count = U32::new(self.total());
        raw.cp_pack_start_sum = U32::new(1 + self.payload());
        raw.valid_node_count = U32::new(nodes);
        raw.valid_inode_count = U32::new(inodes);
        raw.next_free_nid = U32::new(next_free.0);
        self.fill_logs(&mut raw);
        raw
    }

    fn fill_logs(&self, raw: &mut RawCheckpoint) {
        let unused = U32::new(SegNo::NULL.0);
        (raw.cur_data_segno, raw.cur_node_segno) = ([unused; 8], [unused; 8]);
        for log in Log::ALL {
            let (segnos, offsets) = if log.is_node() {
                (&mut raw.cur_node_segno, &mut raw.cur_node_blkoff)
            } else {
                (&mut raw.cur_data_segno, &mut raw.cur_data_blkoff)
            };
            let (segno, next) = self.heads.of(log).place();
            if let (Some(to), Some(offset)) =
                (segnos.get_mut(log.index() % 3), offsets.get_mut(log.index() % 3))
            {
                *to = U32::new(segno.0);
                *offset = U16::new(half(next));
            }
        }
    }
}
