//! The shape of a volume, derived from the shape of its chip and the size of its logical blocks.
//!
//! A *log page* is what the server reads and programs in one go: as many chip pages as a logical block needs, or one
//! chip page that holds several logical blocks.

use pumice_media::{Geometry, PageId};

use crate::error::FtlError;
use crate::layout::{ENTRY_BYTES, SUMMARY_BYTES, TAG_BYTES};

/// Segments at the start of the chip that hold the anchors.
pub(crate) const ANCHOR_BLOCKS: u32 = 4;
/// Bytes of the checksum that stands alone where no tag fits.
pub(crate) const SHORT_TAG_BYTES: u32 = 4;
/// The least bytes of a page that holds an anchor.
const ANCHOR_BYTES: u32 = 512;
/// Log pages of a segment from which on a summary is worth its page.
const SUMMARY_FROM: u32 = 32;
/// The fewest log pages of a segment, and the fewest segments of a chip.
const PAGES_MIN: u32 = 4;
const BLOCKS_MIN: u32 = 16;

/// How the per-block information of a page is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TagKind {
    /// In the page's spare bytes, whole.
    Full,
    /// The spare bytes hold a checksum alone; a summary page names what the pages before it hold.
    Short,
}

/// Where a log page lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub(crate) block: u32,
    pub(crate) index: u32,
}

/// A stored logical block: its slot, counted through the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Addr(pub(crate) u32);

impl Addr {
    /// Nothing is stored.
    pub(crate) const NONE: Addr = Addr(u32::MAX);

    pub(crate) fn is_none(self) -> bool {
        self == Addr::NONE
    }
}

/// All sizes that follow from chip and logical block. Nothing here is read from the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Bytes of a logical block.
    pub(crate) block_bytes: u32,
    /// Chip pages in a log page.
    pub(crate) gang: u32,
    /// Data bytes of a chip page.
    pub(crate) chip_page: u32,
    /// Free spare bytes of a chip page.
    pub(crate) chip_spare: u32,
    /// Chip pages of an erase block.
    pub(crate) chip_pages: u32,
    /// Logical blocks in a log page.
    pub(crate) slots: u32,
    /// Log pages of a segment, its summary included.
    pub(crate) pages: u32,
    /// Segments of the chip.
    pub(crate) blocks: u32,
    /// How pages are tagged.
    pub(crate) tag: TagKind,
    /// A full segment ends in a summary page.
    pub(crate) summary: bool,
}

impl Shape {
    /// The shape for a chip and logical blocks of `block_bytes` bytes.
    pub(crate) fn of(geometry: &Geometry, block_bytes: u32) -> Result<Shape, FtlError> {
        if !block_bytes.is_power_of_two() || !(512..=65536).contains(&block_bytes) {
            return Err(FtlError::BlockBytes(block_bytes));
        }
        let (page, spare) = (geometry.page_bytes, geometry.free_spare_bytes);
        let gang = block_bytes.div_ceil(page.max(1));
        let slots = gang.saturating_mul(page) / block_bytes;
        let tag = match gang.saturating_mul(spare) {
            bytes if bytes >= full_tag_bytes(slots) => TagKind::Full,
            bytes if bytes >= SHORT_TAG_BYTES => TagKind::Short,
            bytes => return Err(FtlError::SpareBytes { bytes, want: SHORT_TAG_BYTES }),
        };
        let payload = gang.saturating_mul(page);
        let named = payload.saturating_sub(SUMMARY_BYTES) / named_bytes(slots);
        let whole = (geometry.pages_per_block / gang).min(u32::from(u16::MAX));
        let (pages, summary) = match tag {
            TagKind::Full => (whole, whole >= SUMMARY_FROM && named >= whole - 1),
            TagKind::Short => (whole.min(named.saturating_add(1)), true),
        };
        let slots_of_chip = u64::from(geometry.blocks) * u64::from(pages) * u64::from(slots);
        if pages < PAGES_MIN || geometry.blocks < BLOCKS_MIN || slots_of_chip >= u64::from(u32::MAX) {
            return Err(FtlError::Segments { pages, blocks: geometry.blocks });
        }
        Ok(Shape {
            block_bytes,
            gang,
            chip_page: page,
            chip_spare: spare,
            chip_pages: geometry.pages_per_block,
            slots,
            pages,
            blocks: geometry.blocks,
            tag,
            summary,
        })
    }

    /// The shape of anchors, which have to be found before anything is known: pages of 512 bytes or more with
    /// checksums alone.
    pub(crate) fn of_anchors(geometry: &Geometry) -> Result<Shape, FtlError> {
        let (page, spare) = (geometry.page_bytes.max(1), geometry.free_spare_bytes);
        if spare == 0 {
            return Err(FtlError::SpareBytes { bytes: 0, want: SHORT_TAG_BYTES });
        }
        let gang = ANCHOR_BYTES.div_ceil(page).max(SHORT_TAG_BYTES.div_ceil(spare));
        let pages = geometry.pages_per_block / gang;
        if pages == 0 {
            return Err(FtlError::Segments { pages, blocks: geometry.blocks });
        }
        Ok(Shape {
            block_bytes: ANCHOR_BYTES,
            gang,
            chip_page: page,
            chip_spare: spare,
            chip_pages: geometry.pages_per_block,
            slots: 1,
            pages,
            blocks: geometry.blocks,
            tag: TagKind::Short,
            summary: false,
        })
    }

    /// Data bytes of a log page.
    pub(crate) fn payload(&self) -> usize {
        (self.gang * self.chip_page) as usize
    }

    /// Spare bytes of a log page.
    pub(crate) fn spare(&self) -> usize {
        (self.gang * self.chip_spare) as usize
    }

    /// Spare bytes of a log page that mean something.
    pub(crate) fn tag_bytes(&self) -> usize {
        match self.tag {
            TagKind::Full => full_tag_bytes(self.slots) as usize,
            TagKind::Short => SHORT_TAG_BYTES as usize,
        }
    }

    /// Log pages of a segment that hold logical blocks.
    pub(crate) fn data_pages(&self) -> u32 {
        self.pages - u32::from(self.summary)
    }

    /// Logical blocks of a full segment.
    pub(crate) fn capacity(&self) -> u32 {
        self.data_pages() * self.slots
    }

    /// Bytes that a summary or checkpoint takes to name the blocks of one page.
    pub(crate) fn named_bytes(&self) -> usize {
        named_bytes(self.slots) as usize
    }

    /// The chip page that is part `part` of a log page.
    pub(crate) fn chip_page_at(&self, place: Place, part: u32) -> PageId {
        PageId(place.block * self.chip_pages + place.index * self.gang + part)
    }

    /// The address of a slot of a page.
    pub(crate) fn addr(&self, place: Place, slot: u32) -> Addr {
        Addr((place.block * self.pages + place.index) * self.slots + slot)
    }

    /// Page and slot of an address; the page may lie outside the chip if the address was read.
    pub(crate) fn place(&self, addr: Addr) -> (Place, u32) {
        let page = addr.0 / self.slots;
        (Place { block: page / self.pages, index: page % self.pages }, addr.0 % self.slots)
    }

    /// The bytes of slot `slot` in a payload.
    pub(crate) fn slot_range(&self, slot: u32) -> core::ops::Range<usize> {
        let start = (slot * self.block_bytes) as usize;
        start..start + self.block_bytes as usize
    }
}

fn full_tag_bytes(slots: u32) -> u32 {
    TAG_BYTES + slots * ENTRY_BYTES
}

/// A page in a summary: how much later it was programmed than the first one, and its entries.
fn named_bytes(slots: u32) -> u32 {
    4 + slots * ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(page: u32, free: u32, pages: u32, block_bytes: u32) -> Shape {
        let geometry = Geometry {
            page_bytes: page,
            spare_bytes: 2 * free,
            free_spare_bytes: free,
            pages_per_block: pages,
            blocks: 100,
        };
        Shape::of(&geometry, block_bytes).unwrap()
    }

    #[test]
    fn small_pages_gang_up_to_a_block() {
        let small = shape(512, 8, 32, 4096);
        assert_eq!((small.gang, small.slots, small.pages, small.tag), (8, 1, 4, TagKind::Full));
        assert!(!small.summary);
    }

    #[test]
    fn large_pages_hold_several_blocks() {
        let large = shape(16384, 526, 384, 4096);
        assert_eq!((large.gang, large.slots, large.pages, large.tag), (1, 4, 384, TagKind::Full));
        assert!(large.summary);
    }

    #[test]
    fn few_spare_bytes_hold_a_checksum() {
        let short = shape(2048, 4, 64, 2048);
        assert_eq!((short.gang, short.data_pages(), short.tag), (1, 63, TagKind::Short));
        // What does not fit the summary is not used.
        let cut = shape(512, 8, 256, 512);
        assert_eq!((cut.pages, cut.tag), (41, TagKind::Short));
    }

    #[test]
    fn addresses_come_back() {
        let shape = shape(8192, 110, 256, 4096);
        for (block, index, slot) in [(0, 0, 0), (7, 255, 1), (99, 3, 1)] {
            let place = Place { block, index };
            assert_eq!(shape.place(shape.addr(place, slot)), (place, slot));
        }
    }
}
