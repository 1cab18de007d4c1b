//! Sealing new content: the Merkle tree and the descriptor.

use zerocopy::{
    FromZeros, IntoBytes,
    little_endian::{U32, U64},
};

use super::{HashAlgorithm, RawDescriptor, RawLocation, metadata_start};

/// Longest salt, in bytes.
pub const SALT_MAX: usize = 32;

/// Bytes that are hashed at a time: whole blocks of every tree.
const PIECE: usize = 1 << 20;

/// The parameters of a seal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seal {
    algorithm: HashAlgorithm,
    block_bytes: u32,
    salt: Vec<u8>,
}

/// The metadata behind the content of a sealed file.
pub struct Sealed {
    /// The tree, the root's level first, and behind it the descriptor.
    pub metadata: Vec<u8>,
    /// The hash of the descriptor, as `fsverity measure` prints it.
    pub digest: Vec<u8>,
}

impl Seal {
    /// Hash, bytes of a block of the tree (a power of two from 1024 to 65536), and salt, of which 32 bytes count at most.
    pub fn new(algorithm: HashAlgorithm, block_bytes: u32, mut salt: Vec<u8>) -> Seal {
        debug_assert!(block_bytes.is_power_of_two() && salt.len() <= SALT_MAX);
        salt.truncate(SALT_MAX);
        Seal { algorithm, block_bytes, salt }
    }

    /// The hash.
    pub fn algorithm(&self) -> HashAlgorithm {
        self.algorithm
    }

    /// Bytes of a block of the tree, and of data that one hash stands for.
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Seals `size` bytes, which `read` gives from an offset on.
    pub fn of<E>(
        &self,
        size: u64,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Sealed, E> {
        let (mut hashes, mut at) = (Vec::new(), 0);
        let mut piece = vec![0; PIECE];
        while at < size {
            let length = usize::try_from(size - at).map_or(PIECE, |left| left.min(PIECE));
            let (piece, _) = piece.split_at_mut(length);
            read(at, piece)?;
            self.hash(piece, &mut hashes);
            at += length as u64;
        }
        Ok(self.finish(size, hashes))
    }

    /// Appends the hashes of the blocks of `data`; zeros follow in the last.
    pub fn hash(&self, data: &[u8], hashes: &mut Vec<u8>) {
        let (salt, width) = (self.algorithm.padded(&self.salt), self.width());
        for block in data.chunks(width) {
            if block.len() == width {
                hashes.extend(self.algorithm.of([&salt, block]));
            } else {
                let mut padded = block.to_vec();
                padded.resize(width, 0);
                hashes.extend(self.algorithm.of([&salt, &padded]));
            }
        }
    }

    /// Adds hashes of zeros until there is one for each block in front of byte `end`.
    pub fn hash_hole(&self, end: u64, hashes: &mut Vec<u8>) {
        let wanted = usize::try_from(end.div_ceil(self.block_bytes.into())).unwrap_or(usize::MAX);
        let digest = self.algorithm.digest_bytes();
        if hashes.len() / digest >= wanted {
            return;
        }
        let mut zeros = Vec::new();
        self.hash(&vec![0; self.width()], &mut zeros);
        while hashes.len() / digest < wanted {
            hashes.extend_from_slice(&zeros);
        }
    }

    /// Bytes of the tree of a file.
    pub fn tree_bytes(&self, data_bytes: u64) -> u64 {
        let width = u64::from(self.block_bytes);
        let per_block = width / self.algorithm.digest_bytes() as u64;
        let (mut blocks, mut all) = (data_bytes.div_ceil(width), 0);
        while blocks > 1 {
            blocks = blocks.div_ceil(per_block);
            all += blocks;
        }
        all * width
    }

    /// The value of the attribute that names the descriptor's place; `None` if no file is that large.
    pub fn location(&self, data_bytes: u64) -> Option<RawLocation> {
        let position = metadata_start(data_bytes)?.checked_add(self.tree_bytes(data_bytes))?;
        let size = U32::new(crate::word::word(size_of::<RawDescriptor>()));
        Some(RawLocation { version: U32::new(1), size, pos: U64::new(position) })
    }

    /// Seals a file of `data_bytes` bytes with these hashes of its blocks.
    pub fn finish(&self, data_bytes: u64, hashes: Vec<u8>) -> Sealed {
        let digest = self.algorithm.digest_bytes();
        debug_assert_eq!(hashes.len() as u64 / digest as u64, data_bytes.div_ceil(self.block_bytes.into()));
        let mut levels = Vec::new();
        let mut hashes = hashes;
        while hashes.len() > digest {
            hashes.resize(hashes.len().next_multiple_of(self.width()), 0);
            let mut above = Vec::new();
            self.hash(&hashes, &mut above);
            levels.push(hashes);
            hashes = above;
        }
        let mut metadata = Vec::new();
        levels.into_iter().rev().for_each(|level| metadata.extend(level));
        debug_assert_eq!(metadata.len() as u64, self.tree_bytes(data_bytes));
        let raw = self.descriptor(data_bytes, &hashes);
        metadata.extend(raw.as_bytes());
        Sealed { metadata, digest: self.algorithm.of([raw.as_bytes(), &[]]) }
    }

    fn descriptor(&self, data_bytes: u64, root: &[u8]) -> RawDescriptor {
        let byte = |number: usize| {
            let byte = u8::try_from(number);
            debug_assert!(byte.is_ok(), "{number} is no byte");
            byte.unwrap_or(u8::MAX)
        };
        let mut raw = RawDescriptor::new_zeroed();
        raw.version = 1;
        raw.hash_algorithm = self.algorithm.to_raw();
        raw.log_blocksize = byte(self.block_bytes.ilog2() as usize);
        raw.salt_size = byte(self.salt.len());
        raw.data_size = U64::new(data_bytes);
        raw.root_hash.iter_mut().zip(root).for_each(|(to, from)| *to = *from);
        raw.salt.iter_mut().zip(&self.salt).for_each(|(to, from)| *to = *from);
        raw
    }

    fn width(&self) -> usize {
        self.block_bytes as usize
    }
}
