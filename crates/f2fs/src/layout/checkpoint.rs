//! The head (and, repeated, the foot) of a checkpoint pack.

use crate::word::word;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use super::{BlockSize, SegNo, SuperBlock};
use crate::{
    crc,
    error::{Place, Result, corrupt},
};

/// The first 192 bytes of a checkpoint block; version bitmaps follow.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names are the format's own; docs/f2fs-format.md explains them")]
pub struct RawCheckpoint {
    pub checkpoint_ver: U64,
    pub user_block_count: U64,
    pub valid_block_count: U64,
    pub rsvd_segment_count: U32,
    pub overprov_segment_count: U32,
    pub free_segment_count: U32,
    pub cur_node_segno: [U32; 8],
    pub cur_node_blkoff: [U16; 8],
    pub cur_data_segno: [U32; 8],
    pub cur_data_blkoff: [U16; 8],
    pub ckpt_flags: U32,
    pub cp_pack_total_block_count: U32,
    pub cp_pack_start_sum: U32,
    pub valid_node_count: U32,
    pub valid_inode_count: U32,
    pub next_free_nid: U32,
    pub sit_ver_bitmap_bytesize: U32,
    pub nat_ver_bitmap_bytesize: U32,
    pub checksum_offset: U32,
    pub elapsed_time: U64,
    pub alloc_type: [u8; 16],
}

/// Bytes of the bitmaps of SIT and NAT copies.
fn bitmap_bytes(sb: &SuperBlock) -> [u32; 2] {
    let raw = sb.raw();
    let bits = |segments: U32| segments.get() / 2 * (sb.blocks_per_segment() / 8);
    [bits(raw.segment_count_sit), bits(raw.segment_count_nat)]
}

/// Logs of data; as many of nodes follow.
const DATA_LOGS: usize = 3;
/// Bytes in front of the bitmaps.
pub(crate) const HEAD_BYTES: usize = 192;
/// Bytes of the checksum, behind them.
const SUM_BYTES: usize = 4;
/// A pack has a head, something between, and a foot.
const PACK_BLOCKS_MIN: u32 = 3;
const _: () = assert!(size_of::<RawCheckpoint>() == HEAD_BYTES);
const _: () = assert!(core::mem::offset_of!(RawCheckpoint, ckpt_flags) == 132);
const _: () = assert!(core::mem::offset_of!(RawCheckpoint, checksum_offset) == 164);
const _: () = assert!(core::mem::offset_of!(RawCheckpoint, alloc_type) == 176);

impl RawCheckpoint {
    fn flags(&self) -> CpFlags {
        CpFlags(self.ckpt_flags.get())
    }

    fn sit_bitmap_at(&self, sb: &SuperBlock) -> usize {
        if self.flags().has(CpFlags::LARGE_NAT_BITMAP) {
            HEAD_BYTES + 4 + self.nat_ver_bitmap_bytesize.get() as usize
        } else if sb.raw().cp_payload.get() > 0 {
            sb.block().width()
        } else {
            HEAD_BYTES
        }
    }

    fn nat_bitmap_at(&self, sb: &SuperBlock) -> usize {
        if self.flags().has(CpFlags::LARGE_NAT_BITMAP) {
            HEAD_BYTES + 4
        } else if sb.raw().cp_payload.get() > 0 {
            HEAD_BYTES
        } else {
            HEAD_BYTES + self.sit_ver_bitmap_bytesize.get() as usize
        }
    }

    /// The segment of a log: 0 to 2 data, 3 to 5 nodes.
    pub(crate) fn segment(&self, log: usize) -> SegNo {
        let segments = if log < DATA_LOGS { &self.cur_data_segno } else { &self.cur_node_segno };
        segments.get(log % DATA_LOGS).map_or(SegNo::NULL, |segno| SegNo(segno.get()))
    }

    /// Has a log go on elsewhere: at a block of a segment, in holes if it is not free as a whole.
    pub(crate) fn set_log(&mut self, log: usize, segno: SegNo, offset: u16, fills_holes: bool) {
        let (segments, offsets) = if log < DATA_LOGS {
            (&mut self.cur_data_segno, &mut self.cur_data_blkoff)
        } else {
            (&mut self.cur_node_segno, &mut self.cur_node_blkoff)
        };
        if let (Some(to), Some(next)) = (segments.get_mut(log % DATA_LOGS), offsets.get_mut(log % DATA_LOGS))
        {
            *to = U32::new(segno.0);
            *next = U16::new(offset);
        }
        if let Some(kind) = self.alloc_type.get_mut(log) {
            *kind = u8::from(fills_holes);
        }
    }

    /// Takes over the reserve and the users' share, which stay the same from checkpoint to checkpoint.
    pub(crate) fn take_reserve(&mut self, from: &RawCheckpoint) {
        self.rsvd_segment_count = from.rsvd_segment_count;
        self.overprov_segment_count = from.overprov_segment_count;
        self.user_block_count = from.user_block_count;
    }

    /// Sets the reserve and the users' share.
    pub(crate) fn set_reserve(&mut self, reserved: u32, overprovision: u32, users: u64) {
        self.rsvd_segment_count = U32::new(reserved);
        self.overprov_segment_count = U32::new(overprovision);
        self.user_block_count = U64::new(users);
    }

    /// True if the bitmaps fit where they usually stand.
    pub(crate) fn has_room_for_bitmaps(&self, sb: &SuperBlock) -> bool {
        let end = self.nat_bitmap_at(sb) + self.nat_ver_bitmap_bytesize.get() as usize;
        end + SUM_BYTES <= sb.block().width()
    }

    /// Blocks in use.
    pub(crate) fn valid_blocks(&self) -> u64 {
        self.valid_block_count.get()
    }

    /// Sets the blocks in use.
    pub(crate) fn set_valid_blocks(&mut self, count: u64) {
        self.valid_block_count = U64::new(count);
    }

    /// Sets the nodes in use.
    pub(crate) fn set_valid_nodes(&mut self, count: u32) {
        self.valid_node_count = U32::new(count);
    }

    /// Sets the inodes in use.
    pub(crate) fn set_valid_inodes(&mut self, count: u32) {
        self.valid_inode_count = U32::new(count);
    }

    /// Sets the segments that are free.
    pub(crate) fn set_free_segments(&mut self, count: u32) {
        self.free_segment_count = U32::new(count);
    }

    /// Counts fewer free segments.
    pub(crate) fn lose_free_segments(&mut self, count: u32) {
        self.free_segment_count = U32::new(self.free_segment_count.get().saturating_sub(count));
    }

    /// Sets the version.
    pub(crate) fn set_version(&mut self, version: u64) {
        self.checkpoint_ver = U64::new(version);
    }

    /// Takes flags away, then sets others.
    pub(crate) fn change_flags(&mut self, without: CpFlags, with: CpFlags) {
        self.ckpt_flags = U32::new(self.ckpt_flags.get() & !without.0 | with.0);
    }

    /// Sets the places of the parts: the first block of summaries, and all blocks.
    pub(crate) fn set_parts(&mut self, summaries: u32, total: u32) {
        (self.cp_pack_start_sum, self.cp_pack_total_block_count) = (U32::new(summaries), U32::new(total));
    }

    /// Sets the sizes of the bitmaps to those that the super block has.
    pub(crate) fn set_bitmaps(&mut self, sb: &SuperBlock) {
        let [sit, nat] = bitmap_bytes(sb);
        (self.sit_ver_bitmap_bytesize, self.nat_ver_bitmap_bytesize) = (U32::new(sit), U32::new(nat));
    }

    /// The blocks of a pack from its head to the end of its payload: this head with the bitmaps of SIT and NAT copies
    /// and its checksum. The sizes of the bitmaps, and where the checksum stands, are filled in.
    pub fn to_blocks(mut self, sb: &SuperBlock, sit: &[u8], nat: &[u8]) -> Vec<u8> {
        let width = sb.block().width();
        let bytes = |bitmap: &[u8]| U32::new(word(bitmap.len()));
        (self.sit_ver_bitmap_bytesize, self.nat_ver_bitmap_bytesize) = (bytes(sit), bytes(nat));
        let sum_at = if self.flags().has(CpFlags::LARGE_NAT_BITMAP) { HEAD_BYTES } else { width - 4 };
        self.checksum_offset = U32::new(word(sum_at));
        let mut blocks = vec![0; (1 + sb.raw().cp_payload.get() as usize) * width];
        let (sit_at, nat_at) = (self.sit_bitmap_at(sb), self.nat_bitmap_at(sb));
        for (at, part) in [(0, self.as_bytes()), (sit_at, sit), (nat_at, nat)] {
            debug_assert!(at + part.len() <= blocks.len());
            if let Some(place) = blocks.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
        }
        if let Some(head) = blocks.get_mut(..width) {
            let sum = head_checksum(head, sum_at);
            head.iter_mut().skip(sum_at).zip(sum.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
        blocks
    }
}

/// Gives a head that was changed the checksum that it should have, at the place that it says.
pub(crate) fn seal_head(head: &mut [u8]) {
    let Ok((raw, _)) = RawCheckpoint::read_from_prefix(head) else { return };
    let at = raw.checksum_offset.get() as usize;
    if at >= HEAD_BYTES && at + 4 <= head.len() {
        let sum = head_checksum(head, at);
        head.iter_mut().skip(at).zip(sum.to_le_bytes()).for_each(|(to, from)| *to = from);
    }
}

/// The checksum of a head: over the bytes in front of it, then those behind it.
fn head_checksum(head: &[u8], at: usize) -> u32 {
    debug_assert!(at + 4 <= head.len(), "a checksum behind the head");
    let behind = head.get(at + 4..).unwrap_or_default();
    crc::crc32(crc::checksum(head.get(..at).unwrap_or_default()), behind)
}

/// The flags of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CpFlags(pub u32);

impl CpFlags {
    /// Written by unmount: there is nothing to roll forward, and node summaries are in the pack.
    pub const UMOUNT: CpFlags = CpFlags(0x1);
    /// The pack has orphan blocks.
    pub const ORPHAN: CpFlags = CpFlags(0x2);
    /// Data summaries are compacted.
    pub const COMPACT_SUM: CpFlags = CpFlags(0x4);
    /// The kernel met an error.
    pub const ERROR: CpFlags = CpFlags(0x8);
    /// The volume needs fsck.
    pub const FSCK: CpFlags = CpFlags(0x10);
    /// Node summaries are in the pack though it was not written by unmount.
    pub const FASTBOOT: CpFlags = CpFlags(0x20);
    /// The footers of nodes carry the checkpoint's checksum too.
    pub const CRC_RECOVERY: CpFlags = CpFlags(0x40);
    /// NAT bits stand at the end of the pack's segment.
    pub const NAT_BITS: CpFlags = CpFlags(0x80);
    /// All free space was trimmed.
    pub const TRIMMED: CpFlags = CpFlags(0x100);
    /// The checkpoint's checksum is not needed in footers.
    pub const NOCRC_RECOVERY: CpFlags = CpFlags(0x200);
    /// The bitmaps follow the checksum, which stands right behind the head.
    pub const LARGE_NAT_BITMAP: CpFlags = CpFlags(0x400);
    /// Quota is stale.
    pub const QUOTA_NEED_FSCK: CpFlags = CpFlags(0x800);
    /// Checkpoints were switched off.
    pub const DISABLED: CpFlags = CpFlags(0x1000);
    /// The same, quickly.
    pub const DISABLED_QUICK: CpFlags = CpFlags(0x2000);
    /// A resize was under way.
    pub const RESIZEFS: CpFlags = CpFlags(0x4000);

    /// True if all of `other` are set.
    pub fn has(self, other: CpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`.
    #[must_use]
    pub fn with(self, other: CpFlags) -> CpFlags {
        CpFlags(self.0 | other.0)
    }

    /// True if the summaries of the node logs are in the pack.
    pub fn has_node_summaries(self) -> bool {
        self.has(CpFlags::UMOUNT) || self.has(CpFlags::FASTBOOT)
    }

    /// The names of those that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [&str; 15] = [
            "unmount",
            "orphans",
            "compact_summary",
            "error",
            "fsck",
            "fastboot",
            "crc",
            "nat_bits",
            "trimmed",
            "nocrc",
            "large_nat_bitmap",
            "quota_need_fsck",
            "disabled",
            "disabled_quick",
            "resizefs",
        ];
        NAMES.iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| *name)
    }
}

/// A checkpoint block with a right checksum. Its numbers are unchecked.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    raw: RawCheckpoint,
    /// Its pack: 1 or 2.
    pack: u8,
    /// The whole block.
    block: Vec<u8>,
    checksum: u32,
}

impl Checkpoint {
    /// Checks the checksum of a block of pack 1 or 2.
    pub fn from_block(pack: u8, block: &[u8], size: BlockSize) -> Result<Checkpoint> {
        let place = Place::Checkpoint(pack);
        let (raw, _) = RawCheckpoint::read_from_prefix(block)
            .map_err(|_| corrupt(place, "bytes are", block.len() as u64, HEAD_BYTES as u64))?;
        let checksum = check_sum(place, &raw, block, size)?;
        Ok(Checkpoint { raw, pack, block: block.to_vec(), checksum })
    }

    /// Checks the numbers that reading relies on: the places of the parts of the pack. The check tells of all other
    /// faults.
    pub fn check_parts(&self, sb: &SuperBlock) -> Result<()> {
        let place = Place::Checkpoint(self.pack);
        let within = |what, found: u32, low: u32, high: u32| {
            if (low..=high).contains(&found) { Ok(()) } else { Err(corrupt(place, what, found, high)) }
        };
        let payload = sb.raw().cp_payload.get();
        let total = self.raw.cp_pack_total_block_count.get();
        within("blocks of the pack are", total, PACK_BLOCKS_MIN, sb.blocks_per_segment())?;
        let start = self.raw.cp_pack_start_sum.get();
        within("the first block of summaries is", start, payload.saturating_add(1), total - 1)?;
        let [sit, nat] = bitmap_bytes(sb);
        within("bytes of the SIT's bitmap are", self.raw.sit_ver_bitmap_bytesize.get(), sit, sit)?;
        within("bytes of the NAT's bitmap are", self.raw.nat_ver_bitmap_bytesize.get(), nat, nat)
    }

    /// The head as it stands on the medium.
    pub fn raw(&self) -> &RawCheckpoint {
        &self.raw
    }

    /// Blocks of the pack, and the first of its summaries.
    pub(crate) fn parts(&self) -> (u32, u32) {
        (self.raw.cp_pack_total_block_count.get(), self.raw.cp_pack_start_sum.get())
    }

    /// The whole block as it stands on the medium.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// 1 or 2.
    pub fn pack(&self) -> u8 {
        self.pack
    }

    /// The version, which grows with each checkpoint.
    pub fn version(&self) -> u64 {
        self.raw.checkpoint_ver.get()
    }

    /// The flags.
    pub fn flags(&self) -> CpFlags {
        CpFlags(self.raw.ckpt_flags.get())
    }

    /// The version as footers of nodes carry it: with the checkpoint's checksum in the upper half, where the
    /// flags say so.
    pub fn footer_version(&self) -> u64 {
        if self.flags().has(CpFlags::CRC_RECOVERY) {
            self.version() | (u64::from(self.checksum) << 32)
        } else {
            self.version()
        }
    }

    /// The version in footers of nodes that were written behind this checkpoint and are no part of its chain: newer than
    /// nodes in front of it, and with another checksum. Where the checksum does not count they have no version.
    pub(crate) fn unchained_version(&self) -> u64 {
        if self.flags().has(CpFlags::NOCRC_RECOVERY) {
            return 0;
        }
        (self.version() & u64::from(u32::MAX)) | (u64::from(!self.checksum) << 32)
    }

    /// Blocks of orphan inodes behind the head.
    pub fn orphan_blocks(&self, sb: &SuperBlock) -> u32 {
        if !self.flags().has(CpFlags::ORPHAN) {
            return 0;
        }
        self.raw.cp_pack_start_sum.get().saturating_sub(1).saturating_sub(sb.raw().cp_payload.get())
    }

    /// Segment and next free block of a node log: 0 hot, 1 warm, 2 cold.
    pub fn node_log(&self, log: usize) -> (SegNo, u16) {
        head(&self.raw.cur_node_segno, &self.raw.cur_node_blkoff, log)
    }

    /// Segment and next free block of a data log: 0 hot, 1 warm, 2 cold.
    pub fn data_log(&self, log: usize) -> (SegNo, u16) {
        head(&self.raw.cur_data_segno, &self.raw.cur_data_blkoff, log)
    }

    /// True if a log (0 to 2 data, 3 to 5 nodes) fills holes of a used segment instead of appending.
    pub fn reuses_holes(&self, log: usize) -> bool {
        self.raw.alloc_type.get(log).is_some_and(|kind| *kind == 1)
    }

    /// The beginning of the bitmap of SIT copies, in bytes from the start of the pack.
    pub fn sit_bitmap_at(&self, sb: &SuperBlock) -> usize {
        self.raw.sit_bitmap_at(sb)
    }

    /// The beginning of the bitmap of NAT copies, in bytes from the start of the pack.
    pub fn nat_bitmap_at(&self, sb: &SuperBlock) -> usize {
        self.raw.nat_bitmap_at(sb)
    }
}

fn head(segments: &[U32; 8], offsets: &[U16; 8], log: usize) -> (SegNo, u16) {
    let segno = segments.get(log).map_or(SegNo::NULL, |segno| SegNo(segno.get()));
    (segno, offsets.get(log).map_or(0, |offset| offset.get()))
}

fn check_sum(place: Place, raw: &RawCheckpoint, block: &[u8], size: BlockSize) -> Result<u32> {
    let at = raw.checksum_offset.get() as usize;
    let last = size.width() - 4;
    let stored = block.get(at..).and_then(|rest| U32::read_from_prefix(rest).ok());
    let (Some((stored, _)), true) = (stored, (HEAD_BYTES..=last).contains(&at)) else {
        return Err(corrupt(place, "the checksum's offset is", raw.checksum_offset.get(), last as u64));
    };
    let sum = head_checksum(block, at);
    if sum != stored.get() {
        return Err(corrupt(place, "the checksum is", stored.get(), sum));
    }
    Ok(sum)
}
