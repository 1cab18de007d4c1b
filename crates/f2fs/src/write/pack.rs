//! A checkpoint pack: head, payload, orphans, summaries, and the foot, which alone makes it valid.

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
    layout::{
        BlockAddr, Checkpoint, CpFlags, Nid, OrphanBlock, RawCheckpoint, RawOrphanTail, SegNo, SummaryBlock,
        SuperBlock,
    },
};

/// The users' reserve, and all else that stays the same from checkpoint to checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserve {
    /// Segments that only the cleaner may use.
    pub(crate) reserved: u32,
    /// Segments that users cannot fill, these among them.
    pub(crate) overprovision: u32,
    /// Blocks that users can fill.
    pub(crate) users: u64,
    /// The bitmaps follow the checksum.
    pub(crate) large_nat: bool,
}

impl Reserve {
    /// As a checkpoint has it.
    pub(crate) fn of(checkpoint: &Checkpoint) -> Reserve {
        let raw = checkpoint.raw();
        Reserve {
            reserved: raw.rsvd_segment_count.get(),
            overprovision: raw.overprov_segment_count.get(),
            users: raw.user_block_count.get(),
            large_nat: checkpoint.flags().has(CpFlags::LARGE_NAT_BITMAP),
        }
    }
}

/// The name of a checkpoint, and its contents besides the tables.
pub(crate) struct Stamp<'a> {
    pub(crate) version: u64,
    /// Seconds that the volume was mounted.
    pub(crate) elapsed: u64,
    /// Blocks in use, those that are only reserved among them.
    pub(crate) blocks: u64,
    /// Inodes without a name that are still there.
    pub(crate) orphans: &'a [Nid],
    /// 1024 bytes that were ever written.
    pub(crate) kbytes: u64,
    /// Nothing is written behind it: it is an unmount's.
    pub(crate) is_clean: bool,
    /// Damage was met.
    pub(crate) needs_check: bool,
}

/// Everything that a pack is made of.
pub(crate) struct Pack<'a> {
    pub(crate) sb: &'a SuperBlock,
    pub(crate) nat: &'a Nat,
    pub(crate) sit: &'a Sit,
    pub(crate) heads: &'a Heads,
    /// 1 or 2.
    pub(crate) number: u8,
    /// The journals of the NAT, and of the SIT.
    pub(crate) journals: [&'a [u8]; 2],
    pub(crate) stamp: Stamp<'a>,
    pub(crate) reserve: Reserve,
}

impl Pack<'_> {
    /// Orphans that a pack has room for.
    pub(crate) fn orphans_max(sb: &SuperBlock) -> usize {
        let blocks = sb.blocks_per_segment().saturating_sub(FIXED_BLOCKS + sb.raw().cp_payload.get());
        blocks as usize * sb.block().orphans() as usize
    }

    /// Writes the pack. The blocks that it names are durable before the foot is, and the foot before this returns.
    /// Returns the version as footers of nodes carry it.
    pub(crate) fn write(&self, medium: &mut Medium) -> Result<u64> {
        let width = self.sb.block().width();
        let start = self.sb.checkpoint_addr(self.number);
        let bits = nat_bits::blocks(self.nat, self.sb);
        let in_front = |bits: &[u8]| self.sb.blocks_per_segment() - word(bits.len() / width);
        let bits = bits.filter(|bits| self.total() <= in_front(bits));
        let (sit, nat) = (self.sit.table().versions(), self.nat.table().versions());
        let mut blocks = self.raw(bits.is_some()).to_blocks(self.sb, sit, nat);
        let foot = blocks.get(..width).unwrap_or_default().to_vec();
        blocks.extend(self.orphan_blocks());
        for summary in self.summaries() {
            blocks.extend_from_slice(summary.as_bytes());
            blocks.resize(blocks.len().next_multiple_of(width), 0);
        }
        // Zeros in the foot's place: the rest of a torn one cannot be taken for another.
        blocks.resize(blocks.len() + width, 0);
        medium.write(start, &blocks)?;
        let version = Checkpoint::from_block(self.number, &foot, self.sb.block())?.footer_version();
        if let Some(bits) = bits {
            let at = BlockAddr(start.0 + in_front(&bits));
            medium.write(at, &nat_bits::with_version(bits, version))?;
        }
        medium.flush()?;
        medium.write(BlockAddr(start.0 + self.total() - 1), &foot)?;
        medium.flush()?;
        Ok(version)
    }

    fn payload(&self) -> u32 {
        self.sb.raw().cp_payload.get()
    }

    fn orphan_count(&self) -> u32 {
        word(self.stamp.orphans.len().div_ceil(self.sb.block().orphans() as usize))
    }

    /// Blocks of the pack: head, payload, orphans, summaries, foot.
    fn total(&self) -> u32 {
        2 + word(self.logs().len()) + self.payload() + self.orphan_count()
    }

    /// Logs that have their summaries in the pack: those of nodes only if nothing is written behind it.
    fn logs(&self) -> &'static [Log] {
        const DATA: [Log; 3] = [Log::HotData, Log::WarmData, Log::ColdData];
        if self.stamp.is_clean { &Log::ALL } else { &DATA }
    }

    fn orphan_blocks(&self) -> Vec<u8> {
        let size = self.sb.block();
        let mut blocks = Vec::new();
        for (number, inodes) in (1..).zip(self.stamp.orphans.chunks(size.orphans() as usize)) {
            let mut tail = RawOrphanTail::new_zeroed();
            tail.blk_addr = U16::new(number);
            tail.blk_count = U16::new(half(self.orphan_count()));
            tail.entry_count = U32::new(word(inodes.len()));
            blocks.extend(OrphanBlock { inodes: inodes.to_vec(), tail, checksum: 0 }.to_block(size));
        }
        blocks
    }

    /// Three of data, the first with the NAT's journal and the last with the SIT's, then, perhaps, three of nodes.
    fn summaries(&self) -> Vec<SummaryBlock> {
        let mut summaries: Vec<SummaryBlock> =
            self.logs().iter().map(|log| self.heads.of(*log).summary().clone()).collect();
        let [nat, sit] = self.journals;
        let written = [&[0; 2][..], &self.stamp.kbytes.to_le_bytes()].concat();
        for (log, journal) in [(Log::HotData, nat), (Log::ColdData, sit), (Log::HotNode, &written)] {
            if let Some(summary) = summaries.get_mut(log.index()) {
                summary.set_journal(journal);
            }
        }
        summaries
    }

    fn raw(&self, has_bits: bool) -> RawCheckpoint {
        let mut raw = RawCheckpoint::new_zeroed();
        let mut flags = CpFlags::CRC_RECOVERY;
        for (is_set, flag) in [
            (self.stamp.is_clean, CpFlags::UMOUNT),
            (self.stamp.needs_check, CpFlags::FSCK),
            (has_bits, CpFlags::NAT_BITS),
            (self.reserve.large_nat, CpFlags::LARGE_NAT_BITMAP),
            (!self.stamp.orphans.is_empty(), CpFlags::ORPHAN),
        ] {
            flags = if is_set { flags.with(flag) } else { flags };
        }
        let (nodes, inodes, next_free) = self.nat.counts();
        raw.checkpoint_ver = U64::new(self.stamp.version);
        raw.user_block_count = U64::new(self.reserve.users);
        raw.valid_block_count = U64::new(self.stamp.blocks);
        raw.rsvd_segment_count = U32::new(self.reserve.reserved);
        raw.overprov_segment_count = U32::new(self.reserve.overprovision);
        raw.free_segment_count = U32::new(self.sit.free_segments());
        raw.ckpt_flags = U32::new(flags.0);
        raw.cp_pack_total_block_count = U32::new(self.total());
        raw.cp_pack_start_sum = U32::new(1 + self.payload() + self.orphan_count());
        raw.valid_node_count = U32::new(nodes);
        raw.valid_inode_count = U32::new(inodes);
        raw.next_free_nid = U32::new(next_free.0.min(self.sb.nid_limit() - 1));
        raw.elapsed_time = U64::new(self.stamp.elapsed);
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
            let head = self.heads.of(log);
            // Linux looks up the segment of a log that is closed, too.
            let (segno, next) = match head.place() {
                (SegNo::NULL, next) => (SegNo(0), next),
                place => place,
            };
            if let (Some(to), Some(offset)) =
                (segnos.get_mut(log.index() % 3), offsets.get_mut(log.index() % 3))
            {
                *to = U32::new(segno.0);
                *offset = U16::new(half(next));
            }
            if let Some(kind) = raw.alloc_type.get_mut(log.index()) {
                *kind = u8::from(head.fills_holes());
            }
        }
    }
}

/// Blocks that a pack has at most besides payload and orphans: head, six summaries, foot.
const FIXED_BLOCKS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::example::super_block;

    /// Orphans have the rest of a segment beside head, payload, six summaries and foot: each block has 1020 inodes.
    #[test]
    fn orphans_have_the_rest_of_the_pack() {
        for payload in [0, 3, 504] {
            assert_eq!(Pack::orphans_max(&super_block(payload)), (504 - payload as usize) * 1020);
        }
    }
}
