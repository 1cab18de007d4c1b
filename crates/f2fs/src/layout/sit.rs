//! An entry of the SIT (segment information table): which blocks of a segment are valid.

use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U64},
};

/// Raw: 74 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Debug)]
#[repr(C)]
pub struct RawSitEntry {
    /// Valid blocks in the lower 10 bits, kind of the segment above.
    pub vblocks: U16,
    /// A bit for each block; the first block's is the highest of the first byte.
    pub valid_map: [u8; 64],
    /// The time of the segment's last change, in seconds of the volume's own clock.
    pub mtime: U64,
}

const _: () = assert!(size_of::<RawSitEntry>() == 74);

/// The contents of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SitEntry {
    /// The number of valid blocks, as the entry counts them (0 to 512).
    pub valid_blocks: u16,
    /// Kind: 0 to 2 hot, warm and cold data, 3 to 5 hot, warm and cold nodes.
    pub kind: u8,
    /// A bit for each block; the first block's is the highest of the first byte.
    pub valid_map: [u8; 64],
    /// The time of the segment's last change, in seconds of the volume's own clock.
    pub mtime: u64,
}

const COUNT_BITS: u32 = 10;

impl SitEntry {
    /// A segment that holds nothing.
    pub const EMPTY: SitEntry = SitEntry { valid_blocks: 0, kind: 0, valid_map: [0; 64], mtime: 0 };

    /// Marks block `offset` of the segment as valid or free, and counts it.
    pub fn set_valid(&mut self, offset: u32, valid: bool) {
        debug_assert!(offset < 512 && self.is_valid(offset) != valid);
        if let Some(byte) = self.valid_map.get_mut((offset / 8) as usize) {
            *byte ^= 0x80 >> (offset % 8);
            self.valid_blocks =
                if valid { self.valid_blocks + 1 } else { self.valid_blocks.saturating_sub(1) };
        }
    }

    /// True if block `offset` of the segment is valid.
    pub fn is_valid(&self, offset: u32) -> bool {
        let byte = self.valid_map.get((offset / 8) as usize).copied().unwrap_or_default();
        byte & (0x80 >> (offset % 8)) != 0
    }

    /// Bits that are set; a sound entry has [`SitEntry::valid_blocks`] of them.
    pub fn bits(&self) -> u32 {
        self.valid_map.iter().map(|byte| byte.count_ones()).sum()
    }

    /// As it stands on the medium.
    pub fn to_raw(&self) -> RawSitEntry {
        let count = self.valid_blocks & ((1 << COUNT_BITS) - 1);
        RawSitEntry {
            vblocks: U16::new(count | (u16::from(self.kind) << COUNT_BITS)),
            valid_map: self.valid_map,
            mtime: U64::new(self.mtime),
        }
    }
}

impl From<RawSitEntry> for SitEntry {
    fn from(raw: RawSitEntry) -> SitEntry {
        let [low, high] = raw.vblocks.get().to_le_bytes();
        SitEntry {
            valid_blocks: u16::from_le_bytes([low, high & 0x3]),
            kind: high >> 2,
            valid_map: raw.valid_map,
            mtime: raw.mtime.get(),
        }
    }
}
