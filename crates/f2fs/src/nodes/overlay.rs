//! The changes of rolling forward, kept in memory over a volume that is not written to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    error::Result,
    layout::{BlockAddr, Nid, NodeOffset},
    volume::{Block, Node, Volume, footer},
};

/// A block as it stands on the medium, with a few bytes changed. Thousands of them are small.
#[derive(Clone, Debug)]
pub(crate) struct Patched {
    /// The address of the block; `None` for one that is nowhere yet, all zeros.
    base: Option<BlockAddr>,
    patches: Vec<(usize, Vec<u8>)>,
}

impl Patched {
    /// Remembers the differences between `bytes` and the block at `base`.
    pub(crate) fn new(volume: &Volume, base: Option<BlockAddr>, bytes: &[u8]) -> Result<Patched> {
        let old = read(volume, base)?;
        let differs = |at: &usize| old.get(*at) != bytes.get(*at);
        let mut patches = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            if !differs(&at) {
                at += 1;
                continue;
            }
            // Few equal bytes between two differences cost less than a patch of their own.
            let mut end = at + 1;
            while (end..bytes.len().min(end + 32)).any(|at| differs(&at)) {
                end += 1;
            }
            patches.push((at, bytes.get(at..end).unwrap_or_default().to_vec()));
            at = end;
        }
        Ok(Patched { base, patches })
    }

    /// The block at `addr`, unchanged.
    pub(crate) fn unchanged(addr: BlockAddr) -> Patched {
        Patched { base: Some(addr), patches: Vec::new() }
    }

    /// The address on the medium, if there is one.
    pub(crate) fn base(&self) -> Option<BlockAddr> {
        self.base
    }

    /// Its bytes.
    pub(crate) fn bytes(&self, volume: &Volume) -> Result<Block> {
        let block = read(volume, self.base)?;
        if self.patches.is_empty() {
            return Ok(block);
        }
        let mut bytes = (*block).clone();
        for (at, patch) in &self.patches {
            if let Some(place) = bytes.get_mut(*at..at + patch.len()) {
                place.copy_from_slice(patch);
            }
        }
        Ok(Arc::new(bytes))
    }

    fn node(&self, volume: &Volume) -> Result<Node> {
        let block = self.bytes(volume)?;
        let addr = self.base.unwrap_or_default();
        Ok(Node { addr, footer: footer(&block, addr)?, block, as_stored: false })
    }
}

fn read(volume: &Volume, base: Option<BlockAddr>) -> Result<Block> {
    match base {
        Some(addr) => volume.block(addr),
        None => Ok(Arc::new(vec![0; volume.block_size().width()])),
    }
}

/// Everything that is not as the checkpoint has it.
#[derive(Default)]
pub(crate) struct Overlay {
    /// Inodes.
    pub(crate) inodes: BTreeMap<Nid, Patched>,
    /// Direct nodes, by inode and their order in it. Indirect nodes on the way to them may not exist.
    pub(crate) direct: BTreeMap<(Nid, u32), Patched>,
    /// Blocks of attributes, by inode.
    pub(crate) xattrs: BTreeMap<Nid, BlockAddr>,
    /// Blocks of directories.
    pub(crate) leaves: BTreeMap<(Nid, u64), Patched>,
    /// Indirect nodes that would have been made.
    pub(crate) made: BTreeSet<(Nid, NodeOffset)>,
}

impl Overlay {
    /// An inode, if it was changed.
    pub(crate) fn inode(&self, volume: &Volume, ino: Nid) -> Result<Option<Node>> {
        self.inodes.get(&ino).map(|block| block.node(volume)).transpose()
    }

    /// A direct node, if it was changed.
    pub(crate) fn direct(&self, volume: &Volume, ino: Nid, index: u32) -> Result<Option<Node>> {
        self.direct.get(&(ino, index)).map(|block| block.node(volume)).transpose()
    }

    /// The first changed direct node of an inode behind `index`.
    pub(crate) fn direct_behind(&self, ino: Nid, index: u32) -> Option<u32> {
        let range = (ino, index.saturating_add(1))..=(ino, u32::MAX);
        self.direct.range(range).next().map(|((_, index), _)| *index)
    }

    /// The first changed block of a directory behind `index`.
    pub(crate) fn leaf_behind(&self, dir: Nid, index: u64) -> Option<u64> {
        let range = (dir, index.saturating_add(1))..=(dir, u64::MAX);
        self.leaves.range(range).next().map(|((_, index), _)| *index)
    }

    /// A block of a directory, if it was changed.
    pub(crate) fn leaf(&self, volume: &Volume, dir: Nid, index: u64) -> Result<Option<Block>> {
        self.leaves.get(&(dir, index)).map(|block| block.bytes(volume)).transpose()
    }
}
