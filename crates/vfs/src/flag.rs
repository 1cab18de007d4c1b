//! The flags of an inode, as Linux numbers them (`FS_*_FL`) and `lsattr` writes them.

/// Written at once.
pub const SYNC: u32 = 0x8;
/// Changes of a directory are written at once.
pub const DIRSYNC: u32 = 0x1_0000;
/// Cannot be changed.
pub const IMMUTABLE: u32 = 0x10;
/// Nothing can be done but add to it.
pub const APPEND: u32 = 0x20;
/// Left out of dumps.
pub const NODUMP: u32 = 0x40;
/// The time of the last read is not kept.
pub const NOATIME: u32 = 0x80;
/// Compressed.
pub const COMPRESSED: u32 = 0x4;
/// Not compressed, whatever its directory hands down.
pub const NOT_COMPRESSED: u32 = 0x400;
/// Encrypted.
pub const ENCRYPTED: u32 = 0x800;
/// Names of the directory are hashed.
pub const INDEX: u32 = 0x1000;
/// Sealed with fs-verity.
pub const VERITY: u32 = 0x10_0000;
/// Written in place.
pub const NOCOW: u32 = 0x80_0000;
/// Its content stands in the inode.
pub const INLINE: u32 = 0x1000_0000;
/// New inodes in the directory have its project.
pub const PROJECT_INHERIT: u32 = 0x2000_0000;
/// Names of the directory that differ only in case are the same.
pub const CASEFOLD: u32 = 0x4000_0000;

/// The letter of each flag, in the order in which `lsattr` shows them.
pub const LETTERS: [(char, u32); 15] = [
    ('S', SYNC),
    ('D', DIRSYNC),
    ('i', IMMUTABLE),
    ('a', APPEND),
    ('d', NODUMP),
    ('A', NOATIME),
    ('c', COMPRESSED),
    ('E', ENCRYPTED),
    ('I', INDEX),
    ('C', NOCOW),
    ('F', CASEFOLD),
    ('N', INLINE),
    ('P', PROJECT_INHERIT),
    ('V', VERITY),
    ('m', NOT_COMPRESSED),
];
