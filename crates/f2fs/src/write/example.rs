//! A volume of 64 MiB on which nothing stands yet, for tests.

use pumice_media::MemDisk;
use zerocopy::little_endian::{U32, U64};

use super::medium::Medium;
use crate::layout::{BlockSize, Features, RawSuperBlock, SuperBlock};

const BLOCKS: u32 = 16384;

/// Its super block: 24 segments of the main area, and so many blocks of checkpoint payload.
pub(super) fn super_block(payload: u32) -> SuperBlock {
    let mut raw = RawSuperBlock::blank(BlockSize::KIB4, Features::default());
    (raw.segs_per_sec, raw.secs_per_zone) = (U32::new(1), U32::new(1));
    raw.block_count = U64::new(BLOCKS.into());
    raw.cp_payload = U32::new(payload);
    (raw.segment_count, raw.section_count) = (U32::new(31), U32::new(24));
    let mut start = 512;
    raw.segment0_blkaddr = U32::new(start);
    for (at, count, segments) in [
        (&mut raw.cp_blkaddr, &mut raw.segment_count_ckpt, 2),
        (&mut raw.sit_blkaddr, &mut raw.segment_count_sit, 2),
        (&mut raw.nat_blkaddr, &mut raw.segment_count_nat, 2),
        (&mut raw.ssa_blkaddr, &mut raw.segment_count_ssa, 1),
        (&mut raw.main_blkaddr, &mut raw.segment_count_main, 24),
    ] {
        (*at, *count) = (U32::new(start), U32::new(segments));
        start += segments * 512;
    }
    SuperBlock::from_raw(raw).unwrap()
}

/// Its device, all zeros.
pub(super) fn medium() -> Medium {
    Medium::new(Box::new(MemDisk::new(4096, BLOCKS.into())), BlockSize::KIB4)
}
