//! Blocks of metadata that were read lately.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use crate::layout::BlockAddr;

/// The bytes of a block, shared.
pub type Block = Arc<Vec<u8>>;

/// Parts that are locked each on its own, so that readers seldom meet.
const SHARDS: usize = 16;

/// A cache of bounded size. Nothing it holds ever changes: whoever writes to a block has it forgotten.
pub(crate) struct BlockCache {
    shards: Vec<Mutex<Shard>>,
}

/// A clock: the hand passes over blocks that were used since it came by last.
struct Shard {
    index: HashMap<u32, usize>,
    slots: Vec<Slot>,
    hand: usize,
    capacity: usize,
}

struct Slot {
    addr: u32,
    used: bool,
    block: Block,
}

impl BlockCache {
    /// A cache of `bytes` bytes for blocks of `block_bytes`; it holds a few blocks in any case.
    pub(crate) fn new(bytes: usize, block_bytes: usize) -> BlockCache {
        let capacity = (bytes / block_bytes.max(1) / SHARDS).max(4);
        let shard = || Mutex::new(Shard { index: HashMap::new(), slots: Vec::new(), hand: 0, capacity });
        BlockCache { shards: (0..SHARDS).map(|_| shard()).collect() }
    }

    fn shard(&self, addr: BlockAddr) -> Option<&Mutex<Shard>> {
        self.shards.get(addr.0 as usize % SHARDS)
    }

    /// A block, if it is there.
    pub(crate) fn get(&self, addr: BlockAddr) -> Option<Block> {
        let mut shard = self.shard(addr)?.lock();
        let at = *shard.index.get(&addr.0)?;
        let slot = shard.slots.get_mut(at)?;
        slot.used = true;
        Some(slot.block.clone())
    }

    /// Keeps a block, in place of one that was not used for long.
    pub(crate) fn put(&self, addr: BlockAddr, block: &Block) {
        if let Some(shard) = self.shard(addr) {
            shard.lock().put(addr.0, block);
        }
    }

    /// Drops a block that is written anew.
    pub(crate) fn forget(&self, addr: BlockAddr) {
        if let Some(shard) = self.shard(addr) {
            shard.lock().forget(addr.0);
        }
    }
}

impl Shard {
    fn put(&mut self, addr: u32, block: &Block) {
        if self.index.contains_key(&addr) {
            return;
        }
        let slot = Slot { addr, used: false, block: block.clone() };
        if self.slots.len() < self.capacity {
            self.index.insert(addr, self.slots.len());
            self.slots.push(slot);
            return;
        }
        let at = self.victim();
        if let Some(place) = self.slots.get_mut(at) {
            self.index.remove(&place.addr);
            *place = slot;
            self.index.insert(addr, at);
        }
    }

    /// The last slot takes the place of the one that goes.
    fn forget(&mut self, addr: u32) {
        let Some(at) = self.index.remove(&addr) else { return };
        self.slots.swap_remove(at);
        if let Some(moved) = self.slots.get(at) {
            self.index.insert(moved.addr, at);
        }
        self.hand = if self.slots.is_empty() { 0 } else { self.hand % self.slots.len() };
    }

    fn victim(&mut self) -> usize {
        // Twice round is enough: the first round clears every mark.
        for _ in 0..self.slots.len() * 2 {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.slots.len();
            if let Some(slot) = self.slots.get_mut(at)
                && !std::mem::take(&mut slot.used)
            {
                return at;
            }
        }
        self.hand
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_size_is_kept() {
        let cache = BlockCache::new(SHARDS * 8, 1);
        let block = Arc::new(vec![0]);
        // All in one shard, which holds eight.
        let addr = |n: u32| BlockAddr(n * 16);
        for n in 0..100 {
            cache.put(addr(n), &block);
            assert!(cache.get(addr(0)).is_some(), "block 0 is used after each of {n} others");
        }
        assert_eq!((0..100).filter(|n| cache.get(addr(*n)).is_some()).count(), 8);
    }
}
