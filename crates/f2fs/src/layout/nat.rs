//! An entry of the NAT (node address table): where a node is.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U32};

use super::{BlockAddr, Nid};

/// Raw: 9 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug, Default)]
#[repr(C)]
pub struct RawNatEntry {
    /// Grows when the number is used again.
    pub version: u8,
    /// Inode that the node belongs to.
    pub ino: U32,
    /// The address of the node.
    pub block_addr: U32,
}

const _: () = assert!(size_of::<RawNatEntry>() == 9);

/// The address of a node, and its inode. Free numbers have address 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NatEntry {
    /// Grows when the number is used again.
    pub version: u8,
    /// Inode that the node belongs to.
    pub ino: Nid,
    /// The address of the node.
    pub addr: BlockAddr,
}

impl NatEntry {
    /// True if the number is in use.
    pub fn is_used(self) -> bool {
        self.addr != BlockAddr::NULL
    }

    /// As it stands on the medium.
    pub fn to_raw(self) -> RawNatEntry {
        RawNatEntry { version: self.version, ino: U32::new(self.ino.0), block_addr: U32::new(self.addr.0) }
    }
}

impl From<RawNatEntry> for NatEntry {
    fn from(raw: RawNatEntry) -> NatEntry {
        NatEntry { version: raw.version, ino: Nid(raw.ino.get()), addr: BlockAddr(raw.block_addr.get()) }
    }
}
