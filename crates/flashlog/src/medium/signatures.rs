//! Algebraic signatures in the spare areas (RCFFS, sections 2.2 and 3.2). The signature of the parity of a block is the
//! parity of the signatures of its superpages, so that a block can be looked at without reading its pages.

use alloc::{vec, vec::Vec};

use pumice_ecc::{Parity, Signature, Width};
use pumice_media::NandError;

use super::Medium;
use crate::Result;
use crate::shape::{Place, Shape, TagPlace};

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = Width::Bits32.bytes();

impl Shape {
    /// True if superpages have a signature: those of blocks with parity do, where the last spare area of a superpage has
    /// room for one behind the head.
    pub fn has_signatures(&self) -> bool {
        let head = if self.tag_place() == TagPlace::Page { 0 } else { self.head_bytes() };
        let before = self.spare_bytes() - self.chip_spare_bytes();
        self.parity() > 0 && head.max(before) + SIGNATURE_BYTES <= self.spare_bytes()
    }
}

/// The signature of a superpage as parity sees it.
pub(super) fn signature(word: &[u8]) -> Vec<u8> {
    let signature = Signature::of(word, Width::Bits32);
    debug_assert!(signature.is_ok(), "shapes are checked where they get parity");
    signature.map_or_else(|_| vec![0; SIGNATURE_BYTES], |signature| signature.bytes().to_vec())
}

impl Medium<'_> {
    /// True if the signatures of a block that is not filled any more fit those of its parity. Reads each spare area,
    /// and no page. Only for shapes with signatures.
    pub fn has_fitting_signatures(&mut self, block: u32) -> Result<bool> {
        let shape = self.shape;
        debug_assert!(shape.has_signatures(), "no signatures");
        let parity = Parity::new(shape.parity() as usize, SIGNATURE_BYTES);
        debug_assert!(parity.is_ok(), "shapes are checked where they get parity");
        let Ok(mut parity) = parity else { return Ok(false) };
        for index in 0..shape.pages() {
            let Some(found) = self.read_signature((block, index))? else { return Ok(false) };
            // A passed-over page counts as zeros, and the signature of zeros is zero.
            let is_erased = found.iter().all(|byte| *byte == 0xff);
            let counted = if is_erased { vec![0; SIGNATURE_BYTES] } else { found };
            let pushed = parity.push(&counted);
            debug_assert!(pushed.is_ok(), "{pushed:?}");
        }
        let wanted: Vec<Vec<u8>> = parity.pages().map(<[u8]>::to_vec).collect();
        for (index, wanted) in (shape.pages()..).zip(wanted) {
            if self.read_signature((block, index))?.is_none_or(|found| found != wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The signature at a place; `None` if ECC gives up on it.
    fn read_signature(&mut self, place: Place) -> Result<Option<Vec<u8>>> {
        let mut spare = vec![0; self.shape.chip_spare_bytes()];
        match self.read_spare(place, self.shape.parts() - 1, &mut spare) {
            Ok(()) => Ok(Some(spare.split_off(spare.len() - SIGNATURE_BYTES))),
            Err(NandError::Uncorrectable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
