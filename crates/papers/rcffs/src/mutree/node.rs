//! A value of the mu-tree: 64 bits.

use crate::layout::Addr;

/// The place of a chunk: page, offset in it, and number of bytes. It may go on in the next pages of its erase block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) page: Addr,
    pub(crate) offset: u16,
    /// Bytes on flash, below 2^15.
    pub(crate) bytes: u16,
    /// The bytes are compressed.
    pub(crate) packed: bool,
}

impl Place {
    /// As a value of a leaf: page, offset, one bit for compression, length.
    pub(crate) fn value(self) -> u64 {
        let length = self.bytes | u16::from(self.packed) << 15;
        u64::from(self.page.0) << 32 | u64::from(self.offset) << 16 | u64::from(length)
    }

    pub(crate) fn of(value: u64) -> Place {
        let [l0, l1, o0, o1, p0, p1, p2, p3] = value.to_le_bytes();
        let length = u16::from_le_bytes([l0, l1]);
        Place {
            page: Addr(u32::from_le_bytes([p0, p1, p2, p3])),
            offset: u16::from_le_bytes([o0, o1]),
            bytes: length & 0x7fff,
            packed: length >> 15 == 1,
        }
    }
}
