//! The beginning of each area of a new volume, and the reserve of the main area.

use crate::word::word;
use zerocopy::little_endian::{U32, U64};

use super::FormatError;
use crate::layout::{BlockSize, Features, RawSuperBlock, SEGMENTS_MAX, SummaryLayout, SuperBlock};

/// Blocks of a segment.
pub(crate) const SEGMENT_BLOCKS: u64 = 512;
/// Blocks in front of the first segment: the two super blocks.
const SUPER_BLOCKS: u64 = 2;
/// Addresses that a block can have.
const ADDRESSES: u64 = u32::MAX as u64 - 1;
/// Logs, each of which keeps a section of its own.
pub(crate) const LOGS: u64 = 6;
/// The least segments that Linux mounts a volume with.
const SEGMENTS_MIN: u64 = 9;
/// Bytes of a checkpoint's head in front of the bitmaps, and behind them the checksum.
const HEAD_BYTES: u64 = 192;
const SUM_BYTES: u64 = 4;
/// The least that the bitmap of the NAT takes: a segment for each copy.
const NAT_BITMAP_MIN: u64 = SEGMENT_BLOCKS / 8;
/// Main areas with fewer segments are small: their reserve is tried in steps of whole per cent.
const SMALL: u64 = 256;

/// The parameters of a volume's geometry besides its size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// Bytes of a block.
    pub block: BlockSize,
    /// Segments of a section: the unit of the cleaner.
    pub section_segments: u32,
    /// Sections of a zone: each log keeps to zones of its own.
    pub zone_sections: u32,
    /// The features of the volume.
    pub features: Features,
    /// Per cent of the main area that users cannot fill; if not given, the figure that leaves most space.
    pub overprovision: Option<f64>,
    /// Nodes that there must be numbers for: files, directories and their further nodes.
    pub nodes: u64,
    /// Bytes of a sector of the device; nothing is addressed by it.
    pub sector_bytes: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            block: BlockSize::KIB4,
            section_segments: 1,
            zone_sections: 1,
            features: Features::default(),
            overprovision: None,
            nodes: 0,
            sector_bytes: 512,
        }
    }
}

impl Shape {
    /// Segments of a zone.
    pub(super) fn zone(&self) -> u64 {
        u64::from(self.section_segments) * u64::from(self.zone_sections)
    }

    /// True if the volume is written once, and then only read.
    pub(super) fn is_read_only(&self) -> bool {
        self.features.has(Features::RO)
    }

    /// Blocks in front of the first segment: whole zones, unless nothing will be erased.
    pub(super) fn start(&self) -> u64 {
        let unit = if self.is_read_only() { 1 } else { self.zone().saturating_mul(SEGMENT_BLOCKS).max(1) };
        SUPER_BLOCKS.next_multiple_of(unit)
    }
}

/// The places of all areas, and the reserve.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    /// Blocks of the volume.
    pub(crate) blocks: u64,
    /// The block that the checkpoints begin at.
    pub(crate) segment0: u64,
    /// Segments of the volume, and of each area: SIT and NAT with both copies.
    pub(crate) segments: u64,
    pub(crate) sit: u64,
    pub(crate) nat: u64,
    pub(crate) ssa: u64,
    pub(crate) main: u64,
    /// Blocks of payload in a checkpoint pack.
    pub(crate) payload: u64,
    /// The bitmaps follow the checksum, because the NAT's is too large for the usual place.
    pub(crate) large_nat: bool,
    /// Segments that only the cleaner may use.
    pub(crate) reserved: u64,
    /// Segments that users cannot fill, these among them.
    pub(crate) overprovision: u64,
}

/// Segments of the two checkpoint packs.
const CHECKPOINT_SEGMENTS: u64 = 2;

impl Geometry {
    /// The geometry of a device of `bytes` bytes.
    pub(crate) fn new(shape: &Shape, bytes: u64) -> Result<Geometry, FormatError> {
        let section = u64::from(shape.section_segments);
        let zone = shape.zone();
        let block = shape.block.bytes_u64();
        if zone == 0 || zone > u64::from(SEGMENTS_MAX) {
            return Err(FormatError::Zone { segments: zone });
        }
        let blocks = bytes / block;
        let start = shape.start();
        if blocks > u64::from(SEGMENTS_MAX) * SEGMENT_BLOCKS {
            return Err(FormatError::TooLarge {
                bytes,
                most: u64::from(SEGMENTS_MAX) * SEGMENT_BLOCKS * block,
            });
        }
        // The last two addresses mean something else.
        let segments = blocks.min(ADDRESSES).saturating_sub(start) / SEGMENT_BLOCKS / zone * zone;
        let small = || FormatError::TooSmall { bytes, zone_bytes: zone * SEGMENT_BLOCKS * block };
        let sit = segments.div_ceil(shape.block.sit_entries().into()).div_ceil(SEGMENT_BLOCKS) * 2;
        let left = segments.checked_sub(CHECKPOINT_SEGMENTS + sit).ok_or_else(small)?;
        let nat = NatPlan::new(shape, sit, left);
        let left = left.checked_sub(nat.segments).ok_or_else(small)?;
        let packed = SummaryLayout::new(shape.block, shape.features.has(Features::PACKED_SSA)).per_block;
        let read_only = shape.is_read_only();
        // Nothing of it is ever moved.
        let summaries = if read_only { 0 } else { left.div_ceil(packed.into()).div_ceil(SEGMENT_BLOCKS) };
        let meta = (CHECKPOINT_SEGMENTS + sit + nat.segments + summaries).next_multiple_of(zone);
        let ssa = meta - CHECKPOINT_SEGMENTS - sit - nat.segments;
        let main = segments.checked_sub(meta).filter(|main| *main > 0).ok_or_else(small)?;
        let (reserved, overprovision) =
            if read_only { (0, 0) } else { reserve(main, section, shape.overprovision).ok_or_else(small)? };
        let is_small = if read_only { segments < SEGMENTS_MIN } else { main / zone <= LOGS };
        if is_small {
            return Err(small());
        }
        let NatPlan { segments: nat, payload, large } = nat;
        Ok(Geometry {
            blocks,
            segment0: start,
            segments,
            sit,
            nat,
            ssa,
            main,
            payload,
            large_nat: large,
            reserved,
            overprovision,
        })
    }

    /// The areas of a volume that is there. Its reserve is not among them.
    pub(crate) fn of(sb: &SuperBlock, large_nat: bool) -> Geometry {
        let raw = sb.raw();
        let of = |field: U32| u64::from(field.get());
        Geometry {
            blocks: raw.block_count.get(),
            segment0: of(raw.segment0_blkaddr),
            segments: of(raw.segment_count),
            sit: of(raw.segment_count_sit),
            nat: of(raw.segment_count_nat),
            ssa: of(raw.segment_count_ssa),
            main: of(raw.segment_count_main),
            payload: of(raw.cp_payload),
            large_nat,
            reserved: 0,
            overprovision: 0,
        }
    }

    /// Segments in front of the main area.
    pub(crate) fn metadata(&self) -> u64 {
        CHECKPOINT_SEGMENTS + self.sit + self.nat + self.ssa
    }

    /// The first block of the SIT, and of the NAT.
    pub(crate) fn sit_start(&self) -> u64 {
        self.segment0 + CHECKPOINT_SEGMENTS * SEGMENT_BLOCKS
    }

    pub(crate) fn nat_start(&self) -> u64 {
        self.sit_start() + self.sit * SEGMENT_BLOCKS
    }

    /// The first block of the main area.
    pub(crate) fn main_start(&self) -> u64 {
        self.segment0 + self.metadata() * SEGMENT_BLOCKS
    }

    /// Segments of the main area that SIT and SSA have room for.
    pub(crate) fn room(&self, shape: &Shape) -> u64 {
        let packed = SummaryLayout::new(shape.block, shape.features.has(Features::PACKED_SSA)).per_block;
        let sit = self.sit / 2 * SEGMENT_BLOCKS * u64::from(shape.block.sit_entries());
        sit.min(self.ssa * SEGMENT_BLOCKS * u64::from(packed))
    }

    /// Writes the areas into a super block.
    pub(crate) fn fill(&self, shape: &Shape, raw: &mut RawSuperBlock) {
        let field = |value: u64| U32::new(word(value));
        raw.set_sector(shape.sector_bytes);
        raw.segs_per_sec = U32::new(shape.section_segments);
        raw.secs_per_zone = U32::new(shape.zone_sections);
        raw.block_count = U64::new(self.blocks);
        raw.section_count = field(self.main / u64::from(shape.section_segments));
        raw.segment_count = field(self.segments);
        raw.segment_count_ckpt = field(CHECKPOINT_SEGMENTS);
        raw.segment_count_sit = field(self.sit);
        raw.segment_count_nat = field(self.nat);
        raw.segment_count_ssa = field(self.ssa);
        raw.segment_count_main = field(self.main);
        raw.cp_payload = field(self.payload);
        let mut next = self.segment0;
        raw.segment0_blkaddr = field(next);
        let mut begin = |segments: u64| {
            let here = next;
            next += segments * SEGMENT_BLOCKS;
            field(here)
        };
        raw.cp_blkaddr = begin(CHECKPOINT_SEGMENTS);
        raw.sit_blkaddr = begin(self.sit);
        raw.nat_blkaddr = begin(self.nat);
        raw.ssa_blkaddr = begin(self.ssa);
        raw.main_blkaddr = begin(self.main);
    }
}

/// The NAT: its segments, and where its bitmap has room.
struct NatPlan {
    segments: u64,
    payload: u64,
    large: bool,
}

impl NatPlan {
    /// As many numbers as there are blocks, but no more than a bitmap in the head of a checkpoint has room for, unless
    /// more nodes are asked for.
    fn new(shape: &Shape, sit: u64, left: u64) -> NatPlan {
        let entries = u64::from(shape.block.nat_entries());
        let room = shape.block.bytes_u64() - HEAD_BYTES - SUM_BYTES;
        let sit_bytes = sit / 2 * SEGMENT_BLOCKS / 8;
        let in_segments = |numbers: u64| numbers.div_ceil(entries).div_ceil(SEGMENT_BLOCKS);
        let useful = in_segments(left * SEGMENT_BLOCKS);
        let (payload, nat_room) = if sit_bytes + NAT_BITMAP_MIN > room {
            (sit_bytes.div_ceil(shape.block.bytes_u64()), room)
        } else {
            (0, room - sit_bytes)
        };
        let most = nat_room * 8 / SEGMENT_BLOCKS;
        let wanted = in_segments(shape.nodes.saturating_add(super::FIRST_FREE_NID)).min(useful);
        if wanted <= most {
            return NatPlan { segments: useful.min(most) * 2, payload, large: false };
        }
        let over = (sit_bytes + wanted * SEGMENT_BLOCKS / 8).saturating_sub(room);
        NatPlan { segments: wanted * 2, payload: over.div_ceil(shape.block.bytes_u64()), large: true }
    }
}

/// Segments reserved for the cleaner, and all that users cannot fill; `None` if too few are left.
pub(crate) fn reserve(main: u64, section: u64, percent: Option<f64>) -> Option<(u64, u64)> {
    let hundredths = |percent: f64| (percent.clamp(0.01, 99.0) * 100.0).round();
    // Rounded and within bounds: no digit is lost.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 9900")]
    let given = percent.map(|percent| hundredths(percent) as u64);
    if let Some(given) = given {
        return reserve_at(main, section, given);
    }
    let (first, step, last) = if main < SMALL { (1000, 500, 9500) } else { (1, 1, 1000) };
    let candidates = (first..=last).step_by(step).filter_map(|part| reserve_at(main, section, part));
    candidates.min_by_key(|(_, all)| *all)
}

/// The same at a given part, in hundredths of a per cent: the smaller the part that is free, the more sections cleaning
/// one may fill.
fn reserve_at(main: u64, section: u64, hundredths: u64) -> Option<(u64, u64)> {
    let reserved = (10_000 / hundredths + 1 + LOGS) * section;
    let part = main.checked_sub(reserved)? * hundredths / 10_000;
    // The six logs' sections are never free, and are not counted as the cleaner's.
    let all = reserved.max(part) + LOGS * section;
    (part > 0 && all < main && main >= reserved + LOGS).then_some((reserved, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shape: &Shape, mib: u64) -> Geometry {
        Geometry::new(shape, mib << 20).unwrap()
    }

    /// The areas of a volume of 64 MiB are those of mkfs.f2fs 1.15.
    #[test]
    fn areas_are_those_of_linux() {
        let geometry = plan(&Shape::default(), 64);
        assert_eq!((geometry.segment0, geometry.segments), (512, 31));
        assert_eq!((geometry.sit, geometry.nat, geometry.ssa, geometry.main), (2, 2, 1, 24));
    }

    #[test]
    fn a_volume_of_16_tib_has_payload_and_is_the_largest() {
        let shape = Shape::default();
        let geometry = Geometry::new(&shape, 16 << 40).unwrap();
        assert!(geometry.payload > 0 && !geometry.large_nat);
        assert_eq!(geometry.nat / 2, 60);
        assert!(matches!(Geometry::new(&shape, (16 << 40) + 4096), Err(FormatError::TooLarge { .. })));
    }

    #[test]
    fn many_nodes_take_the_large_bitmap() {
        let shape = Shape { nodes: 20 << 20, ..Shape::default() };
        let geometry = plan(&shape, 200 << 10);
        assert!(geometry.large_nat && geometry.payload > 0);
        assert!(geometry.nat / 2 * 512 * 455 >= 20 << 20);
    }

    #[test]
    fn every_size_is_planned_or_refused() {
        for zone in [1, 2, 5] {
            for mib in 0..400 {
                let shape = Shape { section_segments: zone, zone_sections: zone, ..Shape::default() };
                let Ok(geometry) = Geometry::new(&shape, mib << 20) else { continue };
                assert!(geometry.overprovision > geometry.reserved && geometry.overprovision < geometry.main);
                assert_eq!(geometry.main % u64::from(zone * zone), 0);
            }
        }
    }
}
