//! Blocks of files and directories in memory: written ones until they go to the log, directory blocks for
//! as long as there is room.

use alloc::{collections::BTreeMap, vec::Vec};

struct Cached {
    bytes: Vec<u8>,
    dirty: bool,
    used: u64,
}

/// Blocks by inode and index.
pub(crate) struct BlockCache {
    block: usize,
    blocks: BTreeMap<(u32, u32), Cached>,
    dirty: usize,
    tick: u64,
}

impl BlockCache {
    pub(crate) fn new(block: usize) -> BlockCache {
        BlockCache { block, blocks: BTreeMap::new(), dirty: 0, tick: 0 }
    }

    pub(crate) fn dirty_bytes(&self) -> usize {
        self.dirty * self.block
    }

    /// Bytes of blocks that could be dropped.
    pub(crate) fn clean_bytes(&self) -> usize {
        (self.blocks.len() - self.dirty) * (self.block + 64)
    }

    pub(crate) fn memory(&self) -> usize {
        self.blocks.len() * (self.block + 64)
    }

    pub(crate) fn get(&mut self, ino: u32, index: u32) -> Option<&Vec<u8>> {
        self.tick += 1;
        let tick = self.tick;
        self.blocks.get_mut(&(ino, index)).map(|cached| {
            cached.used = tick;
            &cached.bytes
        })
    }

    pub(crate) fn is_dirty(&self, ino: u32, index: u32) -> bool {
        self.blocks.get(&(ino, index)).is_some_and(|cached| cached.dirty)
    }

    /// A block in memory, about to be changed.
    pub(crate) fn get_mut(&mut self, ino: u32, index: u32) -> Option<&mut Vec<u8>> {
        let cached = self.blocks.get_mut(&(ino, index))?;
        self.dirty += usize::from(!core::mem::replace(&mut cached.dirty, true));
        Some(&mut cached.bytes)
    }

    /// Puts a block in; it has the full length.
    pub(crate) fn insert(&mut self, ino: u32, index: u32, bytes: Vec<u8>, dirty: bool) {
        self.tick += 1;
        self.dirty += usize::from(dirty);
        if let Some(old) = self.blocks.insert((ino, index), Cached { bytes, dirty, used: self.tick }) {
            self.dirty -= usize::from(old.dirty);
        }
    }

    /// Drops the blocks of an inode in `from..=to`, changed or not.
    pub(crate) fn discard(&mut self, ino: u32, from: u32, to: u32) {
        while let Some((&key, cached)) = self.blocks.range((ino, from)..=(ino, to)).next() {
            self.dirty -= usize::from(cached.dirty);
            self.blocks.remove(&key);
        }
    }

    /// The first changed block at or behind a place, of any inode.
    pub(crate) fn next_dirty(&self, from: (u32, u32)) -> Option<(u32, u32)> {
        if self.dirty == 0 {
            return None;
        }
        self.blocks.range(from..).find(|(_, cached)| cached.dirty).map(|(place, _)| *place)
    }

    /// The content of a changed block, which counts as written from here on; `keep` leaves it in memory.
    pub(crate) fn take(&mut self, ino: u32, index: u32, keep: bool) -> Option<Vec<u8>> {
        let cached = self.blocks.get_mut(&(ino, index))?;
        self.dirty -= usize::from(core::mem::replace(&mut cached.dirty, false));
        if keep {
            return Some(cached.bytes.clone());
        }
        self.blocks.remove(&(ino, index)).map(|cached| cached.bytes)
    }

    /// Drops unchanged blocks, least recently used first, until `bytes` remain.
    pub(crate) fn trim(&mut self, bytes: usize) {
        let clean = self.blocks.len() - self.dirty;
        let keep = bytes / (self.block + 64) / 2;
        if self.memory() <= bytes || clean <= keep {
            return;
        }
        let mut ages: Vec<u64> = self.blocks.values().filter(|c| !c.dirty).map(|c| c.used).collect();
        ages.sort_unstable_by(|a, b| b.cmp(a));
        let oldest = ages.get(keep).copied().unwrap_or(0);
        self.blocks.retain(|_, cached| cached.dirty || cached.used > oldest);
    }
}
