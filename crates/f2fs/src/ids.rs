//! Numbers of nodes, blocks and segments, which must not mix.

use core::fmt;

/// A node number. An inode's number is that of its own node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nid(pub u32);

/// A block address: blocks from the start of the volume, over all its devices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BlockAddr(pub u32);

/// A segment of the main area, counted from its start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SegNo(pub u32);

impl Nid {
    /// No node.
    pub const NULL: Nid = Nid(0);

    /// True for 0, which no node has.
    pub fn is_null(self) -> bool {
        self == Nid::NULL
    }
}

impl BlockAddr {
    /// No block: a hole.
    pub const NULL: BlockAddr = BlockAddr(0);
    /// Space is reserved, nothing written: reads as zeros.
    pub const NEW: BlockAddr = BlockAddr(u32::MAX);
    /// Stands in the first slot of a cluster: the cluster is compressed.
    pub const COMPRESSED: BlockAddr = BlockAddr(u32::MAX - 1);

    /// True if it names a block, whether or not one of this volume.
    pub fn is_block(self) -> bool {
        self != BlockAddr::NULL && self != BlockAddr::NEW && self != BlockAddr::COMPRESSED
    }

    /// The address `count` blocks further; `None` beyond 32 bits.
    pub fn plus(self, count: u32) -> Option<BlockAddr> {
        self.0.checked_add(count).map(BlockAddr)
    }
}

impl SegNo {
    /// No segment (a log head that was never opened).
    pub const NULL: SegNo = SegNo(u32::MAX);
}

impl fmt::Display for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for BlockAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SegNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
