//! The tag of a log page: what the page holds, when it was written, and the proof (SPEC, "Log page").

use alloc::vec::Vec;

use pumice_vfs::Timestamp;

use crate::codec::{Put, Reader, len16};

/// Bytes of a tag with its first descriptor.
pub(crate) const TAG_BYTES: u32 = 32;
/// Bytes of each further descriptor.
pub(crate) const DESC_BYTES: u32 = 11;
/// Bytes at the start of a tag that have a checksum of their own, so that they can be believed without the page.
pub(crate) const HEADER_BYTES: u32 = 8;

/// Zero bits of a spare area that may be flaws of an erased one; a written header has five and more.
const STRAY_BITS: u32 = 2;

const COMMIT: u8 = 0x10;

/// Sequence numbers are smaller: more pages than any chip programs in its life, and far from the 48 bits.
pub(crate) const SEQ_END: u64 = 1 << 47;

/// Which log a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum LogKind {
    /// Superblock and the place of the checkpoints.
    Anchor = 1,
    /// Checkpoints.
    Checkpoint = 2,
    /// Nodes, directory blocks and table pages.
    Meta = 3,
    /// Data written by fsync; read again by recovery.
    Sync = 4,
    /// Data written back, and survivors of cleaning.
    Data = 5,
}

impl LogKind {
    /// The kind in the first byte of a tag.
    pub(crate) fn from_tag_byte(byte: u8) -> Option<LogKind> {
        LogKind::from_bits(byte & 0x0f)
    }

    fn from_bits(bits: u8) -> Option<LogKind> {
        Some(match bits {
            1 => LogKind::Anchor,
            2 => LogKind::Checkpoint,
            3 => LogKind::Meta,
            4 => LogKind::Sync,
            5 => LogKind::Data,
            _ => return None,
        })
    }
}

/// What a chunk is; with two numbers it says whose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum ChunkKind {
    /// A block of a file or directory: inode, block index.
    Data = 1,
    /// A node: node id, inode it belongs to.
    Node = 2,
    /// A page of the node table: level, index in its level.
    NodeTable = 3,
    /// A page of the block table: level, index in its level.
    BlockTable = 4,
    /// A checkpoint or an anchor: 0, 0.
    Root = 5,
}

impl ChunkKind {
    fn from_bits(bits: u8) -> Option<ChunkKind> {
        Some(match bits {
            1 => ChunkKind::Data,
            2 => ChunkKind::Node,
            3 => ChunkKind::NodeTable,
            4 => ChunkKind::BlockTable,
            5 => ChunkKind::Root,
            _ => return None,
        })
    }
}

/// One chunk of a page. Chunks lie back to back from the start of the payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Desc {
    pub(crate) kind: ChunkKind,
    pub(crate) len: u16,
    pub(crate) id: u32,
    pub(crate) index: u32,
}

impl Desc {
    fn put(&self, out: &mut Vec<u8>) {
        out.put_u8(self.kind as u8);
        out.put_u16(self.len);
        out.put_u32(self.id);
        out.put_u32(self.index);
    }

    fn read(reader: &mut Reader<'_>) -> Option<Desc> {
        Some(Desc {
            kind: ChunkKind::from_bits(reader.u8()?)?,
            len: reader.u16()?,
            id: reader.u32()?,
            index: reader.u32()?,
        })
    }
}

/// The tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    pub(crate) log: LogKind,
    /// Position in the order in which the volume's pages were programmed; 48 bits on the chip.
    pub(crate) seq: u64,
    /// Everything of the first chunk's inode up to this page is promised; with the time of its last change.
    pub(crate) commit: Option<Timestamp>,
    /// The chunks, at least one.
    pub(crate) descs: Vec<Desc>,
}

/// The tag bytes of a page and the descriptors that did not fit behind it.
pub(crate) struct RawTag {
    pub(crate) head: Vec<u8>,
    /// Goes to the end of the payload.
    pub(crate) overflow: Vec<u8>,
}

/// Payload bytes that `count` descriptors cost when `in_spare` of them fit behind the tag.
pub(crate) fn overflow_bytes(count: usize, in_spare: u32) -> usize {
    count.saturating_sub(1 + in_spare as usize) * DESC_BYTES as usize
}

impl Tag {
    /// Encodes with zero checksums; `seal` puts them in.
    pub(crate) fn encode(&self, in_spare: u32) -> RawTag {
        let mut head = Vec::with_capacity(TAG_BYTES as usize);
        let commit = if self.commit.is_some() { COMMIT } else { 0 };
        head.put_u8(self.log as u8 | commit);
        head.put(&self.seq.to_le_bytes()[..6]);
        head.put_u8(0);
        head.put_u32(0);
        if let Some(first) = self.descs.first() {
            first.put(&mut head);
        }
        head.put_u64(pack_time(self.commit.unwrap_or_default()));
        head.put_u8(u8::try_from(self.descs.len()).unwrap_or(u8::MAX));
        let mut overflow = Vec::new();
        for (place, desc) in self.descs.iter().enumerate().skip(1) {
            desc.put(if place <= in_spare as usize { &mut head } else { &mut overflow });
        }
        RawTag { head, overflow }
    }

    /// Decodes a tag; `payload` is needed only where descriptors overflowed into it. `None` if anything is
    /// out of range; the caller has to prove the checksum before trusting the content.
    pub(crate) fn decode(head: &[u8], payload: Option<&[u8]>, in_spare: u32) -> Option<Tag> {
        let (log, seq) = decode_header(*head.first_chunk()?)?;
        let mut reader = Reader(head.get(12..)?);
        let first = Desc::read(&mut reader)?;
        let time = reader.u64()?;
        let count = usize::from(reader.u8()?);
        if count == 0 {
            return None;
        }
        let mut descs = Vec::with_capacity(count);
        descs.push(first);
        for _ in 1..count.min(1 + in_spare as usize) {
            descs.push(Desc::read(&mut reader)?);
        }
        if descs.len() < count {
            let payload = payload?;
            let start = payload.len().checked_sub(overflow_bytes(count, in_spare))?;
            let mut reader = Reader(payload.get(start..)?);
            while descs.len() < count {
                descs.push(Desc::read(&mut reader)?);
            }
        }
        let commit = head.first().is_some_and(|byte| byte & COMMIT != 0).then(|| unpack_time(time));
        Some(Tag { log, seq, commit, descs })
    }

    /// Offset of each chunk with its descriptor.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (u16, Desc)> + '_ {
        chunks(&self.descs)
    }
}

/// Offset of each chunk with its descriptor: chunks lie back to back.
pub(crate) fn chunks(descs: &[Desc]) -> impl Iterator<Item = (u16, Desc)> + '_ {
    descs.iter().scan(0u16, |offset, desc| {
        let start = *offset;
        *offset = offset.saturating_add(desc.len);
        Some((start, *desc))
    })
}

/// Log and sequence number of a header that proves itself.
fn decode_header(header: [u8; HEADER_BYTES as usize]) -> Option<(LogKind, u64)> {
    let [first, seq @ .., check] = header;
    let log = LogKind::from_tag_byte(first)?;
    let seq = seq.iter().rev().fold(0, |seq, byte| seq << 8 | u64::from(*byte));
    (check == header_check(&header) && seq < SEQ_END).then_some((log, seq))
}

/// Log and sequence number by the start of a tag, of which one bit may be wrong.
pub(crate) fn read_header(head: &[u8]) -> Option<(LogKind, u64)> {
    let mut header = *head.first_chunk()?;
    decode_header(header).or_else(|| {
        (0..header.len() * 8).find_map(|bit| {
            flip(&mut header, bit);
            let found = decode_header(header);
            flip(&mut header, bit);
            found
        })
    })
}

/// The checksum of a header: CRC-8 with the polynomial 0x07, which tells every single wrong bit of 64 from all
/// others, and two of them from one (Koopman and Chakravarty, DSN 2004).
fn header_check(head: &[u8]) -> u8 {
    head.iter().take(HEADER_BYTES as usize - 1).fold(0, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| if sum & 0x80 == 0 { sum << 1 } else { (sum << 1) ^ 0x07 })
    })
}

/// The checksum of a page: CRC-32 over its payload and its tag with the checksum field zero.
pub(crate) fn checksum(payload: &[u8], head: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(payload);
    finish(hasher, head)
}

/// The checksum, from where the payload ends.
fn finish(mut hasher: crc32fast::Hasher, head: &[u8]) -> u32 {
    hasher.update(head.get(..8).unwrap_or_default());
    hasher.update(&[0; 4]);
    hasher.update(head.get(12..).unwrap_or_default());
    hasher.finalize()
}

/// Puts the checksums into an encoded tag.
pub(crate) fn seal(payload: &[u8], head: &mut [u8]) {
    let check = header_check(head);
    if let Some(field) = head.get_mut(HEADER_BYTES as usize - 1) {
        *field = check;
    }
    let sum = checksum(payload, head);
    if let Some(field) = head.get_mut(8..12) {
        field.copy_from_slice(&sum.to_le_bytes());
    }
}

/// True if the checksum stored in the tag is that of the page.
pub(crate) fn proves(payload: &[u8], head: &[u8]) -> bool {
    head.get(8..12).is_some_and(|field| field == checksum(payload, head).to_le_bytes())
}

/// Puts a single wrong bit of a head right, if the checksum tells which: not every chip's ECC covers the spare
/// area. That it tells wrong has a chance of one in ten million for a page that is damaged otherwise.
pub(crate) fn mend(payload: &[u8], head: &mut [u8]) -> bool {
    let mut before = crc32fast::Hasher::new();
    before.update(payload);
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

/// True if a tag was never programmed, by the look of it: an erased spare area may have stray zeros.
pub(crate) fn is_erased(head: &[u8]) -> bool {
    head.iter().map(|byte| byte.count_zeros()).sum::<u32>() <= STRAY_BITS
}

/// True if every bit is one.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0xff)
}

/// Seconds in 34 bits (to the year 2514 and back to 1698), nanoseconds in 30.
fn pack_time(time: Timestamp) -> u64 {
    let seconds = time.seconds.clamp(-(1 << 33), (1 << 33) - 1);
    (seconds << 30).cast_unsigned() | u64::from(time.nanos)
}

fn unpack_time(raw: u64) -> Timestamp {
    let nanos = u32::try_from(raw & 0x3fff_ffff).unwrap_or(0).min(999_999_999);
    Timestamp { seconds: raw.cast_signed() >> 30, nanos }
}

/// A descriptor for a chunk of `len` bytes.
pub(crate) fn desc(kind: ChunkKind, id: u32, index: u32, len: usize) -> Desc {
    Desc { kind, len: len16(len), id, index }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_tag_comes_back_with_all_its_chunks() {
        for count in [1, 2, 5] {
            for in_spare in [0, 1, 9] {
                let descs = (0..count).map(|n| desc(ChunkKind::Data, n, n + 7, 100)).collect();
                let commit = Some(Timestamp { seconds: -5, nanos: 999_999_999 });
                let tag = Tag { log: LogKind::Sync, seq: 0x1234_5678_9abc, commit, descs };
                let mut raw = tag.encode(in_spare);
                let mut payload = vec![7; 2048 - raw.overflow.len()];
                payload.extend_from_slice(&raw.overflow);
                seal(&payload, &mut raw.head);
                assert_eq!(raw.overflow.len(), overflow_bytes(tag.descs.len(), in_spare));
                assert_eq!(Tag::decode(&raw.head, Some(&payload), in_spare), Some(tag));
            }
        }
    }

    #[test]
    fn a_header_outlives_one_wrong_bit_and_no_two() {
        for (log, seq) in
            [(LogKind::Anchor, 1), (LogKind::Sync, 0x4a3b_5566_7701), (LogKind::Data, SEQ_END - 1)]
        {
            let tag = Tag { log, seq, commit: None, descs: vec![desc(ChunkKind::Data, 1, 2, 3)] };
            let mut head = tag.encode(0).head;
            seal(&[], &mut head);
            assert_eq!(read_header(&head), Some((log, seq)));
            for one in 0..64 {
                flip(&mut head, one);
                assert_eq!(read_header(&head), Some((log, seq)), "bit {one}");
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
        for bit in 0..64 {
            let mut blank = [0xff; 8];
            flip(&mut blank, bit);
            assert!(is_erased(&blank));
        }
    }

    #[test]
    fn any_changed_bit_breaks_the_proof() {
        let tag =
            Tag { log: LogKind::Data, seq: 1, commit: None, descs: vec![desc(ChunkKind::Data, 1, 2, 3)] };
        let mut head = tag.encode(0).head;
        let mut payload = vec![1; 64];
        seal(&payload, &mut head);
        assert!(proves(&payload, &head));
        for bit in 0..head.len() * 8 {
            head[bit / 8] ^= 1 << (bit % 8);
            assert!(!proves(&payload, &head));
            assert!(mend(&payload, &mut head));
            assert!(proves(&payload, &head));
        }
        let whole = head.clone();
        for (one, other) in [(0, 1), (65, 9), (70, 200), (255, 13)] {
            flip(&mut head, one);
            flip(&mut head, other);
            let damaged = head.clone();
            assert!(!mend(&payload, &mut head));
            assert_eq!(head, damaged);
            head.clone_from(&whole);
        }
        payload[5] ^= 4;
        assert!(!proves(&payload, &head));
        assert!(!mend(&payload, &mut head));
    }
}
