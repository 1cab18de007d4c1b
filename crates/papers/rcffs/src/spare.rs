//! Section 3.2: the tag in the spare area of each page. It verifies, and corrects nothing: the algebraic signature, and
//! the fields that a scan after a crash needs.
//!
//! - 0: signature, 4, 6 or 8 bytes of `ecc::Signature`, zeros to 8
//! - 8: number of the segment written, counted from 1, 4 bytes
//! - 12: kind, a number of [`Kind`]
//! - 13, 14: of a parity page its number (1 byte), and the number of pages of its group before it (2)
//! - 16 to 19: N, K, M, bytes of the signature
//! - 20: CRC-32C of all that
//!
//! A reader puts one wrong bit of these right by trying all.

use pumice_common::{get_u32, put_u32};
use pumice_ecc::{Signature, Width, crc32c};
use pumice_vfs::Result;

use crate::error::code;
use crate::layout::{SPARE_BYTES as BYTES, Shape, get_u16, put_u16};

/// The place of the checksum.
const SUM: usize = 20;

/// The kind of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Chunks of files and their metadata.
    Data = 1,
    /// Nodes of the mu-tree.
    Tree = 2,
    /// The same, with the root: all that was written before it counts.
    Commit = 3,
    /// Reverse index, segment usage, segment information.
    Summary = 4,
    /// A parity page of the pages before it.
    Parity = 5,
    /// A page of a parity block.
    Stripe = 6,
}

/// The spare area of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    /// The signature, zeros behind it.
    pub(crate) signature: [u8; 8],
    /// Counts the segments written.
    pub(crate) sequence: u32,
    pub(crate) kind: Kind,
    /// Parity pages: the number of pages of the group before the first parity page.
    pub(crate) group: u16,
    /// Parity pages: the number within the group.
    pub(crate) number: u8,
    pub(crate) shape: Shape,
}

/// The signature of a page's bytes, zeros behind it.
pub(crate) fn signature(data: &[u8], shape: Shape) -> Result<[u8; 8]> {
    let found = Signature::of(data, width(shape)).map_err(code)?;
    let mut bytes = [0; 8];
    bytes[..found.bytes().len()].copy_from_slice(found.bytes());
    Ok(bytes)
}

fn width(shape: Shape) -> Width {
    match shape.signature_bytes {
        4 => Width::Bits32,
        6 => Width::Bits48,
        _ => Width::Bits64,
    }
}

impl Tag {
    pub(crate) fn encode(&self) -> [u8; BYTES] {
        let byte = |number: u32| number.to_le_bytes()[0];
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.signature);
        put_u32(&mut bytes, 8, self.sequence);
        bytes[12] = self.kind as u8;
        bytes[13] = self.number;
        put_u16(&mut bytes, 14, self.group);
        bytes[16] = byte(self.shape.segment_blocks);
        bytes[17] = byte(self.shape.parity_pages);
        bytes[18] = byte(self.shape.parity_blocks);
        bytes[19] = byte(self.shape.signature_bytes);
        let sum = crc32c(0, &bytes[..SUM]);
        put_u32(&mut bytes, SUM, sum);
        bytes
    }

    /// Reads a spare area; one wrong bit is put right, so that spare areas without ECC do not cost a page each.
    pub(crate) fn decode(bytes: [u8; BYTES]) -> Option<Tag> {
        if is_sound(&bytes) {
            return Tag::parse(&bytes);
        }
        (0..BYTES * 8).find_map(|bit| {
            let mut tried = bytes;
            tried[bit / 8] ^= 1 << (bit % 8);
            if is_sound(&tried) { Tag::parse(&tried) } else { None }
        })
    }

    fn parse(bytes: &[u8; BYTES]) -> Option<Tag> {
        let kind = match bytes[12] {
            1 => Kind::Data,
            2 => Kind::Tree,
            3 => Kind::Commit,
            4 => Kind::Summary,
            5 => Kind::Parity,
            6 => Kind::Stripe,
            _ => return None,
        };
        let [segment_blocks, parity_pages, parity_blocks, signature_bytes] =
            [16, 17, 18, 19].map(|at| u32::from(bytes[at]));
        Some(Tag {
            signature: [0, 1, 2, 3, 4, 5, 6, 7].map(|at| bytes[at]),
            sequence: get_u32(bytes, 8),
            kind,
            group: get_u16(bytes, 14),
            number: bytes[13],
            shape: Shape { segment_blocks, parity_pages, parity_blocks, signature_bytes },
        })
    }
}

fn is_sound(bytes: &[u8; BYTES]) -> bool {
    crc32c(0, &bytes[..SUM]) == get_u32(bytes, SUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_is_put_right_and_two_are_not_believed() {
        let shape = Shape { segment_blocks: 16, parity_pages: 1, parity_blocks: 1, signature_bytes: 6 };
        let tag = Tag { signature: [7; 8], sequence: 99, kind: Kind::Parity, group: 63, number: 0, shape };
        for bit in 0..BYTES * 8 {
            let mut bytes = tag.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Tag::decode(bytes), Some(tag), "bit {bit}");
            bytes[(bit / 8 + 5) % BYTES] ^= 0x10;
            assert_eq!(Tag::decode(bytes), None, "bit {bit} and another");
        }
        assert_eq!(Tag::decode([0xff; BYTES]), None);
        assert_eq!(Tag::decode([0; BYTES]), None);
    }
}
