//! The tag of a log page: what the page holds, when it was written, and the proof (SPEC, "Log page").

use alloc::vec::Vec;

use pumice_vfs::Timestamp;

use crate::codec::{Put, Reader, len16};

/// Bytes of a tag with its first descriptor.
pub(crate) const TAG_BYTES: u32 = 32;
/// Bytes of each further descriptor.
pub(crate) const DESC_BYTES: u32 = 11;

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
    /// Encodes with a zero checksum; `seal` puts the checksum in.
    pub(crate) fn encode(&self, in_spare: u32) -> RawTag {
        let mut head = Vec::with_capacity(TAG_BYTES as usize);
        let commit = if self.commit.is_some() { COMMIT } else { 0 };
        head.put_u8(self.log as u8 | commit);
        head.put_u8(u8::try_from(self.descs.len()).unwrap_or(u8::MAX));
        head.put(&self.seq.to_le_bytes()[..6]);
        head.put_u32(0);
        if let Some(first) = self.descs.first() {
            first.put(&mut head);
        }
        head.put_u64(pack_time(self.commit.unwrap_or_default()));
        head.put_u8(0);
        let mut overflow = Vec::new();
        for (place, desc) in self.descs.iter().enumerate().skip(1) {
            desc.put(if place <= in_spare as usize { &mut head } else { &mut overflow });
        }
        RawTag { head, overflow }
    }

    /// Decodes a tag; `payload` is needed only where descriptors overflowed into it. `None` if anything is
    /// out of range; the caller has to prove the checksum before trusting the content.
    pub(crate) fn decode(head: &[u8], payload: Option<&[u8]>, in_spare: u32) -> Option<Tag> {
        let mut reader = Reader(head);
        let first = reader.u8()?;
        let count = usize::from(reader.u8()?);
        let seq = reader.bytes(6)?.iter().rev().fold(0, |seq, byte| seq << 8 | u64::from(*byte));
        let _checksum = reader.u32()?;
        let mut descs = Vec::with_capacity(count);
        descs.push(Desc::read(&mut reader)?);
        let time = reader.u64()?;
        reader.u8()?;
        if count == 0 || seq >= SEQ_END {
            return None;
        }
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
        let commit = (first & COMMIT != 0).then(|| unpack_time(time));
        Some(Tag { log: LogKind::from_tag_byte(first)?, seq, commit, descs })
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

/// Puts the checksum into an encoded tag.
pub(crate) fn seal(payload: &[u8], head: &mut [u8]) {
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

/// True if a tag was never programmed.
pub(crate) fn is_erased(head: &[u8]) -> bool {
    head.iter().all(|byte| *byte == 0xff)
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
                let raw = tag.encode(in_spare);
                let mut payload = vec![7; 2048 - raw.overflow.len()];
                payload.extend_from_slice(&raw.overflow);
                assert_eq!(raw.overflow.len(), overflow_bytes(tag.descs.len(), in_spare));
                assert_eq!(Tag::decode(&raw.head, Some(&payload), in_spare), Some(tag));
            }
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
