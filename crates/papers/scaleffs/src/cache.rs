//! Metadata in memory: changed blocks stay until they are written, the rest while there is room (5.4).

use std::collections::{BTreeMap, BTreeSet};

use crate::spare::{Kind, Owner};

struct Cached {
    bytes: Vec<u8>,
    used: u64,
}

/// Blocks of metadata by their owner.
pub(crate) struct Cache {
    blocks: BTreeMap<Owner, Cached>,
    dirty: BTreeSet<Owner>,
    turn: u64,
    limit: usize,
    most: usize,
}

impl Cache {
    /// A cache that keeps so many blocks that need not be written.
    pub(crate) fn new(limit: usize) -> Cache {
        Cache { blocks: BTreeMap::new(), dirty: BTreeSet::new(), turn: 0, limit: limit.max(16), most: 0 }
    }

    pub(crate) fn has(&self, owner: &Owner) -> bool {
        self.blocks.contains_key(owner)
    }

    pub(crate) fn get(&mut self, owner: &Owner) -> Option<&[u8]> {
        self.turn += 1;
        let cached = self.blocks.get_mut(owner)?;
        cached.used = self.turn;
        Some(&cached.bytes)
    }

    /// A block to be changed; it is dirty from now on.
    pub(crate) fn change(&mut self, owner: &Owner) -> Option<&mut [u8]> {
        self.turn += 1;
        let cached = self.blocks.get_mut(owner)?;
        cached.used = self.turn;
        self.dirty.insert(*owner);
        Some(&mut cached.bytes)
    }

    /// Adds or replaces a block; a new one is clean.
    pub(crate) fn insert(&mut self, owner: Owner, bytes: Vec<u8>) {
        self.turn += 1;
        self.blocks.insert(owner, Cached { bytes, used: self.turn });
        self.most = self.most.max(self.blocks.len());
        if self.blocks.len() - self.dirty.len() > self.limit {
            self.evict();
        }
    }

    /// Drops the quarter of the clean blocks that was not used for longest.
    fn evict(&mut self) {
        let clean = self.blocks.iter().filter(|(owner, _)| !self.dirty.contains(owner));
        let mut ages: Vec<u64> = clean.map(|(_, cached)| cached.used).collect();
        ages.sort_unstable();
        let Some(oldest) = ages.get(ages.len() / 4).copied() else { return };
        let dirty = &self.dirty;
        self.blocks.retain(|owner, cached| cached.used > oldest || dirty.contains(owner));
    }

    /// The block was written.
    pub(crate) fn clean(&mut self, owner: &Owner) {
        self.dirty.remove(owner);
    }

    pub(crate) fn remove(&mut self, owner: &Owner) {
        self.blocks.remove(owner);
        self.dirty.remove(owner);
    }

    /// Drops all blocks of an inode.
    pub(crate) fn remove_inode(&mut self, ino: u32) {
        let range = Owner { ino, kind: Kind::Data, offset: 0 }..=Owner {
            ino,
            kind: Kind::Checkpoint,
            offset: u32::MAX,
        };
        let owners: Vec<Owner> = self.blocks.range(range).map(|(owner, _)| *owner).collect();
        for owner in &owners {
            self.remove(owner);
        }
    }

    /// The dirty blocks.
    pub(crate) fn dirty(&self) -> &BTreeSet<Owner> {
        &self.dirty
    }

    /// The dirty blocks of an inode that are of one kind.
    pub(crate) fn dirty_of(&self, ino: u32, kind: Kind) -> Vec<Owner> {
        let range = Owner { ino, kind, offset: 0 }..=Owner { ino, kind, offset: u32::MAX };
        self.dirty.range(range).copied().collect()
    }

    /// Blocks kept now, and the most that were.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.blocks.len(), self.most)
    }
}
