//! Copies of the parity of blocks that are still being filled, in other blocks. Until a block is full and has its own
//! parity, they bring its superpages back if the power fails.
//!
//! A copy is the parity over the first places of a block, as it would stand at the block's end if that came now. It has
//! no tag: payload and head are needed whole, and a superpage brought back proves itself. The header's checksum follows
//! from the other bytes. In its place stands a mark by which the copies of a block are found, so that the owner need
//! not record their places.

use alloc::{sync::Arc, vec, vec::Vec};

use pumice_ecc::Repair;
use pumice_media::Nand;

use super::parity::taken;
use super::partial::{Partial, Runs, push};
use super::{Medium, Page};
use crate::Result;
use crate::shape::{Place, Shape, TagPlace};
use crate::stripe::{CHECK, of_word, word_bytes};
use crate::tag::{Tag, header_check, proves};

/// The first superpage for copies in a block of copies; those before are the owner's.
const FIRST: u32 = 1;

/// The mark of a copy of the parity over so many places of a block.
fn mark(block: u32, places: u32) -> u8 {
    let mut bytes = block.to_le_bytes().to_vec();
    bytes.extend(places.to_le_bytes().iter().take(3));
    header_check(&bytes)
}

impl Shape {
    /// Copies of parity that a block has room for behind its first superpage; none where payloads are an odd number of bytes,
    /// or without tags.
    pub fn copies(&self) -> u32 {
        if !self.payload().is_multiple_of(2) || self.tag_place() == TagPlace::Proof {
            return 0;
        }
        (self.pages() + self.parity() - FIRST).checked_div(self.parity()).unwrap_or(0)
    }

    /// The first of the superpages of a copy, as many as have parity.
    fn copy_place(&self, block: u32, number: u32) -> Place {
        (block, FIRST + number * self.parity())
    }
}

impl Medium<'_> {
    /// Blocks with more parity in memory than in their newest copy, in order.
    pub fn uncopied(&self) -> Vec<u32> {
        self.stripes.uncopied()
    }

    /// Blocks with their parity in memory alone, in order: they are being filled, or it could not be programmed.
    pub fn unended(&self) -> Vec<u32> {
        self.stripes.blocks()
    }

    /// All copies made so far are about to be given up.
    pub fn forget_copies(&mut self) {
        self.stripes.forget_copies();
    }

    /// Programs a copy of the parity of a block, so far, as number so many in another block; copies there come in
    /// order.
    pub fn program_copy(&mut self, block: u32, (other, number): (u32, u32)) -> Result<()> {
        let shape = self.shape;
        debug_assert!(number < shape.copies(), "copy {number} of {}", shape.copies());
        let Some(stripe) = self.stripes.of(block) else { return Ok(()) };
        let mark = mark(block, stripe.places());
        let words: Vec<Vec<u8>> = stripe.words().map(<[u8]>::to_vec).collect();
        let (_, first) = shape.copy_place(other, number);
        for (index, bytes) in (first..).zip(words) {
            let (payload, mut head) = of_word(&shape, bytes);
            if let Some(check) = head.get_mut(CHECK) {
                *check = mark;
            }
            self.program_place((other, index), &payload, &head)?;
        }
        self.stripes.copied(block);
        Ok(())
    }

    /// Sets the blocks with copies made before the mount, the newest last, and the blocks that may have no other
    /// parity.
    pub fn set_copies(&mut self, copies: Vec<u32>, of: impl IntoIterator<Item = u32>) {
        self.copies = copies;
        self.copied = of.into_iter().collect();
    }

    /// Brings back an unreadable superpage, from the others of its block and a copy of their parity. Newer copies are
    /// tried first; one of an earlier life of the block brings nothing back that proves itself. Costs a look at each
    /// copy, and for each likely one a read of it and of the superpages it covers.
    pub(super) fn rebuild_by_copy(&mut self, page: u32) -> Result<Option<Arc<Page>>> {
        let shape = self.shape;
        let (block, wanted) = shape.place(page);
        if !self.copied.contains(&block) || self.stripes.of(block).is_some() {
            return Ok(None);
        }
        let mut end = wanted + 1;
        while let Some((index, _)) = self.next_programmed(block, end)? {
            end = index + 1;
        }
        let mut known: Vec<Partial> = Vec::new();
        let others = self.copies.clone();
        let places = others
            .iter()
            .rev()
            .flat_map(|other| (0..shape.copies()).rev().map(|number| shape.copy_place(*other, number)));
        for at in places {
            let marks = self.marks(at)?;
            // Not every chip's ECC covers the spare area.
            let is_it = |found: &u8, covered| (found ^ mark(block, covered)).count_ones() <= 1;
            // One of which no mark can be read may be of any block.
            let may_cover =
                |covered: &u32| marks.is_empty() || marks.iter().any(|found| is_it(found, *covered));
            let likely: Vec<u32> = (wanted + 1..=end).rev().filter(may_cover).collect();
            let copy = if likely.is_empty() { Vec::new() } else { self.partial_copy(at)? };
            if !copy.iter().any(Partial::has_any) {
                continue;
            }
            for covered in likely {
                while let Some(index) = u32::try_from(known.len()).ok().filter(|index| *index < end) {
                    let it = shape.page(block, index);
                    known.push(if index == wanted { Partial::nothing(&shape) } else { self.partial(it)? });
                }
                let known = known.get(..covered as usize).unwrap_or_default();
                let found = self.by_copy((block, wanted), known, &copy)?;
                for (index, proved) in &found {
                    self.keep(shape.page(block, *index), proved);
                }
                if let Some((_, found)) = found.into_iter().find(|(index, _)| *index == wanted) {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// The marks of a copy that can be read.
    fn marks(&mut self, (block, first): Place) -> Result<Vec<u8>> {
        let mut marks = Vec::new();
        for index in first..first + self.shape.parity() {
            marks.extend(match self.read_start((block, index))? {
                Some(start) => start.get(CHECK).copied(),
                None => self.mark_by_codeword((block, index))?,
            });
        }
        Ok(marks)
    }

    /// The mark of a superpage that lacks codewords, if its own can be read.
    fn mark_by_codeword(&mut self, place: Place) -> Result<Option<u8>> {
        let shape = self.shape;
        let (part, head) = match shape.tag_place() {
            TagPlace::Page => (shape.parts() - 1, shape.chip_page_bytes() - shape.head_bytes()),
            TagPlace::Spare | TagPlace::Proof => (0, shape.chip_page_bytes()),
        };
        let (mut data, mut spare) = (vec![0; shape.chip_page_bytes()], vec![0; shape.chip_spare_bytes()]);
        let lost = self.nand.read_by_codeword(shape.chip_page_at(place, part), &mut data, &mut spare)?;
        let at = head + CHECK;
        let is_lost = lost.iter().any(|lost| lost.contains(&at));
        Ok(data.iter().chain(&spare).nth(at).copied().filter(|_| !is_lost))
    }

    /// A copy, as far as it can be read.
    fn partial_copy(&mut self, (block, first): Place) -> Result<Vec<Partial>> {
        (first..first + self.shape.parity()).map(|index| self.partial_parity((block, index))).collect()
    }

    /// The superpages that a copy brings back, out of the first ones of a block: all, or where too many lack
    /// something, the wanted one.
    fn by_copy(
        &mut self,
        (block, wanted): Place,
        known: &[Partial],
        copy: &[Partial],
    ) -> Result<Vec<(u32, Arc<Page>)>> {
        let shape = self.shape;
        let parity = shape.parity();
        let proved = |index, word| {
            let (payload, head) = of_word(&shape, word);
            Some((index, Arc::new(proved(&shape, shape.page(block, index), payload, &head)?)))
        };
        if known.iter().chain(copy).filter(|known| known.word().is_none()).count() > parity as usize {
            let it = self.partial(shape.page(block, wanted))?;
            let (before, behind) = known.split_at(wanted as usize);
            let all = || before.iter().chain([&it]).chain(behind.iter().skip(1)).chain(copy);
            let lost: Vec<_> = all().map(|known| known.lost().to_vec()).collect();
            let Some(mut runs) = Runs::of(&lost, wanted as usize, parity as usize) else {
                return Ok(Vec::new());
            };
            all().for_each(|known| runs.push(known));
            return Ok(runs.finish(it).and_then(|word| proved(wanted, word)).into_iter().collect());
        }
        let Ok(mut repair) = Repair::new(parity as usize, word_bytes(&shape)) else { return Ok(Vec::new()) };
        known.iter().chain(copy).for_each(|known| push(&mut repair, known.word()));
        let Ok(lost) = repair.finish() else { return Ok(Vec::new()) };
        let places = 0..u32::try_from(known.len()).unwrap_or(0);
        Ok(places.filter_map(|index| proved(index, taken(&lost, index)?)).collect())
    }
}

/// A superpage that a copy has brought back, if it proves itself. The mark has taken the place of one byte of a symbol
/// of parity. Two bytes are therefore searched for: the header's checksum, which follows from the others, and the byte
/// beside it, the highest of the sequence number.
fn proved(shape: &Shape, page: u32, payload: Vec<u8>, head: &[u8]) -> Option<Page> {
    let beside = *head.get(CHECK - 1)?;
    let head_of = |highest: u8| {
        let mut head = head.to_vec();
        if let Some(bytes) = head.get_mut(CHECK - 1) {
            *bytes = highest;
        }
        let check = header_check(&head);
        if let Some(bytes) = head.get_mut(CHECK) {
            *bytes = check;
        }
        head
    };
    if let Some((tag, _)) = Tag::proved(shape, page, &payload, &mut head_of(beside)) {
        return Some(Page { tag, payload });
    }
    let head = (0..=u8::MAX).map(head_of).find(|head| proves(shape, page, &payload, head))?;
    Some(Page { tag: Tag::decode(&head)?, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CRC-8 of both numbers, as another program would compute it.
    #[test]
    fn marks_tell_block_and_places() {
        let known = [(2, 1, 210), (2, 10, 62), (3, 10, 225), (0x1_0203, 0x4_0506, 118)];
        for (block, places, wanted) in known {
            assert_eq!(mark(block, places), wanted, "{places} places of block {block}");
        }
    }
}
