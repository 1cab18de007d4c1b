//! A bit for each block of the main area, set by several threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks that something points to, counted from the start of the main area.
pub(super) struct BlockSet {
    words: Vec<AtomicU64>,
}

impl BlockSet {
    pub(super) fn new(blocks: u64) -> BlockSet {
        let words = usize::try_from(blocks.div_ceil(64)).unwrap_or(0);
        BlockSet { words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a block; true if it was there already.
    pub(super) fn insert(&self, block: u32) -> bool {
        let bit = 1 << (block % 64);
        self.words
            .get((block / 64) as usize)
            .is_some_and(|word| word.fetch_or(bit, Ordering::Relaxed) & bit != 0)
    }

    /// Blocks `index * 64` to `index * 64 + 63`, the first as the lowest bit.
    pub(super) fn word(&self, index: u32) -> u64 {
        self.words.get(index as usize).map_or(0, |word| word.load(Ordering::Relaxed))
    }
}
