//! Section 2.1: a page's mark in its spare area, in the eight bytes that `k9s1208` leaves beside ECC.
//!
//! The paper's fields are an inode number and a chunk number. The bits saved by packing them prove the page, since the
//! chip's ECC leaves the spare area out.
//!
//! - 0: kind in the high 4 bits, a number of [`Kind`]; the high 4 bits of the inode number in the low ones
//! - 1, 2: the other 16 bits of the inode number; 0 for the record
//! - 3: 32 bits of inodes, 24 of others. Inodes have the time, which counts the inode pages written, and wraps around.
//!   Data have the chunk, which is the offset in the file in pages. Index pages have the first chunk that they reach, the
//!   record the number of its copy
//! - 6: not of inodes, the low byte of a CRC-32 (IEEE) of the page
//! - 7: CRC-8 (0x07, begun at 0xff) of the 7 bytes before
//!
//! A reader puts one wrong bit of the 8 bytes right by trying all. A page of the `InodeMapBlock` has another mark: 0x60,
//! UF, NIB (2 bytes), NP (1), and the low three bytes of a CRC-32 of these five, the page's number (1 byte) and the page.

/// Bytes of a mark.
pub(crate) const BYTES: usize = crate::layout::SPARE_BYTES;

/// The kind of a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Inode = 1,
    /// An inode that is gone.
    Removed = 2,
    Data = 3,
    /// An index page: addresses of data.
    Index = 4,
    /// The double indirect index page: addresses of index pages.
    Double = 5,
    /// A page of the `InodeMapBlock`.
    Map = 6,
    /// The record that names the volume.
    Volume = 7,
}

impl Kind {
    fn from_bits(bits: u8) -> Option<Kind> {
        use Kind::{Data, Double, Index, Inode, Map, Removed, Volume};
        [Inode, Removed, Data, Index, Double, Map, Volume].into_iter().find(|kind| *kind as u8 == bits)
    }

    /// True if such pages lie in inode-stored blocks.
    pub(crate) fn is_inode(self) -> bool {
        matches!(self, Kind::Inode | Kind::Removed)
    }
}

/// The mark of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) kind: Kind,
    /// The inode number, below 2^20.
    pub(crate) ino: u32,
    /// Inodes: the time, which counts the inode pages written. Other pages: the chunk, below 2^24; index pages have the
    /// first that they reach.
    pub(crate) number: u32,
}

/// True if these bytes were never programmed.
pub(crate) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0xff)
}

/// The spare bytes of a page.
pub(crate) fn encode(mark: Mark, page: &[u8]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let [low, high, top, _] = mark.ino.to_le_bytes();
    bytes[0] = (mark.kind as u8) << 4 | top;
    (bytes[1], bytes[2]) = (low, high);
    bytes[3..7].copy_from_slice(&mark.number.to_le_bytes());
    if !mark.kind.is_inode() {
        bytes[6] = sum(page);
    }
    bytes[7] = crc8(&bytes[..7]);
    bytes
}

/// The mark, if it proves itself; one wrong bit is put right.
pub(crate) fn decode(bytes: [u8; BYTES]) -> Option<Mark> {
    mended(bytes).and_then(plain)
}

/// The mark of a page that was read whole, if it proves itself; of inodes, the page has a proof of its own.
pub(crate) fn proved(bytes: [u8; BYTES], page: &[u8]) -> Option<Mark> {
    let bytes = mended(bytes)?;
    let mark = plain(bytes)?;
    (mark.kind.is_inode() || bytes[6] == sum(page)).then_some(mark)
}

fn mended(mut bytes: [u8; BYTES]) -> Option<[u8; BYTES]> {
    if is_erased(&bytes) {
        return None;
    }
    if plain(bytes).is_some() {
        return Some(bytes);
    }
    (0..BYTES * 8).find_map(|bit| {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = plain(bytes).map(|_| bytes);
        bytes[bit / 8] ^= 1 << (bit % 8);
        found
    })
}

fn plain(bytes: [u8; BYTES]) -> Option<Mark> {
    if bytes[7] != crc8(&bytes[..7]) {
        return None;
    }
    let kind = Kind::from_bits(bytes[0] >> 4)?;
    let ino = u32::from_le_bytes([bytes[1], bytes[2], bytes[0] & 0x0f, 0]);
    let top = if kind.is_inode() { bytes[6] } else { 0 };
    Some(Mark { kind, ino, number: u32::from_le_bytes([bytes[3], bytes[4], bytes[5], top]) })
}

/// One byte of a CRC-32.
fn sum(page: &[u8]) -> u8 {
    crc32fast::hash(page).to_le_bytes()[0]
}

/// CRC-8 with polynomial 0x07, begun at 0xff.
fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0xff, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| if crc & 0x80 == 0 { crc << 1 } else { (crc << 1) ^ 0x07 })
    })
}

/// The spare bytes of a page of the `InodeMapBlock` (figure 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapMark {
    /// UF: the file system was unmounted.
    pub(crate) unmounted: bool,
    /// NIB: inode-stored blocks.
    pub(crate) blocks: u16,
    /// NP: pages of the list.
    pub(crate) pages: u8,
}

impl MapMark {
    /// The spare bytes of page `index` of the list.
    pub(crate) fn encode(self, index: u8, page: &[u8]) -> [u8; BYTES] {
        let [low, high] = self.blocks.to_le_bytes();
        let mut bytes = [(Kind::Map as u8) << 4, u8::from(self.unmounted), low, high, self.pages, 0, 0, 0];
        let [a, b, c, _] = map_proof(&bytes[..5], index, page).to_le_bytes();
        (bytes[5], bytes[6], bytes[7]) = (a, b, c);
        bytes
    }

    /// The mark of page `index`, if it proves itself.
    pub(crate) fn decode(bytes: [u8; BYTES], index: u8, page: &[u8]) -> Option<MapMark> {
        let [a, b, c, _] = map_proof(&bytes[..5], index, page).to_le_bytes();
        let is_map = bytes[0] == (Kind::Map as u8) << 4 && bytes[5..] == [a, b, c];
        let blocks = u16::from_le_bytes([bytes[2], bytes[3]]);
        is_map.then_some(MapMark { unmounted: bytes[1] == 1, blocks, pages: bytes[4] })
    }
}

fn map_proof(fields: &[u8], index: u8, page: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(fields);
    sum.update(&[index]);
    sum.update(page);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_single_bit_of_a_mark_is_put_right() {
        let page = vec![0xa7; 512];
        for mark in [
            Mark { kind: Kind::Inode, ino: 0x000f_1234, number: 0x8765_4321 },
            Mark { kind: Kind::Index, ino: 3, number: 0x00fe_dcba },
        ] {
            let bytes = encode(mark, &page);
            for bit in 0..BYTES * 8 {
                let mut wrong = bytes;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(proved(wrong, &page), Some(mark), "bit {bit}");
                assert_eq!(decode(wrong), Some(mark), "bit {bit}");
            }
        }
        assert_eq!(decode([0xff; BYTES]), None);
        let data = Mark { kind: Kind::Data, ino: 1, number: 2 };
        assert_eq!(proved(encode(data, &page), &[0xa6; 512]), None);
    }

    #[test]
    fn a_map_page_proves_itself_in_its_place() {
        let (page, mark) = (vec![9; 512], MapMark { unmounted: true, blocks: 300, pages: 2 });
        let bytes = mark.encode(1, &page);
        assert_eq!(MapMark::decode(bytes, 1, &page), Some(mark));
        assert_eq!(MapMark::decode(bytes, 0, &page), None);
        assert_eq!(MapMark::decode(bytes, 1, &[8; 512]), None);
    }
}
