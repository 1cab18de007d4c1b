//! The chip as the server sees it: log pages with tags.

use alloc::{vec, vec::Vec};

use pumice_media::{BlockId, Nand, NandError, ReadOutcome};

use crate::error::Result;
use crate::layout::Kind;
use crate::shape::{Place, Shape, TagKind};
use crate::tag::{Tag, sequence_of};

/// Segments whose ECC is near its limit that are remembered at a time.
const TIRED_MOST: usize = 64;

/// What a page holds.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// It reads as all ones.
    Erased,
    /// Something that proves nothing.
    Unproved,
    /// A page that proved itself.
    Page(Tag),
}

impl Found {
    /// The tag if the page proved itself and is of this kind.
    pub(crate) fn of_kind(self, kind: Kind) -> Option<Tag> {
        match self {
            Found::Page(tag) if tag.kind == kind => Some(tag),
            _ => None,
        }
    }
}

/// What the first spare bytes of a page show; nothing is proved yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peek {
    /// Never programmed, by the look of it.
    Erased,
    /// Programmed; its sequence number if the tag has one and it could be read.
    Programmed(Option<u64>),
}

/// The chip.
pub(crate) struct Flash<N> {
    nand: N,
    shape: Shape,
    /// Segments to be cleaned soon: their pages hold as many wrong bits as can be corrected.
    pub(crate) tired: Vec<u32>,
}

impl<N: Nand> Flash<N> {
    pub(crate) fn new(nand: N, shape: Shape) -> Flash<N> {
        Flash { nand, shape, tired: Vec::new() }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn nand(&mut self) -> &mut N {
        &mut self.nand
    }

    pub(crate) fn chip(&self) -> &N {
        &self.nand
    }

    pub(crate) fn into_nand(self) -> N {
        self.nand
    }

    fn note(&mut self, block: u32, outcome: ReadOutcome) {
        if matches!(outcome, ReadOutcome::Corrected { refresh: true, .. })
            && self.tired.len() < TIRED_MOST
            && !self.tired.contains(&block)
        {
            self.tired.push(block);
        }
    }

    /// Reads a log page; `payload` has its full length.
    pub(crate) fn read(&mut self, place: Place, payload: &mut [u8]) -> Result<Found> {
        let shape = self.shape;
        let part_spare = shape.chip_spare as usize;
        let mut spare = vec![0; shape.spare()];
        let mut spares = spare.chunks_exact_mut(part_spare.max(1));
        for (part, bytes) in (0..shape.gang).zip(payload.chunks_exact_mut(shape.chip_page as usize)) {
            let spare = spares.next().unwrap_or_default();
            match self.nand.read(shape.chip_page_at(place, part), bytes, spare) {
                Ok(outcome) => self.note(place.block, outcome),
                Err(NandError::Uncorrectable(_)) => return Ok(Found::Unproved),
                Err(error) => return Err(error.into()),
            }
        }
        let head = spare.get(..shape.tag_bytes()).unwrap_or_default();
        if is_erased(head) && is_erased(payload) {
            return Ok(Found::Erased);
        }
        Ok(Tag::proved(&shape, place, head, payload).map_or(Found::Unproved, Found::Page))
    }

    /// Looks at the first spare bytes of a page.
    pub(crate) fn peek(&mut self, place: Place) -> Result<Peek> {
        let mut spare = vec![0; self.shape.chip_spare as usize];
        match self.nand.read_spare(self.shape.chip_page_at(place, 0), &mut spare) {
            Ok(outcome) => self.note(place.block, outcome),
            Err(NandError::Uncorrectable(_)) => return Ok(Peek::Programmed(None)),
            Err(error) => return Err(error.into()),
        }
        if is_erased(&spare) {
            return Ok(Peek::Erased);
        }
        let has_sequence = self.shape.tag == TagKind::Full;
        Ok(Peek::Programmed(spare.get(2..8).filter(|_| has_sequence).map(sequence_of)))
    }

    /// The tag of a page by its spare bytes alone, not proved; `None` if there is none that makes sense.
    pub(crate) fn tag_hint(&mut self, place: Place) -> Result<Option<Tag>> {
        let mut head = Vec::with_capacity(self.shape.spare());
        for part in 0..self.shape.gang {
            let mut spare = vec![0; self.shape.chip_spare as usize];
            match self.nand.read_spare(self.shape.chip_page_at(place, part), &mut spare) {
                Ok(outcome) => self.note(place.block, outcome),
                Err(NandError::Uncorrectable(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            head.append(&mut spare);
        }
        head.truncate(self.shape.tag_bytes());
        Ok(Tag::hint(&head))
    }

    /// Programs a log page.
    pub(crate) fn program(
        &mut self,
        place: Place,
        tag: &Tag,
        payload: &[u8],
    ) -> core::result::Result<(), NandError> {
        let shape = self.shape;
        let mut spare = tag.seal(&shape, place, payload);
        spare.resize(shape.spare(), 0xff);
        let mut spares = spare.chunks_exact((shape.chip_spare as usize).max(1));
        for (part, bytes) in (0..shape.gang).zip(payload.chunks_exact(shape.chip_page as usize)) {
            self.nand.program(shape.chip_page_at(place, part), bytes, spares.next().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Erases a segment.
    pub(crate) fn erase(&mut self, block: u32) -> core::result::Result<(), NandError> {
        self.tired.retain(|tired| *tired != block);
        self.nand.erase(BlockId(block))
    }

    /// True if the segment carries a bad-block mark.
    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool> {
        Ok(self.nand.is_bad(BlockId(block))?)
    }

    /// Marks a segment bad; that the mark itself fails is no news on a block that is bad.
    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<()> {
        self.tired.retain(|tired| *tired != block);
        match self.nand.mark_bad(BlockId(block)) {
            Ok(()) | Err(NandError::ProgramFailed(_) | NandError::EraseFailed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0xff)
}
