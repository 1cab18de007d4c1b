//! The facts about a volume.

/// Facts about a volume that need no walk.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// A name for people.
    pub label: String,
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// True if the last mount ended without an unmount.
    pub recovered: bool,
    /// Erase blocks of a segment, parity blocks among them, and parity pages of an erase block.
    pub shape: [u32; 3],
    /// Segments that are free, in use, and without enough good blocks.
    pub segments: [u32; 3],
    /// Bytes of all chunks, as they stand on flash.
    pub live_bytes: u64,
    /// Inodes in use.
    pub inodes: u32,
    /// Levels of the mu-tree, and its leaves.
    pub tree: [u32; 2],
    /// Bytes of the read cache now.
    pub cache_bytes: usize,
}
