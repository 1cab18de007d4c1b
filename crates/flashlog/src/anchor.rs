//! The anchor record: the identity of the volume and the blocks of its checkpoints (`docs/flashlog-spec.md`,
//! "Anchors").

use alloc::vec::Vec;

use pumice_media::{Geometry, Pairing};

use crate::shape::{Shape, TagPlace};
use crate::shared_cells::{OtherPairing, pairing_number};

/// The least payload of an anchor.
const PAYLOAD_MIN: u32 = 256;
/// Bytes of the record before those of the owner.
const FIXED: usize = 70;
/// Bytes that an owner may add.
pub const OWN_MAX: usize = PAYLOAD_MIN as usize - FIXED;

/// The place of the pairing's number in the first features.
const PAIRING_SHIFT: u32 = 8;
/// Bits of the first features that tell the pairing of the chip's pages: the log writes them and checks them.
pub const PAIRING_BITS: u32 = 0x1_ffff << PAIRING_SHIFT;

/// The fields of an anchor, not compared with the chip yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anchor {
    /// The owner's name for its format.
    pub magic: [u8; 8],
    /// Version of the format.
    pub version: u32,
    /// Features in three words: those without which the volume must not be touched, those without which it must not be
    /// written, and those that may be unknown.
    pub features: [u32; 3],
    /// The volume's identity.
    pub uuid: [u8; 16],
    /// The chip it was made for.
    pub geometry: Geometry,
    /// The two blocks that hold the checkpoints, the newest one in both.
    pub checkpoints: [u32; 2],
    /// The owner's own bytes, at most [`OWN_MAX`].
    pub own: Vec<u8>,
}

impl Anchor {
    /// An error if the volume was made for a chip with another pairing of pages. A reader that takes it all the same
    /// finds the end of a block at the first passed-over page.
    pub fn check_pairing(&self, pairing: Pairing) -> Result<(), OtherPairing> {
        let [incompatible, ..] = self.features;
        let (made, is) = ((incompatible & PAIRING_BITS) >> PAIRING_SHIFT, pairing_number(pairing));
        if made == is { Ok(()) } else { Err(OtherPairing { made, is }) }
    }

    /// The record, on a chip with this pairing of pages.
    pub(crate) fn encode(&self, pairing: Pairing) -> Vec<u8> {
        let [incompatible, others @ ..] = self.features;
        let number = pairing_number(pairing);
        debug_assert!(number <= PAIRING_BITS >> PAIRING_SHIFT, "a word line of {number} pages");
        let incompatible = incompatible & !PAIRING_BITS | number << PAIRING_SHIFT;
        let mut out = Vec::with_capacity(FIXED + self.own.len());
        out.extend_from_slice(&self.magic);
        let mut put = |value: u32| out.extend_from_slice(&value.to_le_bytes());
        put(self.version);
        core::iter::once(incompatible).chain(others).for_each(&mut put);
        out.extend_from_slice(&self.uuid);
        let Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks } = self.geometry;
        let [one, two] = self.checkpoints;
        for value in [page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks, one, two] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        debug_assert!(self.own.len() <= OWN_MAX, "the bytes of the owner do not fit an anchor");
        out.extend_from_slice(&u16::try_from(self.own.len()).unwrap_or(u16::MAX).to_le_bytes());
        out.extend_from_slice(&self.own);
        out
    }

    /// The record in a proved page; `None` if it is cut off.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Anchor> {
        let mut bytes = bytes;
        let magic = *take(&mut bytes)?;
        let version = word(&mut bytes)?;
        let features = words(&mut bytes)?;
        let uuid = *take(&mut bytes)?;
        let [page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks] = words(&mut bytes)?;
        let checkpoints = words(&mut bytes)?;
        let length = usize::from(u16::from_le_bytes(*take(&mut bytes)?));
        let own = bytes.get(..length)?.to_vec();
        let geometry = Geometry { page_bytes, spare_bytes, free_spare_bytes, pages_per_block, blocks };
        Some(Anchor { magic, version, features, uuid, geometry, checkpoints, own })
    }
}

fn take<'a, const K: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; K]> {
    let (head, tail) = bytes.split_first_chunk()?;
    *bytes = tail;
    Some(head)
}

fn word(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(|raw| u32::from_le_bytes(*raw))
}

fn words<const K: usize>(bytes: &mut &[u8]) -> Option<[u32; K]> {
    let mut all = [0; K];
    for value in &mut all {
        *value = word(bytes)?;
    }
    Some(all)
}

impl Shape {
    /// The shape of anchors, which have to be found before the volume is known: the smallest superpages that hold one.
    /// `None` if pages of the chip are tiny, or if an erase block has fewer than two of them.
    pub fn of_anchors(geometry: &Geometry) -> Option<Shape> {
        let roomy = |parts: &u32| geometry.page_bytes.saturating_mul(*parts) >= 2 * PAYLOAD_MIN;
        let parts = [1, 2, 4, 8].into_iter().find(roomy)?;
        let place = match Shape::tag_fits(geometry, parts, 0) {
            true => TagPlace::Spare,
            false => TagPlace::Page,
        };
        let shape = Shape::new(geometry, parts, place, 0);
        (shape.pages() >= 2).then_some(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_what_is_cut_off_does_not() {
        let geometry = Geometry {
            page_bytes: 2048,
            spare_bytes: 64,
            free_spare_bytes: 38,
            pages_per_block: 64,
            blocks: 100,
        };
        let anchor = Anchor {
            magic: *b"whatever",
            version: 2,
            features: [1, 2, 3],
            uuid: [7; 16],
            geometry,
            checkpoints: [9, 10],
            own: alloc::vec![5; OWN_MAX],
        };
        let bytes = anchor.encode(Pairing::Unpaired);
        assert_eq!(bytes.len(), PAYLOAD_MIN as usize);
        assert_eq!(Anchor::decode(&bytes), Some(anchor));
        for end in 0..bytes.len() {
            assert_eq!(Anchor::decode(&bytes[..end]), None);
        }
    }

    #[test]
    fn anchors_fit_every_chip() {
        for (page, spare, want) in [
            (512, 8, (1, TagPlace::Page)),
            (512, 16, (1, TagPlace::Spare)),
            (256, 8, (2, TagPlace::Spare)),
            (2048, 4, (1, TagPlace::Page)),
            (2048, 0, (1, TagPlace::Page)),
        ] {
            let geometry = Geometry {
                page_bytes: page,
                spare_bytes: 64,
                free_spare_bytes: spare,
                pages_per_block: 64,
                blocks: 100,
            };
            let shape = Shape::of_anchors(&geometry).unwrap();
            assert_eq!((shape.parts(), shape.tag_place()), want);
            assert!(shape.payload() >= PAYLOAD_MIN as usize);
        }
    }
}
