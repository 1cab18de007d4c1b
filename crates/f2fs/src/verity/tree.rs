//! Verifying blocks against the Merkle tree.
//!
//! A block of the tree holds the hashes of consecutive blocks one level below; level 0 is the data. The levels stand one
//! after the other, the root's first. A block is trusted once its hash agreed with a block that is trusted.

use std::collections::{HashMap, VecDeque};

use super::{Descriptor, VerityError};

/// The source of the tree's blocks: reads into the buffer from `offset` bytes into the tree.
pub trait Source {
    /// The error of a failed read; a refused block becomes one of these.
    type Error: From<VerityError>;
    /// Fills `block` from `offset`, counted from the start of the tree ([`super::metadata_start`]).
    fn read_tree(&mut self, offset: u64, block: &mut [u8]) -> Result<(), Self::Error>;
}

/// Levels that a tree can have: 64 bits of size at 16 hashes a block.
const MAX_LEVELS: usize = 16;

/// Verifies a file's blocks, and remembers trusted blocks of the tree up to a limit.
pub struct Verifier {
    descriptor: Descriptor,
    /// The first block and the number of blocks of each level of the tree, from the one above the data up.
    levels: Vec<(u64, u64)>,
    trusted: HashMap<u64, Vec<u8>>,
    order: VecDeque<u64>,
    limit: usize,
}

impl Verifier {
    /// A verifier of a sealed file; `cache_blocks` trusted blocks of the tree are kept, at least one.
    pub fn new(descriptor: Descriptor, cache_blocks: usize) -> Verifier {
        let levels = levels(&descriptor);
        let (trusted, order) = (HashMap::new(), VecDeque::new());
        Verifier { descriptor, levels, trusted, order, limit: cache_blocks.max(1) }
    }

    /// The descriptor.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Bytes of the tree.
    pub fn tree_bytes(&self) -> u64 {
        let blocks: u64 = self.levels.iter().map(|&(_, blocks)| blocks).sum();
        blocks.saturating_mul(self.descriptor.block_bytes.into())
    }

    /// Verifies data block `index`. `block` is as long as the tree's blocks, zero behind the end of the file.
    pub fn verify<S: Source>(&mut self, index: u64, block: &[u8], source: &mut S) -> Result<(), S::Error> {
        let size = u64::from(self.descriptor.block_bytes);
        let beyond = index >= self.descriptor.data_bytes.div_ceil(size);
        if beyond || u64::try_from(block.len()) != Ok(size) {
            return Err(VerityError::NoBlock { block: index, bytes: block.len() }.into());
        }
        let wanted = self.wanted_hash(0, index, source)?;
        self.compare(0, index, block, &wanted)?;
        Ok(())
    }

    /// Verifies every block of the tree, and no data. Each is read once as long as trusted blocks are kept.
    pub fn verify_tree<S: Source>(&mut self, source: &mut S) -> Result<(), S::Error> {
        let lowest = self.levels.first().map_or(0, |&(_, blocks)| blocks);
        let per_block = u64::from(self.descriptor.block_bytes) / self.digest_bytes();
        (0..lowest).try_for_each(|parent| self.wanted_hash(0, parent * per_block, source).map(drop))
    }

    /// The trusted hash of block `index` of `level`. Goes up until a block is trusted, and down again.
    fn wanted_hash<S: Source>(&mut self, level: u8, index: u64, source: &mut S) -> Result<Vec<u8>, S::Error> {
        let Some(&(first, _)) = self.levels.get(usize::from(level)) else {
            return Ok(self.descriptor.root_hash.clone());
        };
        let digest = self.descriptor.algorithm.digest_bytes();
        let per_block = u64::from(self.descriptor.block_bytes) / self.digest_bytes();
        let (parent, slot) = (index / per_block, index % per_block);
        let hashes = match self.trusted.get(&(first + parent)) {
            Some(hashes) => hashes,
            None => self.trust(level + 1, parent, first + parent, source)?,
        };
        let mut slots = hashes.chunks_exact(digest);
        let hash = usize::try_from(slot).ok().and_then(|slot| slots.nth(slot)).unwrap_or_default();
        Ok(hash.to_vec())
    }

    /// Reads block `index` of `level`, block `place` of the tree, verifies it and keeps it.
    fn trust<S: Source>(
        &mut self,
        level: u8,
        index: u64,
        place: u64,
        source: &mut S,
    ) -> Result<&[u8], S::Error> {
        let wanted = self.wanted_hash(level, index, source)?;
        let size = self.descriptor.block_bytes;
        let mut block = vec![0; usize::try_from(size).unwrap_or_default()];
        source.read_tree(place.saturating_mul(size.into()), &mut block)?;
        self.compare(level, index, &block, &wanted)?;
        while self.order.len() >= self.limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.trusted.remove(&oldest);
        }
        self.order.push_back(place);
        Ok(self.trusted.entry(place).insert_entry(block).into_mut())
    }

    fn compare(&self, level: u8, index: u64, block: &[u8], wanted: &[u8]) -> Result<(), VerityError> {
        let right = self.descriptor.hash(block) == wanted;
        right.then_some(()).ok_or(VerityError::Mismatch { level, block: index })
    }

    fn digest_bytes(&self) -> u64 {
        u64::try_from(self.descriptor.algorithm.digest_bytes()).unwrap_or(1)
    }
}

/// First block and number of blocks of each level, from the one above the data up to the root.
fn levels(descriptor: &Descriptor) -> Vec<(u64, u64)> {
    let size = u64::from(descriptor.block_bytes);
    let per_block = size / u64::try_from(descriptor.algorithm.digest_bytes()).unwrap_or(1);
    let mut counts = Vec::with_capacity(MAX_LEVELS);
    let mut blocks = descriptor.data_bytes.div_ceil(size);
    while blocks > 1 {
        blocks = blocks.div_ceil(per_block);
        counts.push(blocks);
    }
    let mut first = 0;
    let mut levels: Vec<_> = counts
        .into_iter()
        .rev()
        .map(|blocks| {
            let level = (first, blocks);
            first += blocks;
            level
        })
        .collect();
    levels.reverse();
    levels
}
