//! A directory as a hash table: levels of buckets, each bucket a few blocks.

use core::ops::Range;

/// Levels a hash table may have.
pub const LEVELS_MAX: u32 = 63;

/// Buckets in a level: they double from level to level, down to the middle.
pub fn buckets(level: u32, dir_level: u32) -> u64 {
    1 << (level + dir_level).min(LEVELS_MAX / 2 - 1)
}

/// Blocks in each bucket of a level.
pub fn bucket_blocks(level: u32) -> u64 {
    if level < LEVELS_MAX / 2 { 2 } else { 4 }
}

/// The blocks of each of the first levels that may hold names with a hash.
pub(crate) fn places(hash: u32, dir_level: u32, levels: u32) -> impl Iterator<Item = Range<u64>> {
    (0..levels.min(LEVELS_MAX)).scan(0, move |start, level| {
        let (buckets, blocks) = (buckets(level, dir_level), bucket_blocks(level));
        let first = *start + u64::from(hash) % buckets * blocks;
        *start += buckets * blocks;
        Some(first..first + blocks)
    })
}

/// The level that a block of a directory belongs to, and the blocks there that may hold names with a hash.
pub(crate) fn bucket_beside(index: u64, hash: u32, dir_level: u32) -> (u32, Range<u64>) {
    let (mut level, mut start) = (0, 0);
    loop {
        let (buckets, blocks) = (buckets(level, dir_level), bucket_blocks(level));
        if index < start + buckets * blocks || level >= LEVELS_MAX {
            let first = start + u64::from(hash) % buckets * blocks;
            return (level, first..first + blocks);
        }
        level += 1;
        start += buckets * blocks;
    }
}
