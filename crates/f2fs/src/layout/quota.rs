//! Quota files of Linux (version 2, revision 1): a header, then a tree of blocks that leads from an id to its entry.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// Bytes of a block of a quota file.
pub(crate) const QUOTA_BLOCK_BYTES: usize = 1024;
/// Levels of its tree: a byte of the id for each, the highest first.
pub(crate) const QUOTA_LEVELS: u32 = 4;
/// The first word of the files of users, groups and projects.
pub(crate) const QUOTA_MAGICS: [u32; 3] = [0xd9c0_1f11, 0xd9c0_1927, 0xd9c0_3f14];
/// The version that Linux writes.
pub(crate) const QUOTA_VERSION: u32 = 1;

/// The start of a quota file, raw: 32 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawQuotaHeader {
    pub(crate) magic: U32,
    pub(crate) version: U32,
    /// Seconds that a soft limit on space, and on inodes, may be exceeded.
    pub(crate) grace_bytes: U32,
    pub(crate) grace_inodes: U32,
    pub(crate) flags: U32,
    /// Blocks of the file.
    pub(crate) blocks: U32,
    /// The first block that is free, and the first leaf that has room.
    pub(crate) free_block: U32,
    pub(crate) free_leaf: U32,
}

/// The start of a leaf, raw: 16 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawQuotaLeaf {
    /// Its neighbours in the list of leaves that have room.
    pub(crate) next_free: U32,
    pub(crate) previous_free: U32,
    pub(crate) entries: U16,
    pub(crate) pad: [u8; 6],
}

/// An entry of a quota file, raw: 72 bytes.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawQuotaEntry {
    pub(crate) id: U32,
    pub(crate) pad: U32,
    pub(crate) inode_hard: U64,
    pub(crate) inode_soft: U64,
    pub(crate) inodes: U64,
    /// Limits on space, in units of 1024 bytes.
    pub(crate) bytes_hard: U64,
    pub(crate) bytes_soft: U64,
    pub(crate) bytes: U64,
    /// Seconds since 1970 from which on the soft limits hold, or 0.
    pub(crate) bytes_time: U64,
    pub(crate) inode_time: U64,
}

const _: () = assert!(size_of::<RawQuotaHeader>() == 32);
const _: () = assert!(size_of::<RawQuotaLeaf>() == 16);
const _: () = assert!(size_of::<RawQuotaEntry>() == 72);
