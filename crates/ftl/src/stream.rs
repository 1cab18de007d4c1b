//! How large checkpoints are.

use crate::head::HEADS;
use crate::layout::{RawHead, RawPart, RawSegment, RawState};
use crate::shape::Shape;

/// Pages of a checkpoint that hold the exclusive or of all others, so that any one of them may be lost.
const PARITY_PAGES: u64 = 1;

/// Bytes of a log page that a checkpoint fills.
pub(crate) fn part_bytes(shape: &Shape) -> usize {
    shape.payload() - size_of::<RawPart>()
}

/// Segments that a checkpoint of a disk of so many blocks takes at the most.
pub(crate) fn segments_at_most(shape: &Shape, logical_blocks: u32) -> u32 {
    let head = size_of::<RawHead>() + shape.pages as usize * shape.named_bytes();
    segments_with(shape, logical_blocks, HEADS * head)
}

/// Segments that it takes with heads of so many bytes.
pub(crate) fn segments_with(shape: &Shape, logical_blocks: u32, heads: usize) -> u32 {
    let bytes = stream_bytes(shape, logical_blocks) + heads as u64;
    let pages = bytes.div_ceil(part_bytes(shape) as u64) + PARITY_PAGES;
    u32::try_from(pages.div_ceil(u64::from(shape.pages))).unwrap_or(u32::MAX)
}

/// Bytes of a checkpoint without its heads.
fn stream_bytes(shape: &Shape, logical_blocks: u32) -> u64 {
    let segments = u64::from(shape.blocks) * size_of::<RawSegment>() as u64;
    size_of::<RawState>() as u64 + u64::from(logical_blocks) * 4 + segments
}
