//! Section 3.2 and figure 2: blocks of 1 KiB, the log, and the checkpoint region at the end of the chip.
//!
//! All numbers of the format are little-endian. The log comes first. The region has as many erase blocks as hold 512 KiB,
//! at least 2, at most an eighth of the chip. The chip needs pages of 512 bytes with 8 free spare bytes each or more, and
//! 32 erase blocks or more.

use pumice_common::{get_u32, put_u32};
use pumice_flashlog::{Shape, TAG_BYTES, TagPlace};
use pumice_media::{Geometry, PageId};
use pumice_vfs::{Errno, FsError, Result};

/// Bytes of a block: two sectors of 512 (3.2).
pub const BLOCK_BYTES: usize = 1024;
/// Pages of the chip in a block.
pub(crate) const PAGES: u32 = 2;
/// Addresses in an indirect block, an inode map block or an indirect inode map block (footnote 2).
pub(crate) const POINTERS: u32 = 256;
/// Free spare bytes that a page must have.
const SPARE_MIN: u32 = 8;
/// Bytes of the checkpoint region (4.4).
const REGION_BYTES: u64 = 512 << 10;
/// The checkpoint region is this part of a small chip.
const REGION_SHARE: u32 = 8;

/// The place of a block: counted through the chip, two pages a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Addr(pub(crate) u32);

impl Addr {
    /// A hole.
    pub(crate) const NONE: Addr = Addr(u32::MAX);
    /// A block that is in memory only, as yet. Never on flash.
    pub(crate) const PENDING: Addr = Addr(u32::MAX - 1);
}

/// All sizes that follow from the chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    shape: Shape,
    chip_spare: u32,
    region: u32,
}

impl Layout {
    /// The layout on a chip; refuses one that the paper's blocks do not fit.
    pub(crate) fn new(geometry: &Geometry) -> Result<Layout> {
        let refuse = |why: String| Err(FsError::new(Errno::NotSupported, why));
        if geometry.page_bytes != 512 || geometry.free_spare_bytes < SPARE_MIN {
            return refuse(format!(
                "scaleffs makes its blocks of two pages of 512 bytes with {SPARE_MIN} free spare bytes each; this \
                 chip's pages have {} and {}",
                geometry.page_bytes, geometry.free_spare_bytes
            ));
        }
        if geometry.pages_per_block < 8 || geometry.blocks < 32 || geometry.pages() >= u64::from(u32::MAX) {
            return refuse(format!(
                "scaleffs wants 32 erase blocks of 8 pages or more; this chip has {} of {}",
                geometry.blocks, geometry.pages_per_block
            ));
        }
        let body = geometry.free_spare_bytes * PAGES - TAG_BYTES;
        let wanted = u32::try_from(REGION_BYTES.div_ceil(geometry.block_bytes())).unwrap_or(u32::MAX);
        Ok(Layout {
            shape: Shape::new(geometry, PAGES, TagPlace::Spare, body),
            chip_spare: geometry.free_spare_bytes,
            region: wanted.clamp(2, geometry.blocks / REGION_SHARE),
        })
    }

    /// The shape of blocks for the medium.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Free spare bytes of a page of the chip.
    pub(crate) fn spare_bytes(&self) -> usize {
        self.chip_spare as usize
    }

    /// Blocks of an erase block.
    pub(crate) fn slots(&self) -> u32 {
        self.shape.pages()
    }

    /// Erase blocks of the log.
    pub(crate) fn log_blocks(&self) -> u32 {
        self.shape.blocks() - self.region
    }

    /// Erase blocks of the checkpoint region, which begins behind the log.
    pub(crate) fn region_blocks(&self) -> u32 {
        self.region
    }

    /// The block at `slot` of an erase block.
    pub(crate) fn addr(&self, block: u32, slot: u32) -> Addr {
        Addr(self.shape.page(block, slot))
    }

    /// The erase block of a block.
    pub(crate) fn block_of(&self, addr: Addr) -> u32 {
        self.shape.block_of(addr.0)
    }

    /// The place of a block in its erase block.
    pub(crate) fn slot_of(&self, addr: Addr) -> u32 {
        self.shape.index_of(addr.0)
    }

    /// Page `part` (0 or 1) of a block.
    pub(crate) fn page(&self, addr: Addr, part: u32) -> PageId {
        self.shape.chip_page(addr.0, part)
    }

    /// True if a block of the log can lie there.
    pub(crate) fn is_in_log(&self, addr: Addr) -> bool {
        addr.0 < self.shape.pages().saturating_mul(self.log_blocks())
    }
}

/// The address in entry `index` of a block of addresses.
pub(crate) fn entry(block: &[u8], index: u32) -> Addr {
    Addr(get_u32(block, index as usize * 4))
}

/// Puts an address into an entry.
pub(crate) fn put_entry(block: &mut [u8], index: u32, addr: Addr) {
    put_u32(block, index as usize * 4, addr.0);
}
