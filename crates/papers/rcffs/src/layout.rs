//! Section 3.1, figure 1: segments of erase blocks, the last ones parity, and the last pages of each block parity.
//!
//! All numbers of the format are little-endian. N erase blocks in a row are a segment; its good ones count, the last M of
//! them are parity blocks, the others regular. The last K pages of every block are parity pages. By default N, M, K are
//! 16, 1, 1, as the paper measured. The chip needs pages of 1 to 16 KiB with 25 free spare bytes, 16 pages a block, and
//! 12 segments.

use pumice_common::get_u32;
use pumice_media::{Geometry, PageId};
use pumice_vfs::{Errno, FsError, Result};

/// Bytes of a file in a chunk: the unit of the compressor (3.4).
pub(crate) const CHUNK_BYTES: usize = 4096;
/// Bytes of a chunk of a directory at the most, with 32 entries of the longest names.
pub(crate) const CHUNK_MAX: usize = 32 * (10 + 255);
/// Bytes of a spare area that are used (3.2).
pub(crate) const SPARE_BYTES: usize = 24;
/// Bytes of a reverse index entry (table 1).
pub(crate) const REVERSE_BYTES: usize = 12;
/// Bytes of the segment information before its map of void pages.
pub(crate) const INFO_BYTES: usize = 192;
/// The segments there may be: a byte of usage for each in one erase block.
const SEGMENTS_MAX: u32 = 4096;

/// A page, counted from the start of the chip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Addr(pub(crate) u32);

/// The choices of mkfs: every spare area repeats them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Erase blocks of a segment.
    pub(crate) segment_blocks: u32,
    /// Parity pages at the end of a parity group, one group a block at least.
    pub(crate) parity_pages: u32,
    /// Parity blocks of a segment.
    pub(crate) parity_blocks: u32,
    /// Bytes of a signature: 4, 6 or 8.
    pub(crate) signature_bytes: u32,
}

/// The places of structures on a chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    geometry: Geometry,
    pub(crate) shape: Shape,
}

/// A count or an offset within a page, block, segment or chip; they fit 32 bits.
pub(crate) fn count(number: usize) -> u32 {
    debug_assert!(u32::try_from(number).is_ok(), "{number} is counted in 32 bits");
    #[expect(clippy::cast_possible_truncation, reason = "asserted above: nothing counted here comes near")]
    let number = number as u32;
    number
}

impl Layout {
    pub(crate) fn new(geometry: Geometry, shape: Shape) -> Result<Layout> {
        let refuse = |what: &str| Err(FsError::new(Errno::NotSupported, what.into()));
        let bits = u64::from(shape.segment_blocks) * u64::from(geometry.pages_per_block);
        let info = (geometry.page_bytes as usize).saturating_sub(INFO_BYTES) as u64 * 8;
        if !(1..=8).contains(&shape.parity_pages) || shape.parity_blocks > 8 {
            return refuse("rcffs takes 1 to 8 parity pages and 0 to 8 parity blocks");
        }
        if ![4, 6, 8].contains(&shape.signature_bytes) {
            return refuse("a signature has 4, 6 or 8 bytes");
        }
        if !geometry.page_bytes.is_power_of_two() || !(1024..=16384).contains(&geometry.page_bytes) {
            return refuse("rcffs needs pages of 1024 to 16384 bytes, a power of two");
        }
        if geometry.free_spare_bytes as usize <= SPARE_BYTES || geometry.pages_per_block < 16 {
            return refuse("rcffs needs 24 free spare bytes a page, and 16 pages a block");
        }
        if shape.segment_blocks < shape.parity_blocks + 2 || shape.segment_blocks > 255 || bits > info {
            return refuse(
                "a segment has two blocks more than parity blocks, and as many as a page can list",
            );
        }
        if bits > u64::from(u16::MAX) || geometry.blocks / shape.segment_blocks > SEGMENTS_MAX {
            return refuse("the chip has more than 4,096 segments; take more blocks for each");
        }
        let layout = Layout { geometry, shape };
        if layout.data_bytes() < 4 * CHUNK_MAX as u64 {
            return refuse("a segment is too small; take more blocks for each");
        }
        Ok(layout)
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.geometry.page_bytes as usize
    }

    pub(crate) fn spare_bytes(&self) -> usize {
        self.geometry.free_spare_bytes as usize
    }

    /// Pages of an erase block.
    pub(crate) fn pages(&self) -> u32 {
        self.geometry.pages_per_block
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.geometry.blocks
    }

    pub(crate) fn segments(&self) -> u32 {
        self.geometry.blocks / self.shape.segment_blocks
    }

    /// The erase blocks of a segment, bad ones included.
    pub(crate) fn blocks_of(&self, segment: u32) -> core::ops::Range<u32> {
        segment * self.shape.segment_blocks..(segment + 1) * self.shape.segment_blocks
    }

    pub(crate) fn segment_of(&self, at: Addr) -> u32 {
        self.block_of(at) / self.shape.segment_blocks
    }

    pub(crate) fn block_of(&self, at: Addr) -> u32 {
        at.0 / self.pages()
    }

    pub(crate) fn page_in_block(&self, at: Addr) -> u32 {
        at.0 % self.pages()
    }

    pub(crate) fn page(&self, block: u32, index: u32) -> Addr {
        Addr(block * self.pages() + index)
    }

    /// The place of a page in its segment, from 0.
    pub(crate) fn page_in_segment(&self, at: Addr) -> u32 {
        at.0 % (self.pages() * self.shape.segment_blocks)
    }

    pub(crate) fn pages_of_segment(&self) -> u32 {
        self.pages() * self.shape.segment_blocks
    }

    pub(crate) fn first_page(&self, segment: u32) -> Addr {
        Addr(segment * self.pages_of_segment())
    }

    pub(crate) fn has(&self, at: Addr) -> bool {
        at.0 < self.pages() * self.blocks()
    }

    /// Pages of the segment usage nodes: a byte for each segment.
    pub(crate) fn usage_pages(&self) -> u32 {
        count((self.segments() as usize).div_ceil(self.page_bytes()))
    }

    /// Pages of so many reverse index entries.
    pub(crate) fn reverse_pages(&self, entries: usize) -> u32 {
        count(entries.div_ceil(self.page_bytes() / REVERSE_BYTES))
    }

    /// The beginning of the summary in the last regular block, if it fits: reverse index, usage, information, parity.
    pub(crate) fn summary(&self, entries: usize) -> Option<u32> {
        let pages = self.reverse_pages(entries) + self.usage_pages() + 1 + self.shape.parity_pages;
        self.pages().checked_sub(pages)
    }

    /// The page of the segment information in the last regular block.
    pub(crate) fn info_page(&self) -> u32 {
        self.pages() - self.shape.parity_pages - 1
    }

    /// Bytes of files that a segment without bad blocks takes, about: a block's last chunk may not fit, and a summary of
    /// a few pages is needed.
    pub(crate) fn data_bytes(&self) -> u64 {
        let blocks = u64::from(self.shape.segment_blocks - self.shape.parity_blocks);
        let pages = u64::from(self.pages() - self.shape.parity_pages);
        let each = (pages * self.page_bytes() as u64).saturating_sub(CHUNK_BYTES as u64);
        (blocks * each).saturating_sub(u64::from(self.usage_pages() + 4) * self.page_bytes() as u64)
    }

    /// A page as the chip counts.
    pub(crate) fn id(at: Addr) -> PageId {
        PageId(at.0)
    }
}

pub(crate) fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(get_u32(bytes, at)) | u64::from(get_u32(bytes, at + 4)) << 32
}

pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
