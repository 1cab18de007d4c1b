//! Tags: the content of a superpage, its time and its proof (`docs/flashlog-spec.md`, "Tag").

use alloc::vec::Vec;

use crate::crc::Crc;
use crate::shape::{HEADER_BYTES, Shape, TAG_BYTES, TagPlace};

/// Sequence numbers are smaller: more pages than any chip programs in its life, and far from the 48 bits.
pub const SEQ_END: u64 = 1 << 47;

/// Zero bits that may be flaws of an erased spare area; a written header has five and more.
const STRAY_BITS: u32 = 2;
/// Kinds are numbers below this.
const KINDS: u8 = 16;

/// A tag. The log's owner defines kind, flags and body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The kind of the page: 1 to 15.
    pub kind: u8,
    /// 0 to 15.
    pub flags: u8,
    /// Place in the order in which the volume's pages were programmed, below [`SEQ_END`].
    pub seq: u64,
    /// The body, of the length in the [`Shape`]; a shorter one is filled up with ones.
    pub body: Vec<u8>,
}

impl Tag {
    /// The bytes of a head with the body padded; [`seal`] puts the checksums in.
    pub(crate) fn encode(&self, shape: &Shape) -> Vec<u8> {
        let mut head = Vec::with_capacity(shape.head_bytes());
        if shape.tag_place() == TagPlace::Proof {
            head.push(self.kind & 0x0f);
            return head;
        }
        head.push(self.kind & 0x0f | self.flags << 4);
        head.extend(self.seq.to_le_bytes().iter().take(6));
        head.extend([0; 5]);
        debug_assert!(head.len() + self.body.len() <= shape.head_bytes(), "a body too long");
        head.extend_from_slice(&self.body);
        head.resize(shape.head_bytes(), 0xff);
        head
    }

    /// The tag of a head if its header proves itself; the body is not proved.
    pub(crate) fn decode(head: &[u8]) -> Option<Tag> {
        let (first, seq) = decode_header(*head.first_chunk()?)?;
        let body = head.get(TAG_BYTES as usize..)?.to_vec();
        Some(Tag { kind: first & 0x0f, flags: first >> 4, seq, body })
    }

    /// The tag of a head that proves itself and its page, one wrong bit put right: not every chip's ECC covers the
    /// spare area. True if a bit was wrong. A page damaged otherwise passes with a chance of one in ten million.
    pub(crate) fn proved(shape: &Shape, page: u32, payload: &[u8], head: &mut [u8]) -> Option<(Tag, bool)> {
        match shape.tag_place() {
            TagPlace::Proof => proved_alone(shape, page, payload, head),
            place => {
                if proves(shape, page, payload, head) {
                    return Some((Tag::decode(head)?, false));
                }
                let mended = place == TagPlace::Spare && mend(shape, page, payload, head);
                Some((Tag::decode(head).filter(|_| mended)?, true))
            }
        }
    }
}

/// The kind, found as the one byte that this proof fits; such a tag tells nothing else.
fn proved_alone(shape: &Shape, page: u32, payload: &[u8], head: &[u8]) -> Option<(Tag, bool)> {
    let stored = u32::from_le_bytes(*head.first_chunk()?);
    let before = begun(shape, page, payload);
    let wrong = |first: u8| (finish(before.clone(), &[first]) ^ stored).count_ones();
    let kind = (1..KINDS).find(|kind| wrong(*kind) <= 1)?;
    Some((Tag { kind, flags: 0, seq: 0, body: Vec::new() }, wrong(kind) == 1))
}

/// First byte and sequence number of a header that proves itself.
fn decode_header(header: [u8; HEADER_BYTES as usize]) -> Option<(u8, u64)> {
    let [first, seq @ .., check] = header;
    let seq = seq.iter().rev().fold(0, |seq, byte| seq << 8 | u64::from(*byte));
    (check == header_check(&header) && first & 0x0f != 0 && seq < SEQ_END).then_some((first, seq))
}

/// Kind and sequence number by the start of a tag, of which one bit may be wrong.
pub(crate) fn read_header(head: &[u8]) -> Option<(u8, u64)> {
    let mut header = *head.first_chunk()?;
    let found = decode_header(header).or_else(|| {
        (0..header.len() * 8).find_map(|bit| {
            flip(&mut header, bit);
            let found = decode_header(header);
            flip(&mut header, bit);
            found
        })
    });
    found.map(|(first, seq)| (first & 0x0f, seq))
}

/// The checksum of a header: CRC-8 with the polynomial 0x07, which tells every single wrong bit of 64 from all
/// others, and two of them from one (Koopman and Chakravarty, DSN 2004).
pub(crate) fn header_check(head: &[u8]) -> u8 {
    head.iter().take(HEADER_BYTES as usize - 1).fold(0, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| if sum & 0x80 == 0 { sum << 1 } else { (sum << 1) ^ 0x07 })
    })
}

/// The checksum of a page up to the end of its payload. It covers the place: a page proves itself in its own alone. It
/// also covers the number of parity pages, on which the numbers of pages depend; without any the sum is that of the
/// place.
fn begun(shape: &Shape, page: u32, payload: &[u8]) -> Sum {
    let mut hasher = Crc::new();
    hasher.update(payload);
    hasher.update(&shape.block_of(page).to_le_bytes());
    hasher.update(&shape.index_of(page).to_le_bytes());
    if shape.parity() > 0 {
        hasher.update(&shape.parity().to_le_bytes());
    }
    Sum { hasher, is_mixed: shape.parity() > 0 }
}

/// A checksum that is being made.
#[derive(Clone)]
struct Sum {
    hasher: Crc,
    /// The CRC of a sum is the sum of the CRCs, and so is parity: a sum of pages that parity brings back by mistake
    /// would prove itself. So the CRC is mixed where there is parity.
    is_mixed: bool,
}

/// The last step of `MurmurHash3` (Appleby): one to one, and far from linear.
fn mix(sum: u32) -> u32 {
    let sum = (sum ^ sum >> 16).wrapping_mul(0x85eb_ca6b);
    let sum = (sum ^ sum >> 13).wrapping_mul(0xc2b2_ae35);
    sum ^ sum >> 16
}

/// The checksum with the head, but for the field that holds it.
fn finish(Sum { mut hasher, is_mixed }: Sum, head: &[u8]) -> u32 {
    hasher.update(head.get(..8).unwrap_or(head));
    hasher.update(head.get(12..).unwrap_or_default());
    let crc = hasher.finalize();
    if is_mixed { mix(crc) } else { crc }
}

/// Puts the checksums of a page into its head, over the old ones. Where the proof stands alone, the head is the first
/// byte of a tag, and becomes the proof.
pub fn seal(shape: &Shape, page: u32, payload: &[u8], head: &mut Vec<u8>) {
    if shape.tag_place() == TagPlace::Proof {
        let sum = finish(begun(shape, page, payload), head.get(..1).unwrap_or_default());
        *head = sum.to_le_bytes().to_vec();
        return;
    }
    let check = header_check(head);
    if let Some(field) = head.get_mut(HEADER_BYTES as usize - 1) {
        *field = check;
    }
    let sum = finish(begun(shape, page, payload), head);
    if let Some(field) = head.get_mut(8..12) {
        field.copy_from_slice(&sum.to_le_bytes());
    }
}

/// True if the checksum in a head with a whole tag is that of the page.
pub fn proves(shape: &Shape, page: u32, payload: &[u8], head: &[u8]) -> bool {
    head.get(8..12).is_some_and(|field| field == finish(begun(shape, page, payload), head).to_le_bytes())
}

/// Puts a single wrong bit of a head right, if the checksum tells which.
fn mend(shape: &Shape, page: u32, payload: &[u8], head: &mut [u8]) -> bool {
    let before = begun(shape, page, payload);
    for bit in 0..head.len() * 8 {
        flip(head, bit);
        if head.get(8..12).is_some_and(|field| field == finish(before.clone(), head).to_le_bytes()) {
            return true;
        }
        flip(head, bit);
    }
    false
}

fn flip(bytes: &mut [u8], bit: usize) {
    if let Some(byte) = bytes.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
}

/// True if a head seems never programmed: an erased spare area may have stray zeros.
pub(crate) fn is_erased(head: &[u8]) -> bool {
    head.iter().map(|byte| byte.count_zeros()).sum::<u32>() <= STRAY_BITS
}

/// True if every bit is one.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    // Most pages that are asked about are erased, and read to their end: in words.
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| *word == [0xff; 16]) && rest.iter().all(|byte| *byte == 0xff)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_media::Geometry;

    use super::*;

    fn geometry(pages_per_block: u32) -> Geometry {
        Geometry { page_bytes: 64, spare_bytes: 64, free_spare_bytes: 40, pages_per_block, blocks: 4 }
    }

    fn shape(place: TagPlace, body: u32) -> Shape {
        Shape::new(&geometry(4), 1, place, body)
    }

    fn tag(kind: u8, seq: u64) -> Tag {
        Tag { kind, flags: 5, seq, body: vec![7; 20] }
    }

    fn sealed(shape: &Shape, tag: &Tag, payload: &[u8]) -> Vec<u8> {
        let mut head = tag.encode(shape);
        seal(shape, 6, payload, &mut head);
        head
    }

    #[test]
    fn a_tag_comes_back_in_its_place_alone() {
        let (shape, tag) = (shape(TagPlace::Spare, 20), tag(4, 0x1234_5678_9abc));
        let payload = vec![3; 64];
        let mut head = sealed(&shape, &tag, &payload);
        assert_eq!(Tag::proved(&shape, 6, &payload, &mut head), Some((tag, false)));
        assert_eq!(Tag::proved(&shape, 7, &payload, &mut head), None);
    }

    #[test]
    fn a_proof_alone_tells_the_kind_and_outlives_a_wrong_bit() {
        let shape = shape(TagPlace::Proof, 20);
        let payload = vec![3; 64];
        for kind in 1..16 {
            let mut head = sealed(&shape, &tag(kind, 1), &payload);
            assert_eq!(head.len(), 4);
            let kind_of =
                |head: &mut [u8]| Tag::proved(&shape, 6, &payload, head).map(|(tag, bad)| (tag.kind, bad));
            assert_eq!(kind_of(&mut head), Some((kind, false)));
            for bit in 0..32 {
                flip(&mut head, bit);
                assert_eq!(kind_of(&mut head), Some((kind, true)));
                flip(&mut head, bit);
            }
        }
    }

    #[test]
    fn a_header_outlives_one_wrong_bit_and_no_two() {
        for (kind, seq) in [(1, 1), (4, 0x4a3b_5566_7701), (5, SEQ_END - 1)] {
            let mut head = sealed(&shape(TagPlace::Spare, 20), &tag(kind, seq), &[]);
            assert_eq!(read_header(&head), Some((kind, seq)));
            for one in 0..64 {
                flip(&mut head, one);
                assert_eq!(read_header(&head), Some((kind, seq)), "bit {one}");
                assert!(!is_erased(&head));
                for other in (0..64).filter(|other| *other != one) {
                    flip(&mut head, other);
                    assert_eq!(read_header(&head), None, "bits {one} and {other}");
                    flip(&mut head, other);
                }
                flip(&mut head, one);
            }
            assert_eq!(read_header(&head[..7]), None);
        }
        // The checksum of zeros is zero.
        assert_eq!(read_header(&[0; 8]), None, "there is no kind 0");
        for bit in 0..64 {
            let mut blank = [0xff; 8];
            flip(&mut blank, bit);
            assert!(is_erased(&blank));
        }
    }

    #[test]
    fn two_stray_zeros_leave_a_spare_area_erased_and_three_do_not() {
        let mut head = [0xff; 32];
        for (bit, seems_erased) in [(3, true), (200, true), (131, false)] {
            flip(&mut head, bit);
            assert_eq!(is_erased(&head), seems_erased, "bit {bit}");
        }
    }

    /// The medium holds sums mixed as `MurmurHash3` does: another mix would be another format.
    #[test]
    fn sums_are_mixed_as_murmur_hash_ends() {
        let known = [(0, 0), (1, 0x514e_28b7), (2, 0x30f4_c306), (0x1234_5678, 0xe37c_d1bc)];
        for (sum, mixed) in known.into_iter().chain([(u32::MAX, 0x81f1_6f39)]) {
            assert_eq!(mix(sum), mixed, "{sum:#x}");
        }
    }

    /// Pages that parity brings back by mistake are sums of pages that prove themselves, each in its place.
    #[test]
    fn a_sum_of_pages_proves_nothing_where_there_is_parity() {
        let shape = shape(TagPlace::Spare, 20);
        let sum_of_three = |shape: &Shape| {
            let (mut payload, mut head) = (vec![0; shape.payload()], vec![0; shape.head_bytes()]);
            // 1 ^ 2 ^ 3 is the place of the first.
            for index in 1..4u8 {
                let bytes = vec![index * 7; shape.payload()];
                let mut tag = tag(3, u64::from(index)).encode(shape);
                seal(shape, index.into(), &bytes, &mut tag);
                payload.iter_mut().zip(&bytes).for_each(|(sum, byte)| *sum ^= byte);
                head.iter_mut().zip(&tag).for_each(|(sum, byte)| *sum ^= byte);
            }
            proves(shape, 0, &payload, &head)
        };
        assert!(sum_of_three(&shape), "a CRC alone believes it");
        let protected = Shape::keeping(Shape::new(&geometry(8), 1, TagPlace::Spare, 20), 1);
        assert!(!sum_of_three(&protected));
    }

    #[test]
    fn one_wrong_bit_of_a_head_is_put_right_and_two_are_damage() {
        let shape = shape(TagPlace::Spare, 20);
        let mut payload = vec![1; 64];
        let tag = tag(5, 1);
        let whole = sealed(&shape, &tag, &payload);
        for bit in 0..whole.len() * 8 {
            let mut head = whole.clone();
            flip(&mut head, bit);
            assert!(!proves(&shape, 6, &payload, &head));
            assert_eq!(Tag::proved(&shape, 6, &payload, &mut head), Some((tag.clone(), true)));
        }
        for (one, other) in [(0, 1), (65, 9), (70, 200), (255, 13)] {
            let mut head = whole.clone();
            flip(&mut head, one);
            flip(&mut head, other);
            assert_eq!(Tag::proved(&shape, 6, &payload, &mut head), None);
        }
        payload[5] ^= 4;
        assert_eq!(Tag::proved(&shape, 6, &payload, &mut whole.clone()), None);
    }
}
