//! The inode as it stands on the medium: the fields in front of its words.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// The largest extent of a file, raw: 12 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawExtent {
    /// First block of the file.
    pub fofs: U32,
    /// The address.
    pub blk: U32,
    /// Blocks.
    pub len: U32,
}

/// The first 360 bytes of an inode, raw.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the names are the format's own; docs/f2fs-format.md explains them")]
pub struct RawInode {
    pub i_mode: U16,
    pub i_advise: u8,
    pub i_inline: u8,
    pub i_uid: U32,
    pub i_gid: U32,
    pub i_links: U32,
    pub i_size: U64,
    pub i_blocks: U64,
    pub i_atime: U64,
    pub i_ctime: U64,
    pub i_mtime: U64,
    pub i_atime_nsec: U32,
    pub i_ctime_nsec: U32,
    pub i_mtime_nsec: U32,
    pub i_generation: U32,
    pub i_current_depth: U32,
    pub i_xattr_nid: U32,
    pub i_flags: U32,
    pub i_pino: U32,
    pub i_namelen: U32,
    pub i_name: [u8; 255],
    pub i_dir_level: u8,
    pub i_ext: RawExtent,
}

/// The extra attributes that follow, raw: up to 36 bytes, of which an inode has as many as it says.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug, Default)]
#[repr(C)]
#[allow(
    missing_docs,
    clippy::struct_field_names,
    reason = "the names are the format's own; docs/f2fs-format.md explains them"
)]
pub struct RawExtraAttr {
    pub i_extra_isize: U16,
    pub i_inline_xattr_size: U16,
    pub i_projid: U32,
    pub i_inode_checksum: U32,
    pub i_crtime: U64,
    pub i_crtime_nsec: U32,
    pub i_compr_blocks: U64,
    pub i_compress_algorithm: u8,
    pub i_log_cluster_size: u8,
    pub i_compress_flag: U16,
}

const _: () = assert!(size_of::<RawInode>() == super::size::INODE_HEAD_BYTES as usize);
/// The place of an inode block's generation, in bytes from its start.
pub(crate) const INODE_GENERATION_OFFSET: usize = core::mem::offset_of!(RawInode, i_generation);
const _: () = assert!(INODE_GENERATION_OFFSET == 68);
const _: () = assert!(core::mem::offset_of!(RawInode, i_name) == 92);
const _: () = assert!(size_of::<RawExtraAttr>() == 36);
const _: () = assert!(core::mem::offset_of!(RawExtraAttr, i_inode_checksum) == 8);
