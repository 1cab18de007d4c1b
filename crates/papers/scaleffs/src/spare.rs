//! Table II: a block's spare area, in the sixteen bytes that `scaleffs-256m` leaves.
//!
//! The chip's controller keeps ECC and bad-block mark for itself. The table's 17 bytes are made to fit. Inode number
//! and offset take three bytes each (eight million inodes, files of 16 GiB, as the paper has them), and the link to the
//! next erase block is a distance. The bytes saved prove owner and block, for ECC leaves the spare area out.
//!
//! The first 8 bytes lie in the first page of the block, the others in the second:
//! - 0: type, 1 byte, a number of [`Kind`]
//! - 1: inode number, 3 bytes; 0 for maps and checkpoints
//! - 4: offset within the file in blocks, 3 bytes; an indirect block has the first block that it reaches, a map block
//!   its number, all others 0
//! - 7: CRC-8 (0x07, begun at 0xff) of the 7 bytes before
//! - 8: time, 4 bytes; counts the blocks written since mkfs
//! - 12: link, 1 byte; in the first block of an erase block, how many erase blocks further the log goes on as a ring;
//!   otherwise 0
//! - 13: low 3 bytes of a CRC-32 (IEEE) of the 13 bytes before and the block
//!
//! A reader puts one wrong bit of the 16 right by trying all. A block that does not prove itself then is damaged.

use crate::layout::BLOCK_BYTES;

/// Bytes in each of the two pages.
pub(crate) const HALF: usize = 8;

/// The kind of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    Data = 1,
    Dir = 2,
    /// Holds addresses of data.
    Ind1 = 3,
    /// Holds addresses of `Ind1`.
    Ind2 = 4,
    /// Holds addresses of `Ind2`.
    Ind3 = 5,
    Inode = 6,
    Map = 7,
    /// An indirect inode map block.
    MapIndex = 8,
    Checkpoint = 9,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        use Kind::{Checkpoint, Data, Dir, Ind1, Ind2, Ind3, Inode, Map, MapIndex};
        [Data, Dir, Ind1, Ind2, Ind3, Inode, Map, MapIndex, Checkpoint]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The owner of a block: its type, inode and offset within the file, in blocks. Inode and offset are below 2^24.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Owner {
    pub(crate) ino: u32,
    pub(crate) kind: Kind,
    pub(crate) offset: u32,
}

/// The second page's fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// Last modified time: counts the blocks that were written.
    pub(crate) time: u32,
    /// The distance in erase blocks to the next of the log, in the first block of an erase block. Otherwise 0.
    pub(crate) link: u8,
}

/// True if these bytes were never programmed.
pub(crate) fn is_erased(half: &[u8]) -> bool {
    half.iter().all(|byte| *byte == 0xff)
}

/// The spare bytes of a block.
pub(crate) fn encode(owner: Owner, stamp: Stamp, data: &[u8]) -> [u8; 2 * HALF] {
    let mut bytes = [0; 2 * HALF];
    bytes[0] = owner.kind as u8;
    bytes[1..4].copy_from_slice(&owner.ino.to_le_bytes()[..3]);
    bytes[4..7].copy_from_slice(&owner.offset.to_le_bytes()[..3]);
    bytes[7] = crc8(&bytes[..7]);
    bytes[8..12].copy_from_slice(&stamp.time.to_le_bytes());
    bytes[12] = stamp.link;
    let proof = proof(&bytes, data);
    bytes[13..].copy_from_slice(&proof);
    bytes
}

/// The owner, by the first page's bytes alone. One wrong bit is put right; whoever follows the owner's addresses back
/// to the block finds out whether that was true.
pub(crate) fn owner(half: &[u8]) -> Option<Owner> {
    let mut bytes: [u8; HALF] = half.try_into().ok()?;
    if let Some(owner) = plain_owner(bytes) {
        return Some(owner);
    }
    (0..HALF * 8).find_map(|bit| {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = plain_owner(bytes);
        bytes[bit / 8] ^= 1 << (bit % 8);
        found
    })
}

fn plain_owner(bytes: [u8; HALF]) -> Option<Owner> {
    if bytes[7] != crc8(&bytes[..7]) {
        return None;
    }
    let three = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]);
    Some(Owner { ino: three(1), kind: Kind::from_byte(bytes[0])?, offset: three(4) })
}

/// Time and link, by the second page's bytes alone: unproved.
pub(crate) fn stamp(half: &[u8]) -> Option<Stamp> {
    let time = u32::from_le_bytes(half.get(..4)?.try_into().ok()?);
    Some(Stamp { time, link: *half.get(4)? })
}

/// Owner and stamp of a block that was read whole, if they and the block prove themselves. One wrong bit of the spare
/// bytes is put right.
pub(crate) fn proved(bytes: &[u8; 2 * HALF], data: &[u8]) -> Option<(Owner, Stamp)> {
    debug_assert_eq!(data.len(), BLOCK_BYTES, "a block of another length");
    if is_erased(bytes) {
        return None;
    }
    if let Some(found) = plain_proved(bytes, data) {
        return Some(found);
    }
    let mut bytes = *bytes;
    (0..2 * HALF * 8).find_map(|bit| {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = plain_proved(&bytes, data);
        bytes[bit / 8] ^= 1 << (bit % 8);
        found
    })
}

fn plain_proved(bytes: &[u8; 2 * HALF], data: &[u8]) -> Option<(Owner, Stamp)> {
    if bytes[13..] != proof(bytes, data) {
        return None;
    }
    let owner = plain_owner(*bytes.first_chunk()?)?;
    Some((owner, stamp(&bytes[HALF..])?))
}

/// The low three bytes of a CRC-32 over the fields and the block.
fn proof(bytes: &[u8; 2 * HALF], data: &[u8]) -> [u8; 3] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes[..13]);
    sum.update(data);
    let [a, b, c, _] = sum.finalize().to_le_bytes();
    [a, b, c]
}

/// CRC-8 with polynomial 0x07, begun at 0xff.
fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0xff, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| if crc & 0x80 == 0 { crc << 1 } else { (crc << 1) ^ 0x07 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner { ino: 0x0071_2345, kind: Kind::Ind2, offset: 0x00fe_dcba };
    const STAMP: Stamp = Stamp { time: 0x8765_4321, link: 3 };

    #[test]
    fn any_single_bit_of_the_spare_bytes_is_put_right() {
        let data = vec![0xa7; BLOCK_BYTES];
        let bytes = encode(OWNER, STAMP, &data);
        assert_eq!(proved(&bytes, &data), Some((OWNER, STAMP)));
        for bit in 0..128 {
            let mut wrong = bytes;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(proved(&wrong, &data), Some((OWNER, STAMP)), "bit {bit}");
            assert_eq!(owner(&wrong[..HALF]), Some(OWNER), "bit {bit}");
        }
    }

    #[test]
    fn what_was_not_written_so_proves_nothing() {
        let data = vec![0xa7; BLOCK_BYTES];
        let bytes = encode(OWNER, STAMP, &data);
        let mut other = data.clone();
        other[1000] ^= 0x11;
        assert_eq!(proved(&bytes, &other), None);
        assert_eq!(proved(&[0xff; 16], &[0xff; BLOCK_BYTES]), None);
        assert_eq!(owner(&[0xff; 8]), None);
        assert!(is_erased(&[0xff; 8]) && !is_erased(&bytes[..HALF]));
    }
}
