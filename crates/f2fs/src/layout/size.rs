//! The size of a block, and the sizes that follow from it.

/// Bytes of an inode in front of its addresses.
pub(crate) const INODE_HEAD_BYTES: u32 = 360;
/// Bytes of the five node numbers behind an inode's addresses.
const INODE_NIDS_BYTES: u32 = 20;
/// Bytes of the footer of every node.
pub(crate) const FOOTER_BYTES: u32 = 24;

/// Bytes of a block: 4096, 8192 or 16384.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockSize(u32);

impl BlockSize {
    /// The smallest, which nearly every volume has.
    pub const KIB4: BlockSize = BlockSize(4096);
    /// All there are.
    pub const ALL: [BlockSize; 3] = [BlockSize(4096), BlockSize(8192), BlockSize(16384)];

    /// The block of `1 << log2` bytes; `None` if there is none of that size.
    pub fn from_log2(log2: u32) -> Option<BlockSize> {
        BlockSize::ALL.into_iter().find(|size| size.log2() == log2)
    }

    /// Bytes.
    pub fn bytes(self) -> u32 {
        self.0
    }

    /// Bytes, to index with.
    pub fn width(self) -> usize {
        self.0 as usize
    }

    /// Bytes, to count with.
    pub fn bytes_u64(self) -> u64 {
        u64::from(self.0)
    }

    /// Power of two.
    pub fn log2(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// Words of 4 bytes between an inode's head and its five node numbers (923 in 4 KiB).
    pub fn inode_words(self) -> u32 {
        (self.0 - INODE_HEAD_BYTES - INODE_NIDS_BYTES - FOOTER_BYTES) / 4
    }

    /// Addresses or node numbers in a direct or indirect node (1018 in 4 KiB).
    pub fn node_words(self) -> u32 {
        (self.0 - FOOTER_BYTES) / 4
    }

    /// Bytes that the addresses of a file reach at most (3.94 TiB with 4 KiB).
    pub fn file_bytes(self) -> u64 {
        let (own, words) = (u64::from(self.inode_words()), u64::from(self.node_words()));
        (own + 2 * words + 2 * words.pow(2) + words.pow(3)) * self.bytes_u64()
    }

    /// Entries in a block of the NAT (455 in 4 KiB).
    pub fn nat_entries(self) -> u32 {
        self.0 / 9
    }

    /// Entries in a block of the SIT (55 in 4 KiB).
    pub fn sit_entries(self) -> u32 {
        self.0 / 74
    }

    /// Inode numbers in an orphan block (1020 in 4 KiB).
    pub fn orphans(self) -> u32 {
        (self.0 - 16) / 4
    }

    /// Bytes in front of the footer of a node.
    pub fn node_bytes(self) -> usize {
        (self.0 - FOOTER_BYTES) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_kib_blocks_hold_what_the_format_says() {
        let size = BlockSize::KIB4;
        assert_eq!((size.inode_words(), size.node_words()), (923, 1018));
        assert_eq!((size.nat_entries(), size.sit_entries(), size.orphans()), (455, 55, 1020));
        assert_eq!(BlockSize::from_log2(14).map(BlockSize::inode_words), Some(3995));
        assert_eq!(BlockSize::from_log2(15), None);
    }
}
