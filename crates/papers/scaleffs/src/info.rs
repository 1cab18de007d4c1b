//! The facts about a volume.

/// Facts about a volume that need no walk.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// A name for people.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// True if the last mount ended without an unmount, and the log was replayed.
    pub recovered: bool,
    /// Erase blocks of the log that are good, free, bad.
    pub erase_blocks: [u32; 3],
    /// Erase blocks of the checkpoint region.
    pub checkpoint_blocks: u32,
    /// Blocks of 1 KiB that are live.
    pub live_blocks: u32,
    /// Inodes in use.
    pub inodes: u32,
}

/// Memory that a volume takes, in bytes (table V).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The checkpoint's data.
    pub checkpoint: usize,
    /// The write buffer.
    pub buffer: usize,
    /// All indirect inode map blocks.
    pub map_index: usize,
    /// Other metadata now.
    pub metadata: usize,
    /// The most that it was since the mount.
    pub metadata_most: usize,
}

/// Blocks of 1 KiB by type (table VI): data, directories, inodes, indirect blocks, inode map, indirect inode map,
/// checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocks {
    /// Written since the mount.
    pub written: [u64; 7],
    /// Read since the mount.
    pub read: [u64; 7],
}
