//! The tag of a log page in this file system: the chunks of the page, and the reach of fsync's promises (SPEC, "Log
//! page").

use alloc::vec::Vec;

use pumice_flashlog::Page;
use pumice_vfs::Timestamp;

use crate::codec::{Put, Reader, len16};
use crate::promise::{PROMISE_BYTES, Promise, Promised};

/// Bytes of a tag with its first descriptor.
pub(crate) const TAG_BYTES: u32 = pumice_flashlog::TAG_BYTES + BODY_BYTES;
/// Bytes of a tag's body with its first descriptor.
pub(crate) const BODY_BYTES: u32 = 20;
/// Bytes of each further descriptor.
pub(crate) const DESC_BYTES: u32 = 11;
/// Bytes of a body with room for the promise of the page before: the promise and a count of blocks.
pub(crate) const ROOMY_BYTES: u32 = 10;
/// Bytes of a narrow body's tail, which with the length of the only chunk hold a promise.
pub(crate) const TAIL_BYTES: u32 = 6;

/// The flag of a page that ends an fsync.
const COMMIT: u8 = 1;
/// The place of the kind of the promise of the page before, in the flags.
const PROMISE_SHIFT: u8 = 1;
/// The flag of a page with a first block that follows those of the page before, in the same inode.
const FOLLOWS: u8 = 8;
/// The first descriptor's kind has the kind of the chunk in its low bits, then this flag, then the turn.
const SPLIT: u8 = 8;
const TURN_SHIFT: u8 = 4;
/// Pages of fsync and metadata are counted by their turn, up to this and then from 0 again.
pub(crate) const TURNS: u8 = 16;

/// The places of a tag's parts on a chip of this shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Descriptors besides the first that fit behind the tag; others take payload.
    pub(crate) spare_descs: u32,
    /// The room for the promise of the page before.
    pub(crate) room: Room,
    /// Bytes of a log page that hold chunks.
    pub(crate) payload: u32,
    /// Logical block of a file, in bytes.
    pub(crate) block: u32,
    /// Logical blocks that fit in a log page.
    pub(crate) slots: u32,
}

/// Room for the promise of the page before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// Bytes of its own.
    Own,
    /// A tail, which is enough if the page has one whole block.
    Tail,
    /// None: it goes where the page has bytes to spare.
    None,
}

impl Layout {
    /// Bytes of a tag's body.
    pub(crate) fn body_bytes(&self) -> u32 {
        let room = match self.room {
            Room::Own => ROOMY_BYTES,
            Room::Tail => TAIL_BYTES,
            Room::None => 0,
        };
        BODY_BYTES + room + self.spare_descs * DESC_BYTES
    }

    /// Bytes of the payload left for chunks beside so many descriptors.
    pub(crate) fn room(&self, count: usize) -> usize {
        (self.payload as usize).saturating_sub(self.overflow(count))
    }

    /// Payload bytes that `count` descriptors cost.
    pub(crate) fn overflow(&self, count: usize) -> usize {
        count.saturating_sub(1 + self.spare_descs as usize) * DESC_BYTES as usize
    }
}

/// The place of the promise of the page before in a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Bytes of its own.
    Own,
    /// It follows from the first descriptor.
    Follows,
    /// The bytes of the time, which only a commit needs.
    Time,
    /// The payload, in front of the descriptors there.
    Payload,
    /// The tail, and the length of the only chunk, which is a whole block.
    Split,
}

/// The kind of the first page of a block with copies of parity; no page behind it has a tag.
pub(crate) const COPIES: u8 = 7;

/// The log that a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum LogKind {
    /// Nodes, directory blocks and table pages.
    Meta = 3,
    /// Data written by fsync; read again by recovery.
    Sync = 4,
    /// Data written back, and survivors of cleaning.
    Data = 5,
    /// Other pages of the head of meta, on a chip with pages that share cells: those of checkpoints and cleaning. No
    /// fsync promises them, so a cut may destroy such a page with a later one.
    Unpromised = 6,
    /// Pages that a mount writes after a power cut until its checkpoint is there. If that mount is cut, too, nobody
    /// needs them, and the next mount may find another record than the one that they count from.
    Aside = 8,
    /// Pages that a repair writes until its checkpoint is there.
    Repair = 9,
}

impl LogKind {
    pub(crate) fn from_bits(bits: u8) -> Option<LogKind> {
        use LogKind::{Aside, Data, Meta, Repair, Sync, Unpromised};
        [Meta, Sync, Data, Unpromised, Aside, Repair].into_iter().find(|kind| *kind as u8 == bits)
    }

    /// True for pages that recovery reads one by one, and counts by their turn.
    pub(crate) fn is_counted(self) -> bool {
        matches!(self, LogKind::Meta | LogKind::Sync)
    }

    /// True for pages that recovery passes over: they repeat others.
    pub(crate) fn is_aside(self) -> bool {
        matches!(self, LogKind::Aside | LogKind::Repair)
    }

    /// True for pages of blocks that recovery searches for counted ones.
    pub(crate) fn is_scanned(self) -> bool {
        self != LogKind::Data
    }
}

/// The kind of a chunk; with two numbers it names the owner.
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
    /// A record of names: 0, its place among those that are promised together.
    Names = 5,
    /// A block of a file, compressed: inode, block index.
    Packed = 6,
    /// The rest of the last chunk of the page before, with the same two numbers.
    Rest = 7,
}

impl ChunkKind {
    /// True for a block of a file or directory, compressed or not.
    pub(crate) fn is_block(self) -> bool {
        matches!(self, ChunkKind::Data | ChunkKind::Packed)
    }

    /// The same, or a part of one.
    pub(crate) fn is_of_block(self) -> bool {
        self.is_block() || self == ChunkKind::Rest
    }

    fn from_bits(bits: u8) -> Option<ChunkKind> {
        use ChunkKind::{BlockTable, Data, Names, Node, NodeTable, Packed, Rest};
        [Data, Node, NodeTable, BlockTable, Names, Packed, Rest].into_iter().find(|kind| *kind as u8 == bits)
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
    /// The number of pages that recovery reads, programmed before this one since the checkpoint, modulo [`TURNS`]: a
    /// jump tells of an unreadable one.
    pub(crate) turn: u8,
    /// The promise of the last of them.
    pub(crate) before: Option<Promise>,
    /// The chunks, at least one.
    pub(crate) descs: Vec<Desc>,
}

impl Tag {
    /// True if the tag has room for the promise of the page before; only a commit may have none.
    pub(crate) fn can_tell(&self, layout: &Layout) -> bool {
        self.before.is_none() || self.place(layout).is_some()
    }

    /// The promise of the page itself, if its nodes are written for an fsync as `nodes` says.
    pub(crate) fn promise(&self, nodes: Option<Promised>) -> Option<Promise> {
        let first = self.descs.first()?;
        let indices = || self.descs.iter().map(|desc| desc.index);
        match (self.log, nodes) {
            (LogKind::Sync, _) => {
                let (start, end) = (indices().min()?, indices().max()?);
                let count = u16::try_from(end - start).ok().and_then(|count| count.checked_add(1));
                Some(Promise::Blocks { ino: first.id, first: start, count: count.unwrap_or(u16::MAX) })
            }
            (LogKind::Meta, Some(Promised::Names { dir, prints })) => Some(Promise::Names { dir, prints }),
            (LogKind::Meta, Some(Promised::New { dir }))
                if self.descs.iter().any(|desc| desc.id == first.index) =>
            {
                Some(Promise::New { ino: first.index, dir })
            }
            (LogKind::Meta, Some(_)) => Some(Promise::Node {
                ino: first.index,
                nid: if self.descs.len() == 1 { first.id } else { 0 },
            }),
            (LogKind::Meta, None)
            | (LogKind::Data | LogKind::Unpromised | LogKind::Aside | LogKind::Repair, _) => None,
        }
    }

    /// The place for the promise of the page before; none if there is no promise, or no room.
    fn place(&self, layout: &Layout) -> Option<Place> {
        let before = self.before?;
        let first = self.descs.first()?;
        if layout.room == Room::Own {
            return Some(Place::Own);
        }
        if follows(first, layout) == Some(before) {
            return Some(Place::Follows);
        }
        if self.commit.is_none() {
            return Some(Place::Time);
        }
        place_in_commit(&self.descs, layout)
    }

    /// The tag as the medium takes it, and its overflow: that goes to the end of the payload.
    pub(crate) fn encode(&self, layout: &Layout) -> (pumice_flashlog::Tag, Vec<u8>) {
        let place = self.place(layout);
        let promise = self.before.filter(|_| place.is_some());
        let bytes = promise.map_or([0; PROMISE_BYTES], Promise::encode);
        let [length, tail @ ..] = split(bytes);
        let mut body = Vec::with_capacity(layout.body_bytes() as usize);
        if let Some(first) = self.descs.first() {
            let is_split = if place == Some(Place::Split) { SPLIT } else { 0 };
            body.put_u8(first.kind as u8 | is_split | self.turn << TURN_SHIFT);
            body.put_u16(if is_split == 0 { first.len } else { length });
            body.put_u32(first.id);
            body.put_u32(first.index);
        }
        match (self.commit, place) {
            (None, Some(Place::Time)) => body.put(&bytes),
            (time, _) => body.put_u64(pack_time(time.unwrap_or_default())),
        }
        debug_assert!(u8::try_from(self.descs.len()).is_ok(), "more chunks than a tag can count");
        body.put_u8(u8::try_from(self.descs.len()).unwrap_or(u8::MAX));
        match layout.room {
            Room::Own => {
                body.put(&bytes);
                body.put_u16(promise.map_or(0, Promise::count));
            }
            Room::Tail => {
                for word in tail {
                    body.put_u16(if place == Some(Place::Split) { word } else { 0 });
                }
            }
            Room::None => {}
        }
        let mut overflow = Vec::new();
        if place == Some(Place::Payload) {
            overflow.put(&bytes);
        }
        for (place, desc) in self.descs.iter().enumerate().skip(1) {
            desc.put(if place <= layout.spare_descs as usize { &mut body } else { &mut overflow });
        }
        let commit = if self.commit.is_some() { COMMIT } else { 0 };
        let follows = if place == Some(Place::Follows) { FOLLOWS } else { 0 };
        let flags = commit | promise.map_or(0, Promise::kind) << PROMISE_SHIFT | follows;
        (pumice_flashlog::Tag { kind: self.log as u8, flags, seq: self.seq, body }, overflow)
    }

    /// Decodes a tag; the payload is needed only where something overflowed into it, and without it the promise of the
    /// page before may not be told. `None` if anything is out of range.
    pub(crate) fn decode(tag: &pumice_flashlog::Tag, payload: Option<&[u8]>, layout: &Layout) -> Option<Tag> {
        let log = LogKind::from_bits(tag.kind)?;
        let mut reader = Reader(&tag.body);
        let kind = reader.u8()?;
        let turn = kind >> TURN_SHIFT;
        let is_split = kind & SPLIT != 0;
        let length = reader.u16()?;
        let len = if is_split { len16(layout.block as usize) } else { length };
        let kind = ChunkKind::from_bits(kind & (SPLIT - 1))?;
        let first = Desc { kind, len, id: reader.u32()?, index: reader.u32()? };
        let time = reader.u64()?;
        let count = usize::from(reader.u8()?);
        if count == 0 {
            return None;
        }
        let commit = (tag.flags & COMMIT != 0).then(|| unpack_time(time));
        let mut own = (None, len16(layout.slots as usize));
        let mut tail = [length, 0, 0, 0];
        match layout.room {
            Room::Own => own = (reader.bytes(PROMISE_BYTES)?.try_into().ok(), reader.u16()?),
            Room::Tail => {
                for word in tail.iter_mut().skip(1) {
                    *word = reader.u16()?;
                }
            }
            Room::None => {}
        }
        let mut descs = Vec::with_capacity(count);
        descs.push(first);
        for _ in 1..count.min(1 + layout.spare_descs as usize) {
            descs.push(Desc::read(&mut reader)?);
        }
        if descs.len() < count {
            let payload = payload?;
            let start = payload.len().checked_sub(layout.overflow(count))?;
            let mut reader = Reader(payload.get(start..)?);
            while descs.len() < count {
                descs.push(Desc::read(&mut reader)?);
            }
        }
        let kind = tag.flags >> PROMISE_SHIFT & 3;
        let in_commit = || match place_in_commit(&descs, layout)? {
            Place::Split if is_split => Some(join(tail)),
            Place::Payload => {
                let payload = payload?;
                let end = payload.len().checked_sub(layout.overflow(count))?;
                payload.get(..end)?.last_chunk().copied()
            }
            _ => None,
        };
        let bytes = match (own.0, commit) {
            (Some(own), _) => Some(own),
            (None, None) => Some(time.to_le_bytes()),
            (None, Some(_)) => in_commit(),
        };
        let before = match tag.flags & FOLLOWS == 0 {
            true => bytes.and_then(|bytes| Promise::decode(kind, bytes, own.1)),
            false => follows(descs.first()?, layout),
        };
        Some(Tag { log, seq: tag.seq, commit, turn, before, descs })
    }

    /// The tag of a proved page.
    pub(crate) fn of(page: &Page, layout: &Layout) -> Option<Tag> {
        Tag::decode(&page.tag, Some(&page.payload), layout)
    }

    /// Offset of each chunk with its descriptor.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (u16, Desc)> + '_ {
        chunks(&self.descs)
    }
}

/// The promise of a full page that holds the blocks in front of this chunk, of the same inode.
fn follows(first: &Desc, layout: &Layout) -> Option<Promise> {
    let before = first.index.checked_sub(layout.slots).filter(|_| first.kind == ChunkKind::Data)?;
    Some(Promise::Blocks { ino: first.id, first: before, count: len16(layout.slots as usize) })
}

/// The place for the promise of the page before in a page with a commit that has no bytes of its own for it.
fn place_in_commit(descs: &[Desc], layout: &Layout) -> Option<Place> {
    let used: usize = descs.iter().map(|desc| usize::from(desc.len)).sum();
    if used + layout.overflow(descs.len()) + PROMISE_BYTES <= layout.payload as usize {
        return Some(Place::Payload);
    }
    match descs {
        [only]
            if layout.room == Room::Tail
                && only.kind == ChunkKind::Data
                && u32::from(only.len) == layout.block =>
        {
            Some(Place::Split)
        }
        _ => None,
    }
}

/// A promise as the word in place of a length, and those of the tail.
fn split(bytes: [u8; PROMISE_BYTES]) -> [u16; 4] {
    let (pairs, _) = bytes.as_chunks();
    let mut words = [0; 4];
    words.iter_mut().zip(pairs).for_each(|(word, pair)| *word = u16::from_le_bytes(*pair));
    words
}

fn join(words: [u16; 4]) -> [u8; PROMISE_BYTES] {
    words.iter().rev().fold(0_u64, |all, word| all << 16 | u64::from(*word)).to_le_bytes()
}

/// Offset of each chunk with its descriptor: chunks lie back to back. The last may go on in the next page.
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

    const TIME: Timestamp = Timestamp { seconds: -5, nanos: 999_999_999 };

    fn layout(room: Room, spare_descs: u32) -> Layout {
        Layout { spare_descs, room, payload: 2048, block: 2048, slots: 1 }
    }

    fn comes_back(tag: &Tag, layout: &Layout) {
        let (raw, overflow) = tag.encode(layout);
        let mut payload = vec![7; 2048 - overflow.len()];
        payload.extend_from_slice(&overflow);
        assert!(raw.body.len() <= layout.body_bytes() as usize);
        assert_eq!(Tag::decode(&raw, Some(&payload), layout).as_ref(), Some(tag));
    }

    #[test]
    fn a_tag_comes_back_with_all_its_chunks() {
        for count in [1, 2, 5] {
            for (in_spare, room) in [(0, Room::None), (1, Room::Tail), (9, Room::Own)] {
                let descs = (0..count).map(|n| desc(ChunkKind::Data, n, n + 7, 100)).collect();
                let tag = Tag {
                    log: LogKind::Sync,
                    seq: 0x1234_5678_9abc,
                    commit: Some(TIME),
                    turn: 11,
                    before: None,
                    descs,
                };
                comes_back(&tag, &layout(room, in_spare));
            }
        }
    }

    #[test]
    fn the_promise_of_the_page_before_has_a_place() {
        let promises = [
            Promise::Blocks { ino: 0x0102_0304, first: 0x0506_0708, count: 1 },
            Promise::Node { ino: 9, nid: 0 },
            Promise::New { ino: 0x7fff_fffe, dir: 1 },
            Promise::Names { dir: 0x7fff_fffe, prints: [0xffff, 2] },
        ];
        for before in promises {
            for (len, commit) in [(2048, None), (2048, Some(TIME)), (300, None), (300, Some(TIME))] {
                let descs = vec![desc(ChunkKind::Data, 5, 0x7788_99aa, len)];
                let tag = Tag { log: LogKind::Sync, seq: 3, commit, turn: 15, before: Some(before), descs };
                for room in [Room::Own, Room::Tail] {
                    assert!(tag.can_tell(&layout(room, 0)));
                    comes_back(&tag, &layout(room, 0));
                }
                let narrow = layout(Room::None, 0);
                assert_eq!(tag.can_tell(&narrow), len < 2048 || commit.is_none());
                if tag.can_tell(&narrow) {
                    comes_back(&tag, &narrow);
                }
            }
        }
    }

    #[test]
    fn blocks_in_a_row_need_no_room() {
        let before = Some(Promise::Blocks { ino: 5, first: 8, count: 1 });
        let descs = vec![desc(ChunkKind::Data, 5, 9, 2048)];
        let tag = Tag { log: LogKind::Sync, seq: 3, commit: Some(TIME), turn: 1, before, descs };
        comes_back(&tag, &layout(Room::None, 0));
    }
}
