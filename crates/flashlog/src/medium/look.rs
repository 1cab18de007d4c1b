//! Looks at the tags of superpages: a read of the spare area where tags lie there.

use alloc::{vec, vec::Vec};

use pumice_media::{Nand, NandError};

use super::{Fault, Look, Medium, Peek};
use crate::Result;
use crate::shape::{Place, TagPlace};
use crate::tag::{Tag, is_erased, read_header};

impl Medium<'_> {
    /// Looks at the start of a tag with a read of one part of the superpage.
    pub fn peek(&mut self, page: u32) -> Result<Peek> {
        Ok(match self.read_start(self.shape.place(page))? {
            Some(start) if is_erased(&start) => Peek::Erased,
            Some(start) if self.shape.tag_place() != TagPlace::Proof => Peek::Programmed(read_header(&start)),
            _ => Peek::Programmed(None),
        })
    }

    /// The start of a head, with a read of one part of the superpage; `None` if ECC gives up on it.
    pub(super) fn read_start(&mut self, place: Place) -> Result<Option<Vec<u8>>> {
        let shape = self.shape;
        let mut spare = vec![0; shape.chip_spare_bytes()];
        let read = if shape.tag_place() == TagPlace::Page {
            let mut data = vec![0; shape.chip_page_bytes()];
            let read = self.read_part(place, shape.parts() - 1, &mut data, &mut spare);
            spare = data.split_off(data.len().saturating_sub(shape.head_bytes()));
            read
        } else {
            self.read_spare(place, 0, &mut spare)
        };
        match read {
            Ok(()) => Ok(Some(spare)),
            Err(NandError::Uncorrectable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The next programmed superpage of a block, from `index` on, with the result of a look at it. Pages that may have
    /// been passed over are stepped over; the first of a block never is.
    pub fn next_programmed(&mut self, block: u32, index: u32) -> Result<Option<(u32, Look)>> {
        let reach = if index == 0 { 1 } else { self.reach };
        for index in index..self.shape.pages().min(index.saturating_add(reach)) {
            if let Peek::Programmed(look) = self.peek(self.shape.page(block, index))? {
                return Ok(Some((index, look)));
            }
        }
        Ok(None)
    }

    pub(super) fn read_spare(&mut self, (block, index): Place, part: u32, spare: &mut [u8]) -> Result<()> {
        let at = self.shape.chip_page_at((block, index), part);
        self.insist(block, |nand| nand.read_spare(at, spare))
    }

    /// The tag of a superpage by its spare area, if it lies there and its header proves itself; its body is not proved
    /// then. Otherwise the page is read.
    pub fn tag(&mut self, page: u32) -> Result<Tag, Fault> {
        if let Some(known) = self.known(page) {
            return Ok(known.tag.clone());
        }
        if self.shape.tag_place() == TagPlace::Spare
            && let Some(tag) = self.tag_by_spare(page)?
        {
            return Ok(tag);
        }
        self.read(page).map(|found| found.tag.clone())
    }

    fn tag_by_spare(&mut self, page: u32) -> Result<Option<Tag>, Fault> {
        let shape = self.shape;
        let mut head = vec![0; shape.spare_bytes()];
        for (part, spare) in (0..shape.parts()).zip(head.chunks_exact_mut(shape.chip_spare_bytes().max(1))) {
            match self.read_spare(shape.place(page), part, spare) {
                Ok(()) => {}
                Err(NandError::Uncorrectable(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        head.truncate(shape.head_bytes());
        if is_erased(&head) {
            return Err(Fault::Erased(page));
        }
        Ok(Tag::decode(&head))
    }

    /// Kind and sequence number of a superpage that is read whole and proves itself without the help of parity.
    pub fn look_proved(&mut self, page: u32) -> Result<Look> {
        Ok(Fault::readable(self.prove_raw(page))?.map(|(found, _)| (found.tag.kind, found.tag.seq)))
    }
}
