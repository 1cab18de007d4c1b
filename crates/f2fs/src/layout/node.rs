//! The footer of every node, and the place of a node in its inode's tree.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U32, U64},
};

use super::{BlockAddr, BlockSize, Nid};

/// Raw: the last 24 bytes of a node.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawNodeFooter {
    /// The node's number.
    pub nid: U32,
    /// Inode it belongs to.
    pub ino: U32,
    /// Cold, fsync and dentry marks in bits 0 to 2, place in the tree above.
    pub flag: U32,
    /// Version of the checkpoint that was the newest when the node was written.
    pub cp_ver: U64,
    /// The address of the next node of this log.
    pub next_blkaddr: U32,
}

const _: () = assert!(size_of::<RawNodeFooter>() == super::size::FOOTER_BYTES as usize);

/// A node's footer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeFooter {
    /// The node's number.
    pub nid: Nid,
    /// Inode it belongs to.
    pub ino: Nid,
    /// Not a directory's.
    pub is_cold: bool,
    /// Written by fsync, the last of a chain: a reason to roll forward.
    pub is_fsync: bool,
    /// The inode's name must be recovered, too.
    pub is_dentry: bool,
    /// Place in the inode's tree.
    pub offset: NodeOffset,
    /// Version of the checkpoint that was the newest when the node was written, with that checkpoint's checksum
    /// in the upper half.
    pub cp_version: u64,
    /// The address of the next node of this log.
    pub next: BlockAddr,
}

const COLD: u32 = 1;
const FSYNC: u32 = 2;
const DENTRY: u32 = 4;
const OFFSET_SHIFT: u32 = 3;

impl NodeFooter {
    /// The footer of a node block.
    pub fn of(block: &[u8]) -> Option<NodeFooter> {
        RawNodeFooter::read_from_suffix(block).ok().map(|(_, raw)| raw.into())
    }

    /// True for an inode's own node.
    pub fn is_inode(&self) -> bool {
        self.nid == self.ino
    }

    /// Writes it into a node's block.
    pub fn write_to(&self, block: &mut [u8]) {
        let at = block.len().saturating_sub(size_of::<RawNodeFooter>());
        if let Some(place) = block.get_mut(at..) {
            place.copy_from_slice(self.to_raw().as_bytes());
        }
    }

    /// As it stands on the medium.
    pub fn to_raw(&self) -> RawNodeFooter {
        let mark = |set: bool, bit: u32| if set { bit } else { 0 };
        let flag = mark(self.is_cold, COLD)
            | mark(self.is_fsync, FSYNC)
            | mark(self.is_dentry, DENTRY)
            | (self.offset.0 << OFFSET_SHIFT);
        RawNodeFooter {
            nid: U32::new(self.nid.0),
            ino: U32::new(self.ino.0),
            flag: U32::new(flag),
            cp_ver: U64::new(self.cp_version),
            next_blkaddr: U32::new(self.next.0),
        }
    }
}

impl From<RawNodeFooter> for NodeFooter {
    fn from(raw: RawNodeFooter) -> NodeFooter {
        let flag = raw.flag.get();
        NodeFooter {
            nid: Nid(raw.nid.get()),
            ino: Nid(raw.ino.get()),
            is_cold: flag & COLD != 0,
            is_fsync: flag & FSYNC != 0,
            is_dentry: flag & DENTRY != 0,
            offset: NodeOffset(flag >> OFFSET_SHIFT),
            cp_version: raw.cp_ver.get(),
            next: BlockAddr(raw.next_blkaddr.get()),
        }
    }
}

/// The place of a node among all that an inode could have, counted depth first. 0 is the inode, 1 and 2 are its direct
/// nodes, 3 is the first indirect one, then come that one's direct nodes, and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeOffset(pub u32);

impl NodeOffset {
    /// The inode itself.
    pub const INODE: NodeOffset = NodeOffset(0);
    /// The node that holds extended attributes.
    pub const XATTR: NodeOffset = NodeOffset(u32::MAX >> OFFSET_SHIFT);

    /// The number among the inode's direct nodes, from 0; `None` if it is no direct node.
    pub fn direct_index(self, size: BlockSize) -> Option<u32> {
        let per = size.node_words();
        let at = self.0;
        if at == 0 || self == NodeOffset::XATTR {
            return None;
        }
        match at {
            1 | 2 => Some(at - 1),
            _ if at == 3 || at == 4 + per || at == 5 + 2 * per => None,
            _ if at < 4 + per => Some(at - 2),
            _ if at < 5 + 2 * per => Some(at - 3),
            _ => {
                let (above, below) = ((at - 6 - 2 * per) / (per + 1), (at - 6 - 2 * per) % (per + 1));
                (below != 0).then(|| 2 + 2 * per + above * per + below - 1)
            }
        }
    }

    /// True if it holds addresses of data (the inode and direct nodes), not numbers of nodes.
    pub fn is_direct(self, size: BlockSize) -> bool {
        self == NodeOffset::INODE || self.direct_index(size).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_nodes_are_counted_in_order() {
        let size = BlockSize::KIB4;
        let places = [
            (1, 0),
            (2, 1),
            (4, 2),
            (4 + 1017, 1019),
            (4 + 1018 + 1, 1020),
            (6 + 2 * 1018 + 1, 2038),
            (6 + 2 * 1018 + 1019 + 1, 2038 + 1018),
        ];
        for (offset, index) in places {
            assert_eq!(NodeOffset(offset).direct_index(size), Some(index), "{offset}");
        }
        for indirect in [3, 4 + 1018, 5 + 2 * 1018, 6 + 2 * 1018, 6 + 2 * 1018 + 1019] {
            assert_eq!(NodeOffset(indirect).direct_index(size), None, "{indirect}");
        }
    }
}
