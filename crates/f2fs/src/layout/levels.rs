//! A directory as a hash table: levels of buckets, each bucket a few blocks.

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
