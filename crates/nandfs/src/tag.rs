//! What the tag of a log page says in this file system: the chunks of the page, and how far fsync promises
//! (SPEC, "Log page").

use alloc::vec::Vec;

use pumice_flashlog::Page;
use pumice_vfs::Timestamp;

use crate::codec::{Put, Reader, len16};

/// Bytes of a tag with its first descriptor.
pub(crate) const TAG_BYTES: u32 = pumice_flashlog::TAG_BYTES + BODY_BYTES;
/// Bytes of a tag's body with its first descriptor.
pub(crate) const BODY_BYTES: u32 = 20;
/// Bytes of each further descriptor.
pub(crate) const DESC_BYTES: u32 = 11;

/// The flag of a page that ends an fsync.
const COMMIT: u8 = 1;

/// Which log a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum LogKind {
    /// Nodes, directory blocks and table pages.
    Meta = 3,
    /// Data written by fsync; read again by recovery.
    Sync = 4,
    /// Data written back, and survivors of cleaning.
    Data = 5,
}

impl LogKind {
    pub(crate) fn from_bits(bits: u8) -> Option<LogKind> {
        Some(match bits {
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
}

impl ChunkKind {
    fn from_bits(bits: u8) -> Option<ChunkKind> {
        Some(match bits {
            1 => ChunkKind::Data,
            2 => ChunkKind::Node,
            3 => ChunkKind::NodeTable,
            4 => ChunkKind::BlockTable,
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

/// Payload bytes that `count` descriptors cost when `in_spare` of them fit behind the tag.
pub(crate) fn overflow_bytes(count: usize, in_spare: u32) -> usize {
    count.saturating_sub(1 + in_spare as usize) * DESC_BYTES as usize
}

impl Tag {
    /// The tag as the medium takes it, and the descriptors for which it has no room: they go to the end of the payload.
    pub(crate) fn encode(&self, in_spare: u32) -> (pumice_flashlog::Tag, Vec<u8>) {
        let mut body = Vec::with_capacity(BODY_BYTES as usize);
        if let Some(first) = self.descs.first() {
            first.put(&mut body);
        }
        body.put_u64(pack_time(self.commit.unwrap_or_default()));
        debug_assert!(u8::try_from(self.descs.len()).is_ok(), "more chunks than a tag can count");
        body.put_u8(u8::try_from(self.descs.len()).unwrap_or(u8::MAX));
        let mut overflow = Vec::new();
        for (place, desc) in self.descs.iter().enumerate().skip(1) {
            desc.put(if place <= in_spare as usize { &mut body } else { &mut overflow });
        }
        let flags = if self.commit.is_some() { COMMIT } else { 0 };
        (pumice_flashlog::Tag { kind: self.log as u8, flags, seq: self.seq, body }, overflow)
    }

    /// What a tag says; the payload is needed only where descriptors overflowed into it. `None` if anything is out of
    /// range.
    pub(crate) fn decode(tag: &pumice_flashlog::Tag, payload: Option<&[u8]>, in_spare: u32) -> Option<Tag> {
        let log = LogKind::from_bits(tag.kind)?;
        let mut reader = Reader(&tag.body);
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
        let commit = (tag.flags & COMMIT != 0).then(|| unpack_time(time));
        Some(Tag { log, seq: tag.seq, commit, descs })
    }

    /// What the tag of a proved page says.
    pub(crate) fn of(page: &Page, in_spare: u32) -> Option<Tag> {
        Tag::decode(&page.tag, Some(&page.payload), in_spare)
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
                let (raw, overflow) = tag.encode(in_spare);
                assert_eq!(overflow.len(), overflow_bytes(tag.descs.len(), in_spare));
                let mut payload = vec![7; 2048 - overflow.len()];
                payload.extend_from_slice(&overflow);
                assert_eq!(Tag::decode(&raw, Some(&payload), in_spare), Some(tag));
            }
        }
    }
}
