//! The super block: where everything is. Two copies, in the first two blocks, each 1024 bytes into its block.

use zerocopy::{
    FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

use super::{BlockAddr, BlockSize, Features, Nid};
use crate::{
    crc,
    error::{Error, Place, Result, corrupt},
};

/// Bytes from the start of its block to a super block.
pub const SUPER_OFFSET: u64 = 1024;
/// The magic number.
pub(crate) const MAGIC: u32 = 0xf2f5_2010;
/// Blocks of a segment; the format has never had another number.
const LOG_BLOCKS_PER_SEGMENT: u32 = 9;
/// Sectors of new volumes have 512 bytes; nothing depends on it.
const SECTOR_LOG: u32 = 9;
/// Byte at which the checksum stands, if there is one.
const CHECKSUM_OFFSET: u32 = 3068;
/// The encoding of names whose case does not matter: UTF-8, version 12.1.
const UTF8: u16 = 1;
/// Segments a volume may have.
pub(crate) const SEGMENTS_MAX: u32 = 8 << 20;

/// A device of a volume, raw.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawDevice {
    /// Path when the volume was made, ended by NUL.
    pub path: [u8; 64],
    /// Segments on it.
    pub total_segments: U32,
}

/// The super block as it stands on the medium: 3072 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names are the format's own; docs/f2fs-format.md explains them")]
pub struct RawSuperBlock {
    pub magic: U32,
    pub major_ver: U16,
    pub minor_ver: U16,
    pub log_sectorsize: U32,
    pub log_sectors_per_block: U32,
    pub log_blocksize: U32,
    pub log_blocks_per_seg: U32,
    pub segs_per_sec: U32,
    pub secs_per_zone: U32,
    pub checksum_offset: U32,
    pub block_count: U64,
    pub section_count: U32,
    pub segment_count: U32,
    pub segment_count_ckpt: U32,
    pub segment_count_sit: U32,
    pub segment_count_nat: U32,
    pub segment_count_ssa: U32,
    pub segment_count_main: U32,
    pub segment0_blkaddr: U32,
    pub cp_blkaddr: U32,
    pub sit_blkaddr: U32,
    pub nat_blkaddr: U32,
    pub ssa_blkaddr: U32,
    pub main_blkaddr: U32,
    pub root_ino: U32,
    pub node_ino: U32,
    pub meta_ino: U32,
    pub uuid: [u8; 16],
    pub volume_name: [U16; 512],
    pub extension_count: U32,
    pub extension_list: [[u8; 8]; 64],
    pub cp_payload: U32,
    pub version: [u8; 256],
    pub init_version: [u8; 256],
    pub feature: U32,
    pub encryption_level: u8,
    pub encrypt_pw_salt: [u8; 16],
    pub devs: [RawDevice; 8],
    pub qf_ino: [U32; 3],
    pub hot_ext_count: u8,
    pub s_encoding: U16,
    pub s_encoding_flags: U16,
    pub s_stop_reason: [u8; 32],
    pub s_errors: [u8; 16],
    pub reserved: [u8; 258],
    pub crc: U32,
}

const _: () = assert!(size_of::<RawSuperBlock>() == 3072);
const _: () = assert!(core::mem::offset_of!(RawSuperBlock, feature) == 2180);
const _: () = assert!(core::mem::offset_of!(RawSuperBlock, devs) == 2201);
const _: () = assert!(core::mem::offset_of!(RawSuperBlock, qf_ino) == 2745);
const _: () = assert!(core::mem::offset_of!(RawSuperBlock, s_encoding) == 2758);
const _: () = assert!(core::mem::offset_of!(RawSuperBlock, crc) == CHECKSUM_OFFSET as usize);

impl RawSuperBlock {
    /// A super block with only the fields common to all volumes.
    pub fn blank(block: BlockSize, features: Features) -> RawSuperBlock {
        let mut raw = RawSuperBlock::new_zeroed();
        raw.magic = U32::new(MAGIC);
        (raw.major_ver, raw.minor_ver) = (U16::new(1), U16::new(16));
        raw.log_sectorsize = U32::new(SECTOR_LOG);
        raw.log_sectors_per_block = U32::new(block.log2() - SECTOR_LOG);
        raw.log_blocksize = U32::new(block.log2());
        raw.log_blocks_per_seg = U32::new(LOG_BLOCKS_PER_SEGMENT);
        (raw.node_ino, raw.meta_ino, raw.root_ino) = (U32::new(1), U32::new(2), U32::new(3));
        raw.feature = U32::new(features.0);
        raw
    }

    /// Sets the bytes of a sector, a power of two.
    pub(crate) fn set_sector(&mut self, bytes: u32) {
        self.log_sectorsize = U32::new(bytes.trailing_zeros());
        self.log_sectors_per_block =
            U32::new(self.log_blocksize.get().saturating_sub(bytes.trailing_zeros()));
    }

    /// Sets the identity.
    pub(crate) fn set_uuid(&mut self, uuid: [u8; 16]) {
        self.uuid = uuid;
    }

    /// Has names folded as UTF-8; strictly, names that are none are refused.
    pub(crate) fn set_encoding(&mut self, is_strict: bool) {
        (self.s_encoding, self.s_encoding_flags) = (U16::new(UTF8), U16::new(u16::from(is_strict)));
    }

    /// Has these features. Names whose case does not matter need an encoding.
    pub(crate) fn switch_on(&mut self, features: Features) {
        self.feature = U32::new(features.0);
        if features.has(Features::CASEFOLD) && self.s_encoding == U16::ZERO {
            self.set_encoding(false);
        }
    }

    /// Sets the label; false if it has more than 511 units of UTF-16.
    pub fn set_label(&mut self, label: &str) -> bool {
        let units: Vec<u16> = label.encode_utf16().collect();
        self.volume_name = [U16::ZERO; 512];
        self.volume_name.iter_mut().zip(&units).for_each(|(to, from)| *to = U16::new(*from));
        units.len() < self.volume_name.len()
    }

    /// Writes the checksum, where the features ask for one.
    pub fn seal(&mut self) {
        if Features(self.feature.get()).has(Features::SB_CHECKSUM) {
            self.checksum_offset = U32::new(CHECKSUM_OFFSET);
            const { assert!(CHECKSUM_OFFSET as usize <= size_of::<RawSuperBlock>()) };
            let (covered, _) = self.as_bytes().split_at(CHECKSUM_OFFSET as usize);
            self.crc = U32::new(crc::checksum(covered));
        }
    }
}

/// One of the devices a volume is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its path when the volume was made.
    pub path: String,
    /// First block on it.
    pub first: u64,
    /// Blocks on it that belong to the volume.
    pub blocks: u64,
}

/// A super block with numbers that fit together.
#[derive(Clone, Debug)]
pub struct SuperBlock {
    raw: RawSuperBlock,
    block: BlockSize,
    features: Features,
}

impl SuperBlock {
    /// Checks the 3072 bytes of a super block.
    pub fn from_bytes(bytes: &[u8]) -> Result<SuperBlock> {
        let (raw, _) = RawSuperBlock::read_from_prefix(bytes).map_err(|_| Error::NotF2fs { found: 0 })?;
        SuperBlock::from_raw(raw)
    }

    /// Checks a raw super block: magic, sizes, features, checksum, areas, in this order.
    pub fn from_raw(raw: RawSuperBlock) -> Result<SuperBlock> {
        if raw.magic.get() != MAGIC {
            return Err(Error::NotF2fs { found: raw.magic.get() });
        }
        let block = check_sizes(&raw)?;
        check_sum(&raw)?;
        let features = Features(raw.feature.get()).check()?;
        check_areas(&raw)?;
        check_numbers(&raw, block)?;
        let sb = SuperBlock { raw, block, features };
        sb.check_devices()?;
        Ok(sb)
    }

    /// The devices, if there are several, have all blocks of the volume.
    fn check_devices(&self) -> Result<()> {
        match self.devices().last().map(|last| last.first + last.blocks) {
            Some(blocks) if blocks < self.main_end() => {
                Err(corrupt(Place::SuperBlock, "the devices' blocks are", blocks, self.main_end()))
            }
            _ => Ok(()),
        }
    }

    /// The bytes as they stand on the medium.
    pub fn raw(&self) -> &RawSuperBlock {
        &self.raw
    }

    /// Bytes of a block.
    pub fn block(&self) -> BlockSize {
        self.block
    }

    /// The features of the volume.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Blocks of a segment: 512.
    pub fn blocks_per_segment(&self) -> u32 {
        1 << LOG_BLOCKS_PER_SEGMENT
    }

    /// Segments of a section: at least one.
    pub(crate) fn segments_per_section(&self) -> u32 {
        self.raw.segs_per_sec.get()
    }

    /// Sections of a zone.
    pub(crate) fn sections_per_zone(&self) -> u32 {
        self.raw.secs_per_zone.get()
    }

    /// First block of checkpoint pack 1 or 2.
    pub fn checkpoint_addr(&self, pack: u8) -> BlockAddr {
        let second = if pack == 2 { self.blocks_per_segment() } else { 0 };
        BlockAddr(self.raw.cp_blkaddr.get().saturating_add(second))
    }

    /// Blocks of a pack's payload.
    pub(crate) fn payload(&self) -> u32 {
        self.raw.cp_payload.get()
    }

    /// First block of the checkpoint area: the super blocks stand in front of it.
    pub(crate) fn checkpoints_start(&self) -> BlockAddr {
        BlockAddr(self.raw.cp_blkaddr.get())
    }

    /// First block of the SSA: tables with two copies stand in front of it.
    pub(crate) fn ssa_start(&self) -> BlockAddr {
        BlockAddr(self.raw.ssa_blkaddr.get())
    }

    /// The bytes without the notes about trouble.
    pub(crate) fn without_notes(&self) -> RawSuperBlock {
        let mut raw = self.raw;
        (raw.s_stop_reason, raw.s_errors) = ([0; 32], [0; 16]);
        raw.seal();
        raw
    }

    /// The bytes with another quota file of a kind.
    pub(crate) fn with_quota_inode(&self, kind: usize, ino: Nid) -> RawSuperBlock {
        let mut raw = self.raw;
        if let Some(place) = raw.qf_ino.get_mut(kind) {
            *place = U32::new(ino.0);
        }
        raw.seal();
        raw
    }

    /// First block of the main area.
    pub fn main_start(&self) -> BlockAddr {
        BlockAddr(self.raw.main_blkaddr.get())
    }

    /// Segments of the main area.
    pub fn main_segments(&self) -> u32 {
        self.raw.segment_count_main.get()
    }

    /// Bytes of the main area.
    pub fn main_bytes(&self) -> u64 {
        u64::from(self.main_segments()) * u64::from(self.blocks_per_segment()) * self.block().bytes_u64()
    }

    /// The block behind the last of the main area.
    pub fn main_end(&self) -> u64 {
        u64::from(self.raw.main_blkaddr.get())
            + (u64::from(self.raw.segment_count_main.get()) << LOG_BLOCKS_PER_SEGMENT)
    }

    /// The root directory.
    pub fn root(&self) -> Nid {
        Nid(self.raw.root_ino.get())
    }

    /// The node numbers the NAT has room for: all valid ones are below.
    pub fn nid_limit(&self) -> u32 {
        let blocks = (u64::from(self.raw.segment_count_nat.get()) / 2) << LOG_BLOCKS_PER_SEGMENT;
        u32::try_from(blocks * u64::from(self.block.nat_entries())).unwrap_or(u32::MAX)
    }

    /// The label.
    pub fn label(&self) -> String {
        let units = self.raw.volume_name.iter().map(|unit| unit.get()).take_while(|unit| *unit != 0);
        char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }

    /// The identity of the volume.
    pub fn uuid(&self) -> [u8; 16] {
        self.raw.uuid
    }

    /// The hidden files of user, group and project quota.
    pub fn quota_inodes(&self) -> [Nid; 3] {
        self.raw.qf_ino.map(|ino| Nid(ino.get()))
    }

    /// The devices the volume is on; a single one has no entry, and an empty list.
    pub fn devices(&self) -> Vec<Device> {
        let mut next = 0;
        let mut devices = Vec::new();
        for raw in self.raw.devs.iter().take_while(|raw| raw.path[0] != 0) {
            let own = u64::from(raw.total_segments.get()) << LOG_BLOCKS_PER_SEGMENT;
            // Segments are counted from segment 0, which does not begin at block 0 of the first device.
            let head = if next == 0 { u64::from(self.raw.segment0_blkaddr.get()) } else { 0 };
            let name = raw.path.split(|byte| *byte == 0).next().unwrap_or_default();
            devices.push(Device {
                path: String::from_utf8_lossy(name).into_owned(),
                first: next,
                blocks: own + head,
            });
            next += own + head;
        }
        devices
    }
}

fn check_sizes(raw: &RawSuperBlock) -> Result<BlockSize> {
    let log = raw.log_blocksize.get();
    let block = BlockSize::from_log2(log)
        .ok_or_else(|| corrupt(Place::SuperBlock, "log2 of the block size is", log, 12_u32))?;
    let sector = raw.log_sectorsize.get();
    if !(9..=log).contains(&sector) || raw.log_sectors_per_block.get() != log - sector {
        return Err(corrupt(Place::SuperBlock, "log2 of the sector size is", sector, 9_u32));
    }
    let log = raw.log_blocks_per_seg.get();
    if log != LOG_BLOCKS_PER_SEGMENT {
        return Err(corrupt(
            Place::SuperBlock,
            "log2 of blocks in a segment is",
            log,
            LOG_BLOCKS_PER_SEGMENT,
        ));
    }
    Ok(block)
}

fn check_sum(raw: &RawSuperBlock) -> Result<()> {
    if !Features(raw.feature.get()).has(Features::SB_CHECKSUM) {
        return Ok(());
    }
    if raw.checksum_offset.get() != CHECKSUM_OFFSET {
        return Err(corrupt(
            Place::SuperBlock,
            "the checksum's offset is",
            raw.checksum_offset.get(),
            CHECKSUM_OFFSET,
        ));
    }
    let covered = raw.as_bytes().get(..CHECKSUM_OFFSET as usize).unwrap_or_default();
    let sum = crc::checksum(covered);
    if sum != raw.crc.get() {
        return Err(corrupt(Place::SuperBlock, "the checksum is", raw.crc.get(), sum));
    }
    Ok(())
}

/// Areas follow each other without gaps, and the main area ends within the segments.
fn check_areas(raw: &RawSuperBlock) -> Result<()> {
    let chain = [
        ("the checkpoint area begins at", raw.cp_blkaddr, raw.segment0_blkaddr, U32::new(0)),
        ("the SIT begins at", raw.sit_blkaddr, raw.cp_blkaddr, raw.segment_count_ckpt),
        ("the NAT begins at", raw.nat_blkaddr, raw.sit_blkaddr, raw.segment_count_sit),
        ("the SSA begins at", raw.ssa_blkaddr, raw.nat_blkaddr, raw.segment_count_nat),
        ("the main area begins at", raw.main_blkaddr, raw.ssa_blkaddr, raw.segment_count_ssa),
    ];
    for (what, start, before, segments) in chain {
        let want = u64::from(before.get()) + (u64::from(segments.get()) << LOG_BLOCKS_PER_SEGMENT);
        if u64::from(start.get()) != want {
            return Err(corrupt(Place::SuperBlock, what, start.get(), want));
        }
    }
    let main_end = u64::from(raw.main_blkaddr.get())
        + (u64::from(raw.segment_count_main.get()) << LOG_BLOCKS_PER_SEGMENT);
    let end = u64::from(raw.segment0_blkaddr.get())
        + (u64::from(raw.segment_count.get()) << LOG_BLOCKS_PER_SEGMENT);
    if main_end > end || main_end > u64::from(u32::MAX - 1) {
        return Err(corrupt(Place::SuperBlock, "the main area ends at", main_end, end));
    }
    Ok(())
}

fn check_numbers(raw: &RawSuperBlock, block: BlockSize) -> Result<()> {
    let at_most = |what, found: u32, most: u32| {
        if found <= most { Ok(()) } else { Err(corrupt(Place::SuperBlock, what, found, most)) }
    };
    let at_least = |what, found: u32, least: u32| {
        if found >= least { Ok(()) } else { Err(corrupt(Place::SuperBlock, what, found, least)) }
    };
    at_most("segments are", raw.segment_count.get(), SEGMENTS_MAX)?;
    at_least("segments of the main area are", raw.segment_count_main.get(), 1)?;
    at_least("segments of checkpoints are", raw.segment_count_ckpt.get(), 2)?;
    at_least("segments of the SIT are", raw.segment_count_sit.get(), 2)?;
    at_least("segments of the NAT are", raw.segment_count_nat.get(), 2)?;
    at_least("segments in a section are", raw.segs_per_sec.get(), 1)?;
    at_least("sections in a zone are", raw.secs_per_zone.get(), 1)?;
    at_most("segments in a section are", raw.segs_per_sec.get(), raw.segment_count.get())?;
    // Two blocks of the checkpoint itself and six of summaries stand beside the payload.
    at_most("blocks of checkpoint payload are", raw.cp_payload.get(), (1 << LOG_BLOCKS_PER_SEGMENT) - 8)?;
    let sit_blocks = (u64::from(raw.segment_count_sit.get()) / 2) << LOG_BLOCKS_PER_SEGMENT;
    let covered = sit_blocks * u64::from(block.sit_entries());
    let main = u64::from(raw.segment_count_main.get());
    if covered < main {
        return Err(corrupt(Place::SuperBlock, "segments in the SIT are", covered, main));
    }
    if raw.node_ino.get() != 1 || raw.meta_ino.get() != 2 || raw.root_ino.get() != 3 {
        return Err(corrupt(Place::SuperBlock, "the root's inode is", raw.root_ino.get(), 3_u32));
    }
    Ok(())
}
