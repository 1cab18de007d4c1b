//! The shape of the log, from the shape of its chip.

use pumice_media::{Geometry, PageId, Pairing};

/// Bytes of a tag before its body.
pub const TAG_BYTES: u32 = 12;
/// Bytes at the start of a tag that have a checksum of their own, so that they can be believed without the page.
pub const HEADER_BYTES: u32 = 8;
/// Bytes of the proof that stands alone where no tag fits.
const SUM_BYTES: u32 = 4;

/// The place of a superpage's tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagPlace {
    /// The spare area: the payload has the whole page, and tags are read without it.
    Spare,
    /// The end of the page, which loses these bytes.
    Page,
    /// No tag: the spare area has room for the proof alone, which tells the kind. The owner records the content of
    /// pages elsewhere.
    Proof,
}

/// An erase block, and the index of a superpage in it.
pub(crate) type Place = (u32, u32);

/// All sizes that follow from the chip and the tag. Nothing here is read from the chip.
///
/// A *superpage* is the unit that the log reads and programs: one page of the chip, or several small ones in a row in
/// an erase block. ScaleFFS (3.2) combines two pages of 512 bytes in the same way. Superpages are counted through the
/// chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    parts: u32,
    chip_page: u32,
    chip_spare: u32,
    chip_pages: u32,
    tag: TagPlace,
    head: u32,
    pages: u32,
    /// Superpages behind those, for parity.
    parity: u32,
    blocks: u32,
    pairing: Pairing,
}

impl Shape {
    /// Superpages of `parts` pages of the chip each, none of which shares cells with another, with tags that have a
    /// body of `body` bytes. The tag must fit: see [`Shape::tag_fits`].
    pub fn new(geometry: &Geometry, parts: u32, tag: TagPlace, body: u32) -> Shape {
        let head = if tag == TagPlace::Proof { SUM_BYTES } else { TAG_BYTES + body };
        let parts = parts.max(1);
        let shape = Shape {
            parts,
            chip_page: geometry.page_bytes,
            chip_spare: geometry.free_spare_bytes,
            chip_pages: geometry.pages_per_block,
            tag,
            head,
            pages: geometry.pages_per_block / parts,
            parity: 0,
            blocks: geometry.blocks,
            pairing: Pairing::Unpaired,
        };
        let room = if tag == TagPlace::Page { shape.data_bytes() } else { shape.spare_bytes() };
        debug_assert!(head as usize <= room, "a tag of {head} bytes in {room}");
        shape
    }

    /// True if a tag with a body of `body` bytes fits into the spare areas of `parts` pages. The start of a tag must
    /// lie in the first of them.
    pub fn tag_fits(geometry: &Geometry, parts: u32, body: u32) -> bool {
        let spare = geometry.free_spare_bytes;
        spare >= HEADER_BYTES && spare.saturating_mul(parts) >= TAG_BYTES.saturating_add(body)
    }

    /// The place for a proof alone, if it fits the spare areas of `parts` pages.
    pub fn proof_fits(geometry: &Geometry, parts: u32) -> bool {
        geometry.free_spare_bytes.saturating_mul(parts) >= SUM_BYTES
    }

    /// The same with fewer superpages in use of each erase block.
    #[must_use]
    pub fn with_pages(self, pages: u32) -> Shape {
        Shape { pages: self.pages.min(pages), ..self }
    }

    /// The same with tags in the spare area that have a body of `body` bytes. The tag must fit.
    #[must_use]
    pub fn with_body(self, body: u32) -> Shape {
        let head = TAG_BYTES + body;
        debug_assert!(
            self.tag == TagPlace::Spare && head as usize <= self.spare_bytes(),
            "a body of {body} bytes"
        );
        Shape { head, ..self }
    }

    /// The same with the last superpages of each erase block kept for parity.
    pub(crate) fn keeping(self, parity: u32) -> Shape {
        debug_assert!(parity < self.pages && self.parity == 0, "{parity} of {} superpages", self.pages);
        Shape { pages: self.pages - parity, parity, ..self }
    }

    /// The same on a chip with this pairing of pages.
    #[must_use]
    pub fn with_pairing(self, pairing: Pairing) -> Shape {
        debug_assert!(pairing.fits(self.chip_pages), "{pairing:?} of {} pages", self.chip_pages);
        Shape { pairing, ..self }
    }

    /// The pairing of the chip's pages.
    pub(crate) fn pairing(&self) -> Pairing {
        self.pairing
    }

    /// True if some pages share cells with others.
    pub fn is_paired(&self) -> bool {
        self.pairing != Pairing::Unpaired
    }

    /// Pages of the chip in a superpage.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// Pages of the chip in an erase block.
    pub(crate) fn chip_pages(&self) -> u32 {
        self.chip_pages
    }

    /// Data bytes of a page of the chip.
    pub fn chip_page_bytes(&self) -> usize {
        self.chip_page as usize
    }

    /// Free spare bytes of a page of the chip.
    pub fn chip_spare_bytes(&self) -> usize {
        self.chip_spare as usize
    }

    /// The place of tags.
    pub fn tag_place(&self) -> TagPlace {
        self.tag
    }

    /// Bytes of a tag with its body, or of the proof alone.
    pub fn head_bytes(&self) -> usize {
        self.head as usize
    }

    /// Superpages of an erase block, those for parity left out.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Superpages behind those that hold parity over them.
    pub fn parity(&self) -> u32 {
        self.parity
    }

    /// Erase blocks of the chip.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Data bytes of a superpage.
    pub fn data_bytes(&self) -> usize {
        (self.parts * self.chip_page) as usize
    }

    /// Free spare bytes of a superpage.
    pub fn spare_bytes(&self) -> usize {
        (self.parts * self.chip_spare) as usize
    }

    /// Bytes of a superpage that the owner fills.
    pub fn payload(&self) -> usize {
        match self.tag {
            TagPlace::Page => self.data_bytes().saturating_sub(self.head_bytes()),
            TagPlace::Spare | TagPlace::Proof => self.data_bytes(),
        }
    }

    /// The superpage at `index` of an erase block.
    pub fn page(&self, block: u32, index: u32) -> u32 {
        block * self.pages + index
    }

    /// The erase block of a superpage.
    pub fn block_of(&self, page: u32) -> u32 {
        page / self.pages.max(1)
    }

    /// The place of a superpage in its erase block.
    pub fn index_of(&self, page: u32) -> u32 {
        page % self.pages.max(1)
    }

    /// Part `part` of a superpage as a page of the chip.
    pub fn chip_page(&self, page: u32, part: u32) -> PageId {
        self.chip_page_at(self.place(page), part)
    }

    /// Erase block and index of a superpage.
    pub(crate) fn place(&self, page: u32) -> Place {
        (self.block_of(page), self.index_of(page))
    }

    /// The same as [`Shape::chip_page`] for a superpage at its place, which may be one for parity.
    pub(crate) fn chip_page_at(&self, (block, index): Place, part: u32) -> PageId {
        debug_assert!(index < self.pages + self.parity, "place {index} of an erase block");
        PageId(block * self.chip_pages + index * self.parts + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(page_bytes: u32, free: u32) -> Geometry {
        Geometry { page_bytes, spare_bytes: 2 * free, free_spare_bytes: free, pages_per_block: 67, blocks: 9 }
    }

    #[test]
    fn parts_lie_in_a_row_and_blocks_waste_what_is_left() {
        let shape = Shape::new(&geometry(512, 8), 4, TagPlace::Spare, 20);
        assert_eq!((shape.pages(), shape.payload(), shape.head_bytes()), (16, 2048, 32));
        assert_eq!(shape.chip_page(shape.page(2, 3), 1), PageId(2 * 67 + 13));
        assert_eq!((shape.block_of(35), shape.index_of(35)), (2, 3));
        assert_eq!(shape.with_pages(8).pages(), 8);
    }

    #[test]
    fn a_tag_takes_its_bytes_where_it_lies() {
        assert_eq!(Shape::new(&geometry(2048, 4), 1, TagPlace::Page, 20).payload(), 2016);
        assert_eq!(Shape::new(&geometry(2048, 4), 1, TagPlace::Proof, 20).payload(), 2048);
        assert!(Shape::tag_fits(&geometry(512, 8), 4, 20) && !Shape::tag_fits(&geometry(512, 8), 3, 20));
        // The header would be torn apart.
        assert!(!Shape::tag_fits(&geometry(512, 7), 8, 20));
        assert!(Shape::proof_fits(&geometry(512, 1), 4) && !Shape::proof_fits(&geometry(512, 1), 3));
    }
}
