//! The descriptor: the sealed file's size, its hash, and the root of the tree.

use sha2::{Digest, Sha256, Sha512};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U32, U64},
};

use super::VerityError;

/// Bytes of a descriptor without its signature.
pub const DESCRIPTOR_BYTES: usize = 256;
/// Tree blocks have at least two hashes of 64 bytes with room to spare, and at most 64 KiB.
const LOG_BLOCK_SIZES: std::ops::RangeInclusive<u8> = 10..=16;

/// The descriptor as it stands in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RawDescriptor {
    /// 1.
    pub version: u8,
    /// 1: SHA-256, 2: SHA-512.
    pub hash_algorithm: u8,
    /// Power of two of the tree's block size.
    pub log_blocksize: u8,
    /// Bytes of salt, at most 32.
    pub salt_size: u8,
    /// Bytes of the signature behind the descriptor.
    pub sig_size: U32,
    /// Bytes of the file.
    pub data_size: U64,
    /// Hash of the root block, zero padded.
    pub root_hash: [u8; 64],
    /// Salt, zero padded.
    pub salt: [u8; 32],
    /// Zero.
    pub reserved: [u8; 144],
}
const _: () = assert!(size_of::<RawDescriptor>() == DESCRIPTOR_BYTES);

/// The hash of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashAlgorithm {
    /// 32 bytes.
    Sha256,
    /// 64 bytes.
    Sha512,
}

impl HashAlgorithm {
    /// Bytes of a hash.
    pub fn digest_bytes(self) -> usize {
        match self {
            HashAlgorithm::Sha256 => 32,
            HashAlgorithm::Sha512 => 64,
        }
    }

    /// Its number in a descriptor.
    pub(super) fn to_raw(self) -> u8 {
        match self {
            HashAlgorithm::Sha256 => 1,
            HashAlgorithm::Sha512 => 2,
        }
    }

    /// Its name, as `fsverity` prints it.
    pub fn name(self) -> &'static str {
        match self {
            HashAlgorithm::Sha256 => "sha256",
            HashAlgorithm::Sha512 => "sha512",
        }
    }

    /// Salt, padded to the block size of the hash; nothing if there is none.
    pub(super) fn padded(self, salt: &[u8]) -> Vec<u8> {
        let mut padded = salt.to_vec();
        padded.resize(salt.len().next_multiple_of(self.digest_bytes() * 2), 0);
        padded
    }

    /// The hash of several parts, one after the other.
    pub(super) fn of(self, parts: [&[u8]; 2]) -> Vec<u8> {
        fn digest<D: Digest>(parts: [&[u8]; 2]) -> Vec<u8> {
            let mut hasher = D::new();
            for part in parts {
                hasher.update(part);
            }
            hasher.finalize().to_vec()
        }
        match self {
            HashAlgorithm::Sha256 => digest::<Sha256>(parts),
            HashAlgorithm::Sha512 => digest::<Sha512>(parts),
        }
    }
}

/// A descriptor that makes sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// The hash of the tree.
    pub algorithm: HashAlgorithm,
    /// Bytes of a block of the tree, and of data that one hash stands for: 1 KiB to 64 KiB.
    pub block_bytes: u32,
    /// Bytes that were sealed.
    pub data_bytes: u64,
    /// The hash of the root block, or of the only data block.
    pub root_hash: Vec<u8>,
    /// Salt, padded for the hash; empty if there is none.
    padded_salt: Vec<u8>,
    /// The fixed part, from which the file digest is made.
    raw: RawDescriptor,
}

impl Descriptor {
    /// The descriptor in the bytes of the file, signature included, for a file of `file_bytes`.
    pub fn parse(bytes: &[u8], file_bytes: u64) -> Result<Descriptor, VerityError> {
        let wrong = |what, value| Err(VerityError::Descriptor { what, value });
        let Ok((raw, signature)) = RawDescriptor::ref_from_prefix(bytes) else {
            return wrong("length", u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        };
        if raw.version != 1 {
            return wrong("version", raw.version.into());
        }
        let algorithm = match raw.hash_algorithm {
            1 => HashAlgorithm::Sha256,
            2 => HashAlgorithm::Sha512,
            other => return wrong("hash algorithm", other.into()),
        };
        if !LOG_BLOCK_SIZES.contains(&raw.log_blocksize) {
            return wrong("block size of two to the power of", raw.log_blocksize.into());
        }
        let Some(salt) = raw.salt.get(..usize::from(raw.salt_size)) else {
            return wrong("salt size", raw.salt_size.into());
        };
        if raw.data_size.get() != file_bytes {
            return wrong("data size", raw.data_size.get());
        }
        if usize::try_from(raw.sig_size.get()).is_ok_and(|size| size > signature.len()) {
            return wrong("signature size", raw.sig_size.get().into());
        }
        if raw.reserved != [0; 144] {
            return wrong("reserved bytes that are not", 0);
        }
        let padded_salt = algorithm.padded(salt);
        Ok(Descriptor {
            algorithm,
            block_bytes: 1 << raw.log_blocksize,
            data_bytes: file_bytes,
            root_hash: raw.root_hash.iter().take(algorithm.digest_bytes()).copied().collect(),
            padded_salt,
            raw: RawDescriptor { sig_size: U32::ZERO, ..*raw },
        })
    }

    /// The hash of a block, salted; the block is as long as the tree's blocks.
    pub(super) fn hash(&self, block: &[u8]) -> Vec<u8> {
        self.algorithm.of([&self.padded_salt, block])
    }

    /// The file digest, as `fsverity measure` prints it: the hash of the descriptor.
    pub fn file_digest(&self) -> Vec<u8> {
        self.algorithm.of([self.raw.as_bytes(), &[]])
    }
}
