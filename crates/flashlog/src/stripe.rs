//! Parity over the superpages of an erase block, made while they are programmed (RCFFS, section 3.1).
//!
//! Payload and head of each place count, so that a page that is brought back proves itself; a place that was passed over, or
//! not reached, counts as zeros.

use alloc::{vec, vec::Vec};

use hashbrown::{HashMap, hash_map::Entry};
use pumice_ecc::{CodeError, LONGEST_PAGE, MOST_PARITY, Parity};

use crate::shape::{HEADER_BYTES, Place, Shape};
use crate::tag::header_check;

/// The place of the header's check. It follows from the bytes before it, and is left out where payload and head are an
/// odd number of bytes, for parity takes two at a time.
pub(crate) const CHECK: usize = HEADER_BYTES as usize - 1;

/// A superpage as parity sees it.
pub(crate) fn word(shape: &Shape, payload: &[u8], head: &[u8]) -> Vec<u8> {
    debug_assert_eq!((payload.len(), head.len()), (shape.payload(), shape.head_bytes()), "another superpage");
    let mut word = Vec::with_capacity(word_bytes(shape));
    word.extend_from_slice(payload);
    word.extend_from_slice(head);
    if is_odd(shape) {
        word.remove(payload.len() + CHECK);
    }
    word
}

/// Bytes of a superpage as parity sees it.
pub(crate) fn word_bytes(shape: &Shape) -> usize {
    shape.payload() + shape.head_bytes() - usize::from(is_odd(shape))
}

/// True if payload and head are an odd number of bytes: then the head is a whole tag, for a proof alone has four.
pub(crate) fn is_odd(shape: &Shape) -> bool {
    !(shape.payload() + shape.head_bytes()).is_multiple_of(2)
}

/// Payload and head of a superpage that parity has brought back.
pub(crate) fn of_word(shape: &Shape, mut word: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let mut head = word.split_off(shape.payload());
    if is_odd(shape) {
        head.insert(CHECK, header_check(&head));
    }
    (word, head)
}

impl Shape {
    /// The same with the last `parity` superpages of each erase block kept for parity over those before, which alone have
    /// numbers then. `None` if the code takes no such pages or no so many, or if pages share cells: programming parity
    /// would put promised ones at risk.
    #[must_use]
    pub fn with_parity(self, parity: u32) -> Option<Shape> {
        let takes = parity as usize <= MOST_PARITY && word_bytes(&self) <= LONGEST_PAGE && !self.is_paired();
        ((takes || parity == 0) && parity < self.pages()).then(|| self.keeping(parity))
    }
}

/// Parity over the superpages of an erase block so far. Memory: as many of them as parity has pages.
#[derive(Clone, Debug)]
pub(crate) struct Stripe {
    parity: Parity,
    /// The place that comes next.
    next: u32,
    /// Places that its newest copy covers.
    copied: u32,
}

impl Stripe {
    fn new(shape: &Shape) -> Result<Stripe, CodeError> {
        Ok(Stripe { parity: Parity::new(shape.parity() as usize, word_bytes(shape))?, next: 0, copied: 0 })
    }

    /// Places that count.
    pub(crate) fn places(&self) -> u32 {
        self.next
    }

    /// Takes the superpage at `index`.
    fn push(&mut self, shape: &Shape, index: u32, word: &[u8]) -> Result<(), CodeError> {
        debug_assert!(index >= self.next, "place {index} comes behind {}", self.next);
        self.fill(shape, index)?;
        self.parity.push(word)?;
        self.next = index + 1;
        Ok(())
    }

    /// Moves on to the place at `index`; those between count as zeros.
    fn fill(&mut self, shape: &Shape, index: u32) -> Result<(), CodeError> {
        let zeros = vec![0; word_bytes(shape)];
        (self.next..index).try_for_each(|_| self.parity.push(&zeros))?;
        self.next = self.next.max(index);
        Ok(())
    }

    /// The parity of all places that count so far.
    pub(crate) fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.parity.pages()
    }
}

/// The stripes of the blocks that are being filled, and of those that could not be ended.
#[derive(Default)]
pub(crate) struct Stripes {
    open: HashMap<u32, Stripe>,
}

impl Stripes {
    /// Takes the superpage at a place; the first of a block comes first.
    pub(crate) fn push(&mut self, shape: &Shape, (block, index): Place, word: &[u8]) {
        let pushed = match self.open.entry(block) {
            Entry::Occupied(stripe) => stripe.into_mut().push(shape, index, word),
            Entry::Vacant(place) => {
                debug_assert_eq!(index, 0, "block {block} was begun elsewhere");
                Stripe::new(shape).and_then(|stripe| place.insert(stripe).push(shape, index, word))
            }
        };
        debug_assert!(pushed.is_ok(), "shapes are checked where they get parity: {pushed:?}");
    }

    /// The stripe of a block that is being filled.
    pub(crate) fn of(&self, block: u32) -> Option<&Stripe> {
        self.open.get(&block)
    }

    /// Moves on to the end of a block, and returns its parity.
    pub(crate) fn end(&mut self, shape: &Shape, block: u32) -> Vec<Vec<u8>> {
        let Some(stripe) = self.open.get_mut(&block) else { return Vec::new() };
        let filled = stripe.fill(shape, shape.pages());
        debug_assert!(filled.is_ok(), "shapes are checked where they get parity: {filled:?}");
        stripe.words().map(<[u8]>::to_vec).collect()
    }

    /// Blocks with a stripe, in order.
    pub(crate) fn blocks(&self) -> Vec<u32> {
        self.those(|_| true)
    }

    /// Blocks with places that their newest copy lacks, in order.
    pub(crate) fn uncopied(&self) -> Vec<u32> {
        self.those(|stripe| stripe.copied < stripe.next)
    }

    fn those(&self, is_one: impl Fn(&Stripe) -> bool) -> Vec<u32> {
        let found = self.open.iter().filter(|(_, stripe)| is_one(stripe));
        let mut blocks: Vec<u32> = found.map(|(block, _)| *block).collect();
        blocks.sort_unstable();
        blocks
    }

    /// All places of a block that count so far are copied.
    pub(crate) fn copied(&mut self, block: u32) {
        if let Some(stripe) = self.open.get_mut(&block) {
            stripe.copied = stripe.next;
        }
    }

    /// There are no copies.
    pub(crate) fn forget_copies(&mut self) {
        self.open.values_mut().for_each(|stripe| stripe.copied = 0);
    }

    /// The parity of a block is on the chip, or of no use any more.
    pub(crate) fn forget(&mut self, block: u32) {
        self.open.remove(&block);
    }

    /// Memory of all of them, in bytes.
    pub(crate) fn bytes(&self, shape: &Shape) -> usize {
        self.open.len() * shape.parity() as usize * word_bytes(shape)
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{Geometry, Pairing};

    use super::*;
    use crate::shape::TagPlace;

    fn shape(page_bytes: u32) -> Shape {
        let geometry =
            Geometry { page_bytes, spare_bytes: 64, free_spare_bytes: 40, pages_per_block: 9, blocks: 4 };
        Shape::new(&geometry, 1, TagPlace::Spare, 1)
    }

    #[test]
    fn pages_for_parity_have_no_numbers() {
        let with = shape(512).with_parity(2).unwrap();
        assert_eq!((with.pages(), with.parity(), with.page(1, 0)), (7, 2, 7));
        assert_eq!(with.chip_page(7, 0), shape(512).chip_page(9, 0));
        assert_eq!(shape(512).with_parity(0), Some(shape(512)));
    }

    #[test]
    fn no_shape_gets_more_than_it_can_have() {
        assert_eq!(shape(512).with_parity(9), None);
        assert_eq!(shape(65536).with_parity(1), None);
        assert_eq!(shape(512).with_pairing(Pairing::WordLine { pages: 3 }).with_parity(1), None);
        assert_eq!(shape(512).with_pages(3).with_parity(3), None);
    }

    #[test]
    fn a_head_of_odd_length_comes_back() {
        let shape = shape(512);
        let (payload, mut head) = (vec![1; shape.payload()], vec![2; shape.head_bytes()]);
        head[CHECK] = header_check(&head);
        assert_eq!((head.len() % 2, word_bytes(&shape) % 2), (1, 0));
        assert_eq!(of_word(&shape, word(&shape, &payload, &head)), (payload, head));
    }
}
