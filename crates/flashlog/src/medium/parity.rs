//! Parity on the medium: programmed at the end of an erase block, and read to bring back pages that ECC gives up on.

use alloc::{sync::Arc, vec, vec::Vec};
use core::ops::Range;

use pumice_ecc::{MOST_PARITY, Repair};
use pumice_media::Nand;

use super::partial::{Part, Partial, Runs, push};
use super::{Fault, Medium, Page, RawPage};
use crate::Result;
use crate::shape::{Place, Shape, TagPlace};
use crate::stripe::{of_word, word, word_bytes};
use crate::tag::{Tag, proves, seal};

/// Parity over places of a block, from the first on.
struct Known {
    places: u32,
    words: Vec<Partial>,
}

impl Medium<'_> {
    /// Programs a superpage that counts for the parity of its block; they come in order, the first one first. Without
    /// parity this is [`Medium::program`].
    pub fn program_counted(&mut self, page: u32, tag: &Tag, payload: &[u8]) -> Result<()> {
        let shape = self.shape;
        let mut head = tag.encode(&shape);
        seal(&shape, page, payload, &mut head);
        self.program_raw(page, payload, &head)?;
        if shape.parity() > 0 {
            self.stripes.push(&shape, shape.place(page), &word(&shape, payload, &head));
        }
        Ok(())
    }

    /// Programs the parity of a block, which is not filled any further. If that fails, it stays in memory until the block is
    /// erased or marked bad.
    pub fn program_parity(&mut self, block: u32) -> Result<()> {
        let shape = self.shape;
        for (index, bytes) in (shape.pages()..).zip(self.stripes.end(&shape, block)) {
            let (payload, head) = of_word(&shape, bytes);
            self.program_place((block, index), &payload, &head)?;
        }
        self.stripes.forget(block);
        Ok(())
    }

    /// Memory for the parity of blocks that are being filled, in bytes.
    pub fn parity_memory(&self) -> usize {
        self.stripes.bytes(&self.shape)
    }

    /// Reads of pages that ECC gave up on and parity brought back.
    pub fn rebuilt_pages(&self) -> u64 {
        self.rebuilt_pages
    }

    /// True if all parity of a block that is not filled any more can be read. Always without parity.
    pub fn has_parity(&mut self, block: u32) -> Result<bool> {
        Ok(self.parity_of(block)?.words.iter().all(|known| known.word().is_some()))
    }

    /// The number of parity superpages by the first superpage of a block, if it proves itself, on a chip of which
    /// nothing is known. The medium's own shape has none.
    pub fn proven_parity(&mut self, block: u32) -> Result<Option<u32>> {
        let plain = self.shape;
        let RawPage { payload, head, readable, .. } = self.read_raw(plain.page(block, 0))?;
        if !readable {
            return Ok(None);
        }
        let is_proved = |shape: Shape| {
            let page = shape.page(block, 0);
            match shape.tag_place() {
                TagPlace::Proof => Tag::proved(&shape, page, &payload, &mut head.clone()).is_some(),
                TagPlace::Spare | TagPlace::Page => proves(&shape, page, &payload, &head),
            }
        };
        let most = u32::try_from(MOST_PARITY).unwrap_or(u32::MAX);
        Ok((0..=most).find(|parity| plain.with_parity(*parity).is_some_and(is_proved)))
    }

    /// The parity of a block: from memory while it is being filled, else from the chip.
    fn parity_of(&mut self, block: u32) -> Result<Known> {
        let shape = self.shape;
        if let Some(stripe) = self.stripes.of(block) {
            let words = stripe.words().map(|word| Partial::whole(word.to_vec())).collect();
            return Ok(Known { places: stripe.places(), words });
        }
        let places = shape.pages()..shape.pages() + shape.parity();
        let words = places.map(|index| self.partial_parity((block, index))).collect::<Result<_, _>>()?;
        Ok(Known { places: shape.pages(), words })
    }

    /// A superpage that does not count for parity if it proves nothing.
    pub(super) fn partial(&mut self, page: u32) -> Result<Partial> {
        match self.prove_raw(page) {
            Ok((found, head)) => Ok(Partial::whole(word(&self.shape, &found.payload, &head))),
            Err(Fault::Erased(_)) => Ok(Partial::whole(vec![0; word_bytes(&self.shape)])),
            Err(Fault::Unproved(_)) => Ok(Partial::nothing(&self.shape)),
            Err(Fault::Unreadable(_)) => self.read_by_codeword(self.shape.place(page)),
            Err(Fault::Chip(error)) => Err(error),
        }
    }

    /// The same of a superpage of parity, which has no proof of its own.
    pub(super) fn partial_parity(&mut self, place: Place) -> Result<Partial> {
        let RawPage { payload, head, readable, is_blank } = self.read_place(place)?;
        match (readable, is_blank) {
            (true, false) => Ok(Partial::whole(word(&self.shape, &payload, &head))),
            (true, true) => Ok(Partial::nothing(&self.shape)),
            (false, _) => self.read_by_codeword(place),
        }
    }

    fn read_by_codeword(&mut self, place: Place) -> Result<Partial> {
        let shape = self.shape;
        let mut parts = Vec::new();
        for part in 0..shape.parts() {
            let (mut data, mut spare) = (vec![0; shape.chip_page_bytes()], vec![0; shape.chip_spare_bytes()]);
            let lost = self.nand.read_by_codeword(shape.chip_page_at(place, part), &mut data, &mut spare)?;
            parts.push(Part { data, spare, lost });
        }
        Ok(Partial::of(&shape, parts))
    }

    /// Brings back an unreadable superpage, from the others of its block and their parity or a copy of it.
    pub(super) fn rebuild(&mut self, page: u32) -> Result<Option<Arc<Page>>> {
        match self.rebuild_by_parity(page)? {
            Some(found) => Ok(Some(found)),
            None => self.rebuild_by_copy(page),
        }
    }

    /// The same by the block's own parity, which takes a read of each other page. Others that are missing are kept, too.
    /// `None` if more is missing than there is parity.
    fn rebuild_by_parity(&mut self, page: u32) -> Result<Option<Arc<Page>>> {
        let shape = self.shape;
        let (block, wanted) = shape.place(page);
        let parity = self.parity_of(block)?;
        let Known { places, words } = &parity;
        if wanted >= *places || !words.iter().any(Partial::has_any) {
            return Ok(None);
        }
        let Ok(mut repair) = Repair::new(words.len(), word_bytes(&shape)) else { return Ok(None) };
        let mut lost = Vec::new();
        let mut spare = words.iter().filter(|known| known.has_any()).count();
        for index in 0..*places {
            let it = shape.page(block, index);
            let known = if index == wanted { Partial::nothing(&shape) } else { self.partial(it)? };
            if index != wanted && !known.has_any() {
                let Some(rest) = spare.checked_sub(1) else { return Ok(None) };
                spare = rest;
                // The wanted page may lack a part only.
                if rest == 0 && !self.read_by_codeword((block, wanted))?.has_any() {
                    return Ok(None);
                }
            }
            push(&mut repair, known.word());
            lost.push(known.lost().to_vec());
        }
        for known in words {
            push(&mut repair, known.word());
            lost.push(known.lost().to_vec());
        }
        if lost.iter().filter(|lost| !lost.is_empty()).count() > words.len() {
            return self.rebuild_by_codeword(page, &parity, lost);
        }
        let Ok(lost) = repair.finish() else { return Ok(None) };
        let mut found = None;
        for (index, bytes) in (0..*places).filter_map(|index| Some((index, taken(&lost, index)?))) {
            let at = shape.page(block, index);
            let Some(proved) = proved(&shape, at, bytes) else { continue };
            let proved = Arc::new(proved);
            self.keep(at, &proved);
            if index == wanted {
                found = Some(proved);
            }
        }
        Ok(found)
    }

    /// Brings back a superpage of a block in which more superpages lack something than there is parity; `lost` is what
    /// each lacks, those of parity last. Costs another read of each.
    fn rebuild_by_codeword(
        &mut self,
        page: u32,
        parity: &Known,
        mut lost: Vec<Vec<Range<usize>>>,
    ) -> Result<Option<Arc<Page>>> {
        let shape = self.shape;
        let (block, wanted) = shape.place(page);
        let it = self.partial(page)?;
        if let Some(lost) = lost.get_mut(wanted as usize) {
            *lost = it.lost().to_vec();
        }
        let Some(mut runs) = Runs::of(&lost, wanted as usize, parity.words.len()) else { return Ok(None) };
        for index in 0..parity.places {
            if index == wanted {
                runs.push(&it);
            } else {
                runs.push(&self.partial(shape.page(block, index))?);
            }
        }
        parity.words.iter().for_each(|known| runs.push(known));
        let found = runs.finish(it).and_then(|word| proved(&shape, page, word)).map(Arc::new);
        if let Some(found) = &found {
            self.keep(page, found);
        }
        Ok(found)
    }
}

/// The bytes lost at a place.
pub(super) fn taken(lost: &[(usize, Vec<u8>)], index: u32) -> Option<Vec<u8>> {
    lost.iter().find(|(at, _)| *at == index as usize).map(|(_, bytes)| bytes.clone())
}

/// A superpage that was brought back, if it proves itself.
fn proved(shape: &Shape, page: u32, bytes: Vec<u8>) -> Option<Page> {
    let (payload, mut head) = of_word(shape, bytes);
    let (tag, _) = Tag::proved(shape, page, &payload, &mut head)?;
    Some(Page { tag, payload })
}
