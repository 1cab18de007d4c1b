//! The shape of a volume, derived from the shape of its chip and the size of its logical blocks.
//!
//! A *log page* is the unit that the server reads and programs: as many chip pages as a logical block needs, or one
//! chip page that holds several logical blocks.

pub(crate) use pumice_flashlog::ANCHOR_BLOCKS;
use pumice_flashlog::TagPlace;
use pumice_media::{Geometry, Pairing};

use crate::error::FtlError;
use crate::layout::{BEFORE_BYTES, BODY_BYTES, ENTRY_BYTES, LBA_BYTES, RawLeaf, SUMMARY_BYTES, count32};

/// Bytes of the proof that stands alone where no tag fits.
const PROOF_BYTES: u32 = 4;
/// Log pages of a segment from which on a summary is worth its page.
const SUMMARY_FROM: u32 = 32;
/// The fewest log pages of a segment, and the fewest segments of a chip.
const PAGES_MIN: u32 = 4;
const BLOCKS_MIN: u32 = 16;

/// Other segments that a summary has room for at the least where pages have no tags of their own, and bytes of each.
const LISTED_LEAST: u32 = 16;
const LISTED_BYTES: u32 = 4;

/// Entries of a leaf of the translation table, of which changes are numbered in 16 bits.
const LEAF_ENTRIES_MOST: u32 = 1 << 15;

/// The place of a log page.
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

    /// The block is stored, and the page of the table with its place is lost.
    pub(crate) const LOST: Addr = Addr(u32::MAX - 1);

    pub(crate) fn is_none(self) -> bool {
        self == Addr::NONE
    }
}

/// All sizes that follow from chip and logical block. Nothing here is read from the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Bytes of a logical block.
    pub(crate) block_bytes: u32,
    /// The shape for the medium.
    pub(crate) medium: pumice_flashlog::Shape,
    /// Logical blocks in a log page.
    pub(crate) slots: u32,
    /// Log pages of a segment, its summary included.
    pub(crate) pages: u32,
    /// Segments of the chip.
    pub(crate) blocks: u32,
    /// Pages have tags of their own; otherwise summaries name their blocks.
    pub(crate) tagged: bool,
    /// Summary pages that a full segment ends in. Where pages have no tags of their own there are two, so that neither
    /// is indispensable.
    pub(crate) summaries: u32,
    /// Pages that one promise has a segment pass over, at most: they share cells with promised ones.
    pub(crate) lost: u32,
    /// The most places from a programmed page to the next one: 1 if none is ever passed over.
    pub(crate) reach: u32,
}

impl Shape {
    /// The shape for a chip without shared cells, logical blocks of `block_bytes` bytes, and segments with parity over
    /// the others in their last `parity` log pages.
    pub(crate) fn of(geometry: &Geometry, block_bytes: u32, parity: u8) -> Result<Shape, FtlError> {
        if !block_bytes.is_power_of_two() || !(512..=65536).contains(&block_bytes) {
            return Err(FtlError::BlockBytes(block_bytes));
        }
        let page = geometry.page_bytes;
        let gang = block_bytes.div_ceil(page.max(1));
        let slots = gang.saturating_mul(page) / block_bytes;
        let body = BODY_BYTES + BEFORE_BYTES + slots * (ENTRY_BYTES + LBA_BYTES);
        let tag = match () {
            () if pumice_flashlog::Shape::tag_fits(geometry, gang, body) => TagPlace::Spare,
            () if pumice_flashlog::Shape::proof_fits(geometry, gang) => TagPlace::Proof,
            () => {
                let bytes = gang.saturating_mul(geometry.free_spare_bytes);
                return Err(FtlError::SpareBytes { bytes, want: PROOF_BYTES });
            }
        };
        let tagged = tag == TagPlace::Spare;
        let payload = gang.saturating_mul(page);
        let listed = if tagged { 0 } else { LISTED_LEAST * LISTED_BYTES };
        let named = payload.saturating_sub(SUMMARY_BYTES + listed) / named_bytes(slots);
        let parity = u32::from(parity);
        let whole = (geometry.pages_per_block / gang).min(u32::from(u16::MAX)).saturating_sub(parity);
        let (pages, summaries) = match tagged {
            true => (whole, u32::from(whole >= SUMMARY_FROM && named >= whole - 1)),
            false => (whole.min(named.saturating_add(1)), 2),
        };
        let slots_of_chip = u64::from(geometry.blocks) * u64::from(pages) * u64::from(slots);
        if pages < PAGES_MIN || geometry.blocks < BLOCKS_MIN || slots_of_chip >= u64::from(Addr::LOST.0) {
            return Err(FtlError::Segments { pages, blocks: geometry.blocks });
        }
        let medium = pumice_flashlog::Shape::new(geometry, gang, tag, body).with_pages(pages + parity);
        Ok(Shape {
            block_bytes,
            medium: medium.with_parity(parity).ok_or(FtlError::Parity(parity))?,
            slots,
            pages,
            blocks: geometry.blocks,
            tagged,
            summaries,
            lost: 0,
            reach: 1,
        })
    }

    /// The same on a chip with this pairing of pages.
    pub(crate) fn on(self, pairing: Pairing) -> Result<Shape, FtlError> {
        let medium = self.medium.with_pairing(pairing);
        if medium.is_paired() && self.has_parity() {
            return Err(FtlError::Parity(medium.parity()));
        }
        Ok(Shape { medium, lost: medium.skips().lost, reach: medium.reach(), ..self })
    }

    /// True if segments end in parity.
    pub(crate) fn has_parity(&self) -> bool {
        self.medium.parity() > 0
    }

    /// True if a commit costs pages: summaries, or those that share cells with promised ones.
    pub(crate) fn is_batched(&self) -> bool {
        !self.tagged || self.is_paired()
    }

    /// True if a cut program may destroy pages that were programmed before.
    pub(crate) fn is_paired(&self) -> bool {
        self.medium.is_paired()
    }

    /// True if a segment has room from page `index` on, where those before `kept` are promised. A page of blocks has to
    /// fit and, where pages have no tags of their own, the summaries that name it.
    pub(crate) fn has_room(&self, index: u32, kept: u32) -> bool {
        let safe = |index: u32| self.medium.next_safe(index, kept);
        match self.tagged {
            true => safe(index).is_some_and(|index| index < self.data_pages()),
            false => (0..=self.summaries).try_fold(index, |index, _| Some(safe(index)? + 1)).is_some(),
        }
    }

    /// The page behind the summaries that a commit writes at page `index`; the end of the segment if it has no room for them.
    pub(crate) fn behind_summaries(&self, index: u32, kept: u32) -> u32 {
        let next = |index, _| Some(self.medium.next_safe(index, kept)? + 1);
        (0..self.summaries).try_fold(index, next).unwrap_or(self.pages)
    }

    /// Pages of blocks that a segment takes from page `index` on if all before it are promised.
    pub(crate) fn room(&self, index: u32) -> u32 {
        if !self.is_paired() {
            return self.data_pages() - index;
        }
        let safe = |at: &u32| self.medium.next_safe(*at, index) == Some(*at);
        (index..self.data_pages()).filter(safe).map(|_| 1).sum()
    }

    /// Data bytes of a log page.
    pub(crate) fn payload(&self) -> usize {
        self.medium.payload()
    }

    /// Entries of the translation table that a page holds.
    pub(crate) fn leaf_entries(&self) -> u32 {
        let bytes = self.payload() - size_of::<RawLeaf>();
        u32::try_from(bytes / size_of::<u32>()).unwrap_or(u32::MAX).min(LEAF_ENTRIES_MOST)
    }

    /// Log pages of a segment that hold logical blocks.
    pub(crate) fn data_pages(&self) -> u32 {
        self.pages - self.summaries
    }

    /// Logical blocks of a full segment.
    pub(crate) fn capacity(&self) -> u32 {
        self.data_pages() * self.slots
    }

    /// Bytes that a summary or checkpoint takes to name the blocks of one page.
    pub(crate) fn named_bytes(&self) -> usize {
        named_bytes(self.slots) as usize
    }

    /// Other segments that a summary has room for; none where pages have tags of their own.
    pub(crate) fn listed_most(&self) -> u32 {
        if self.tagged {
            return 0;
        }
        let pages = SUMMARY_BYTES + (self.pages - 1) * named_bytes(self.slots);
        count32(self.payload()).saturating_sub(pages) / LISTED_BYTES
    }

    /// The log page at a place, counted through the chip.
    pub(crate) fn page(&self, place: Place) -> u32 {
        self.medium.page(place.block, place.index)
    }

    /// The inverse of [`Shape::page`].
    pub(crate) fn place_of(&self, page: u32) -> Place {
        Place { block: self.medium.block_of(page), index: self.medium.index_of(page) }
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

    /// The segment of an address, if it has one.
    pub(crate) fn segment_of(&self, addr: Addr) -> Option<u32> {
        let block = self.place(addr).0.block;
        (!addr.is_none() && addr != Addr::LOST).then_some(block)
    }

    /// The bytes of slot `slot` in a payload.
    pub(crate) fn slot_range(&self, slot: u32) -> core::ops::Range<usize> {
        let start = (slot * self.block_bytes) as usize;
        start..start + self.block_bytes as usize
    }
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
        Shape::of(&geometry, block_bytes, 0).unwrap()
    }

    #[test]
    fn small_pages_gang_up_to_a_block() {
        let small = shape(512, 8, 32, 4096);
        assert_eq!((small.medium.parts(), small.slots, small.pages, small.tagged), (8, 1, 4, true));
        assert_eq!(small.summaries, 0);
    }

    #[test]
    fn large_pages_hold_several_blocks() {
        let large = shape(16384, 526, 384, 4096);
        assert_eq!((large.medium.parts(), large.slots, large.pages, large.tagged), (1, 4, 384, true));
        assert_eq!(large.summaries, 1);
    }

    #[test]
    fn few_spare_bytes_hold_a_checksum() {
        let short = shape(2048, 4, 64, 2048);
        assert_eq!((short.medium.parts(), short.data_pages(), short.tagged), (1, 62, false));
        // Pages beyond the summary's room are not used.
        let cut = shape(512, 8, 256, 512);
        assert_eq!((cut.pages, cut.tagged, cut.listed_most()), (35, false, 16));
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
