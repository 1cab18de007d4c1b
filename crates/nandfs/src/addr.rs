//! The address of a chunk in the log.

/// Place and length of a chunk: log page, byte offset in its payload, bytes.
///
/// The all-zero address means "nothing": log page 0 belongs to the anchors and never holds a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Addr {
    pub(crate) page: u32,
    pub(crate) offset: u16,
    pub(crate) len: u16,
}

impl Addr {
    /// A hole, or an unused entry.
    pub(crate) const NONE: Addr = Addr { page: 0, offset: 0, len: 0 };
    /// Space promised by fallocate without a write to it; in directories an empty bucket. Reads as zeros.
    pub(crate) const RESERVED: Addr = Addr { page: 0, offset: 0, len: 1 };

    /// True for a chunk that lies on the chip.
    pub(crate) fn is_stored(self) -> bool {
        self.page != 0
    }

    /// The 8 bytes of a node-table entry.
    pub(crate) fn to_u64(self) -> u64 {
        u64::from(self.page) | u64::from(self.offset) << 32 | u64::from(self.len) << 48
    }

    /// The inverse of [`Addr::to_u64`].
    pub(crate) fn from_u64(raw: u64) -> Addr {
        let [p0, p1, p2, p3, o0, o1, l0, l1] = raw.to_le_bytes();
        Addr {
            page: u32::from_le_bytes([p0, p1, p2, p3]),
            offset: u16::from_le_bytes([o0, o1]),
            len: u16::from_le_bytes([l0, l1]),
        }
    }
}
