//! The facts about a volume.

/// Facts about a volume that need no walk.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// A name for people.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// True if the last mount ended without an unmount, and every block was looked at.
    pub recovered: bool,
    /// Inode-stored blocks, data blocks, free blocks, bad blocks.
    pub erase_blocks: [u32; 4],
    /// Live pages.
    pub live_pages: u32,
    /// Inodes in use.
    pub inodes: u32,
    /// Bytes of the cache list now.
    pub cache_bytes: usize,
}
