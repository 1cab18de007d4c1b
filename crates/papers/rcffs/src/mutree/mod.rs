//! Section 4: the mu-tree, the index on flash. A key leads to a place on flash; all nodes from a leaf to the root are written into one page.
//! Nodes that changed stay in memory until [`Tree::write`]; all others are read through [`Pages`].
//!
//! A key is the inode number (32 bits), 1 for metadata (1 bit), and a number (31 bits). The number is the chunk of data;
//! for metadata it is 0 for the inode, n + 1 for chunk n of a directory. Key 2^31 has the inodes that are open without a
//! name, 4 bytes each. The value of a leaf is the page (32 bits), offset (16), compressed (1) and length (15). Other nodes
//! have the child's page in the high half, 0xfffffffe for this very page.

mod node;
mod page;
mod state;
mod tree;

pub(crate) use node::Place;
pub(crate) use page::{Header, Image, NodeShape};
pub(crate) use state::State;
pub(crate) use tree::{Change, Pages, Sink, Tree};

/// A key: inode number, one bit for metadata, and the number of the chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key(pub(crate) u64);

/// The chunks a file may have: 31 bits.
pub(crate) const CHUNKS: u64 = 1 << 31;

impl Key {
    fn new(ino: u32, metadata: bool, number: u64) -> Key {
        debug_assert!(number < CHUNKS, "chunk {number}");
        Key(u64::from(ino) << 32 | u64::from(metadata) << 31 | number)
    }

    /// A chunk of a file.
    pub(crate) fn data(ino: u32, number: u64) -> Key {
        Key::new(ino, false, number)
    }

    pub(crate) fn inode(ino: u32) -> Key {
        Key::new(ino, true, 0)
    }

    /// A chunk of a directory's entries.
    pub(crate) fn entries(ino: u32, number: u32) -> Key {
        Key::new(ino, true, u64::from(number) + 1)
    }

    /// The first key of an inode.
    pub(crate) fn first(ino: u32) -> Key {
        Key::new(ino, false, 0)
    }

    /// The last key of an inode.
    pub(crate) fn last(ino: u32) -> Key {
        Key::new(ino, true, CHUNKS - 1)
    }

    pub(crate) fn ino(self) -> u32 {
        let [.., a, b, c, d] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    pub(crate) fn is_metadata(self) -> bool {
        self.0 >> 31 & 1 == 1
    }

    /// The number of the chunk.
    pub(crate) fn number(self) -> u64 {
        self.0 & (CHUNKS - 1)
    }

    /// The key behind this one.
    pub(crate) fn next(self) -> Key {
        Key(self.0.saturating_add(1))
    }
}
