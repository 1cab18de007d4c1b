//! The size of checkpoints, the segments set apart for the leaves of the translation table, and those that a disk needs
//! in all.

use crate::head::HEADS;
use crate::layout::{RawChange, RawChanges, RawHead, RawPart, RawState};
use crate::line::LINE_MOST;
use crate::shape::Shape;

/// Pages of a checkpoint that hold the exclusive or of all others, so that any one of them may be lost.
const PARITY_PAGES: u64 = 1;
/// Pages of a checkpoint that the changes of the translation table since its leaves were written fill at the most.
const CHANGES_PAGES: u64 = 64;
/// Leaves that are written together, with a page of parity over them.
pub(crate) const GROUP: u32 = 15;

/// Bytes of a log page that a checkpoint fills.
pub(crate) fn part_bytes(shape: &Shape) -> usize {
    shape.payload() - size_of::<RawPart>()
}

/// Segments that a checkpoint of a disk of so many blocks takes at the most.
pub(crate) fn segments_at_most(shape: &Shape, logical_blocks: u32) -> u32 {
    let head = size_of::<RawHead>() + shape.pages as usize * shape.named_bytes();
    segments_with(shape, logical_blocks, HEADS * head)
}

/// Segments that it takes at the most with heads of so many bytes.
pub(crate) fn segments_with(shape: &Shape, logical_blocks: u32, heads: usize) -> u32 {
    let lines = u64::from(shape.blocks) * LINE_MOST as u64;
    segments_of(shape, logical_blocks, heads, changes_most(shape, logical_blocks), lines)
}

/// Segments that it takes with so many bytes of heads, of changes and of lines of the lookup table.
pub(crate) fn segments_of(shape: &Shape, logical_blocks: u32, heads: usize, changes: u64, lines: u64) -> u32 {
    let leaves = u64::from(leaves(shape, logical_blocks)) * 4;
    let bytes = size_of::<RawState>() as u64 + leaves + heads as u64 + changes + lines;
    let pages = bytes.div_ceil(part_bytes(shape) as u64) + PARITY_PAGES;
    u32::try_from(pages.div_ceil(u64::from(shape.pages))).unwrap_or(u32::MAX)
}

/// Leaves of the translation table.
pub(crate) fn leaves(shape: &Shape, logical_blocks: u32) -> u32 {
    logical_blocks.div_ceil(shape.leaf_entries())
}

/// Bytes of the whole table as changes.
fn table_bytes(shape: &Shape, logical_blocks: u32) -> u64 {
    let heads = u64::from(leaves(shape, logical_blocks)) * size_of::<RawChanges>() as u64;
    heads + u64::from(logical_blocks) * 4
}

/// Bytes of the changes that a checkpoint holds at the most.
pub(crate) fn changes_most(shape: &Shape, logical_blocks: u32) -> u64 {
    table_bytes(shape, logical_blocks).min(CHANGES_PAGES * part_bytes(shape) as u64)
}

/// Segments in which all blocks may have changed, and the changes take half of the room that a checkpoint has for them.
pub(crate) fn changes_of_segments(shape: &Shape, logical_blocks: u32) -> u32 {
    let heads = u64::from(leaves(shape, logical_blocks)) * size_of::<RawChanges>() as u64;
    let room = (changes_most(shape, logical_blocks) / 2).saturating_sub(heads);
    let segment = u64::from(shape.capacity()) * size_of::<RawChange>() as u64;
    u32::try_from(room / segment).unwrap_or(u32::MAX)
}

/// Segments that are set apart for leaves: those of all, a quarter as many, one that is filled and one to go on in. None
/// where the whole table fits the changes of a checkpoint: its leaves are never written.
pub(crate) fn map_segments(shape: &Shape, logical_blocks: u32) -> u32 {
    if table_bytes(shape, logical_blocks) <= changes_most(shape, logical_blocks) {
        return 0;
    }
    let leaves = leaves(shape, logical_blocks);
    let pages = u64::from(leaves + leaves.div_ceil(GROUP.min(shape.pages - 1)));
    let segments = (pages + pages / 4).div_ceil(u64::from(shape.pages)) + 2 + u64::from(shape.is_paired());
    u32::try_from(segments).unwrap_or(u32::MAX)
}

/// Segments that a disk needs beyond those of the logical blocks and of two checkpoints. Two hold the records of
/// checkpoints, one takes the cleaner's copies, one leaves always something to clean, and one is for a program that
/// fails.
const SPARE_LEAST: u32 = 5;

/// Segments that a disk of `logical_blocks` needs in all, besides the anchors.
pub(crate) fn segments_needed(shape: &Shape, logical_blocks: u32, checkpoint_most: u32) -> u32 {
    // If a commit costs pages, more must be cleaned: summaries, a page that is not full, and pages passed over in the
    // heads that took the copies. Each segment cleaned counts as if each head took some from it.
    let commit = if shape.tagged { 0 } else { shape.slots * shape.summaries + shape.slots - 1 };
    let passed =
        if shape.is_paired() { (shape.lost + 1) * HEADS_COPIED_TO / (batch_least(shape) + 1) } else { 0 };
    let commit = commit + passed * shape.slots;
    let data = logical_blocks.div_ceil(shape.capacity().saturating_sub(commit).max(1));
    let map = map_segments(shape, logical_blocks);
    data.saturating_add(2 * checkpoint_most).saturating_add(map + SPARE_LEAST + batch_least(shape))
}

/// Heads that the cleaner copies to between two commits where these cost pages: more than the default placement has.
const HEADS_COPIED_TO: u32 = 8;

/// Cleaned segments that wait for one commit together where commits cost pages: the least, and the most.
const BATCH: [u32; 2] = [3, 12];
/// One in so many segments waits, between these.
const BATCH_SHARE: u32 = 256;

/// Cleaned segments that wait for one commit however little the chip has to spare.
pub(crate) fn batch_least(shape: &Shape) -> u32 {
    if shape.is_batched() { BATCH[0] } else { 0 }
}

/// Those that a new disk leaves room for beyond these: a commit that writes a summary in every head is worth more.
pub(crate) fn batch_besides(shape: &Shape) -> u32 {
    if shape.tagged { 0 } else { (shape.blocks / BATCH_SHARE).clamp(BATCH[0], BATCH[1]) - BATCH[0] }
}
