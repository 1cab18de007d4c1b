//! Discards: the free blocks that the device is told of.

use std::ops::Range;

use super::{
    discard_unit::DiscardUnit,
    medium::Medium,
    sit::{Freed, Sit},
};
use crate::{
    error::Result,
    layout::{BlockAddr, SegNo, SuperBlock},
};

/// Tells the device of what a checkpoint has freed, in such pieces: nothing that a power cut leaves has it any more.
pub(super) fn tell(unit: DiscardUnit, freed: &Freed, sb: &SuperBlock, sit: &Sit, medium: &Medium) {
    let segments = if unit == DiscardUnit::Section { sb.segments_per_section() } else { 1 };
    let mut firsts: Vec<u32> = freed.segments.iter().map(|segno| segno.0 / segments * segments).collect();
    if unit == DiscardUnit::Section {
        firsts.dedup();
        firsts.retain(|first| sit.are_free(*first, segments));
    }
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for first in firsts {
        match runs.last_mut() {
            Some((start, count)) if *start + *count == first => *count += segments,
            _ => runs.push((first, segments)),
        }
    }
    for (first, count) in runs {
        medium.discard(sit.addr(SegNo(first), 0), count * sb.blocks_per_segment());
    }
    freed.holes.iter().for_each(|(addr, count)| medium.discard(*addr, *count));
}

/// Tells the device of all blocks within a range of its bytes that neither the last checkpoint nor anything since has, and
/// that no log goes on at, in pieces of `least` bytes at least. Returns how many bytes these are.
pub(super) fn trim(
    range: &Range<u64>,
    least: u64,
    sb: &SuperBlock,
    sit: &Sit,
    medium: &Medium,
) -> Result<u64> {
    let width = sb.block().bytes_u64();
    let (start, end) = (range.start.div_ceil(width), range.end / width);
    let mut blocks = 0;
    sit.each_free(medium, &mut |addr, count| {
        let (from, to) = (u64::from(addr.0).max(start), (u64::from(addr.0) + u64::from(count)).min(end));
        let inside = to.saturating_sub(from);
        if inside > 0 && inside.saturating_mul(width) >= least {
            let [from, count] = [from, inside].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
            medium.discard(BlockAddr(from), count);
            blocks += inside;
        }
    })?;
    Ok(blocks.saturating_mul(width))
}
