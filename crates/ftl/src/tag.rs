//! Tags: what a log page holds, and the proof that it holds it.

use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes};

use crate::layout::{Kind, NO_BLOCK, RawEntry, RawTag, SEQUENCE_END, TRIM_BLOCK};
use crate::shape::{Place, Shape, TagKind};

/// What a slot of a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The logical block.
    pub(crate) lba: u32,
    /// The write clock when a user wrote it.
    pub(crate) written: u32,
}

impl Entry {
    /// Nothing.
    pub(crate) const NONE: Entry = Entry { lba: NO_BLOCK, written: 0 };
    /// In the first slot: the page holds trimmed ranges.
    pub(crate) const TRIM: Entry = Entry { lba: TRIM_BLOCK, written: 0 };

    pub(crate) fn raw(self) -> RawEntry {
        RawEntry { lba: self.lba.into(), written: self.written.into() }
    }

    pub(crate) fn from_raw(raw: RawEntry) -> Entry {
        Entry { lba: raw.lba.get(), written: raw.written.get() }
    }
}

/// A tag. Of a page with a short one only the kind is known; everything else is empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    pub(crate) kind: Kind,
    /// The head that wrote the page.
    pub(crate) class: u8,
    /// Place in the order in which the volume's pages were programmed.
    pub(crate) sequence: u64,
    /// Erases of the segment so far.
    pub(crate) erases: u32,
    /// Write clock when the segment was opened.
    pub(crate) opened: u32,
    /// One for each slot.
    pub(crate) entries: Vec<Entry>,
}

impl Tag {
    /// A tag that says nothing but what the page is.
    pub(crate) fn plain(kind: Kind, sequence: u64) -> Tag {
        Tag { kind, class: 0, sequence, erases: 0, opened: 0, entries: Vec::new() }
    }

    /// The bytes for the spare area, sealed over the payload.
    pub(crate) fn seal(&self, shape: &Shape, place: Place, payload: &[u8]) -> Vec<u8> {
        if shape.tag == TagKind::Short {
            let sum = checksum(payload, place, &[self.kind as u8]);
            return sum.to_le_bytes().to_vec();
        }
        let mut sequence = [0; 6];
        sequence.iter_mut().zip(self.sequence.to_le_bytes()).for_each(|(to, from)| *to = from);
        let mut raw = RawTag {
            kind: self.kind as u8,
            class: self.class,
            sequence,
            checksum: 0.into(),
            erases: self.erases.into(),
            opened: self.opened.into(),
        };
        let mut entries = Vec::with_capacity(shape.tag_bytes());
        for slot in 0..shape.slots as usize {
            let entry = self.entries.get(slot).copied().unwrap_or(Entry::NONE);
            entries.extend_from_slice(entry.raw().as_bytes());
        }
        raw.checksum = full_sum(payload, place, raw, &entries).into();
        let mut head = raw.as_bytes().to_vec();
        head.append(&mut entries);
        head
    }

    /// The tag of a page whose spare bytes prove it; `None` if they do not.
    pub(crate) fn proved(shape: &Shape, place: Place, head: &[u8], payload: &[u8]) -> Option<Tag> {
        match shape.tag {
            TagKind::Short => {
                let stored = u32::from_le_bytes(*head.first_chunk()?);
                let proves = |kind: &Kind| checksum(payload, place, &[*kind as u8]) == stored;
                Kind::ALL.into_iter().find(proves).map(|kind| Tag::plain(kind, 0))
            }
            TagKind::Full => {
                let (raw, entries) = RawTag::ref_from_prefix(head).ok()?;
                let proves = full_sum(payload, place, *raw, entries) == raw.checksum.get();
                proves.then(|| Tag::hint(head)).flatten()
            }
        }
    }

    /// What a full tag says, proved or not.
    pub(crate) fn hint(head: &[u8]) -> Option<Tag> {
        let (raw, entries) = RawTag::ref_from_prefix(head).ok()?;
        let entries = <[RawEntry]>::ref_from_bytes(entries).ok()?;
        Some(Tag {
            kind: Kind::from_byte(raw.kind)?,
            class: raw.class,
            sequence: Some(sequence_of(&raw.sequence)).filter(|sequence| *sequence < SEQUENCE_END)?,
            erases: raw.erases.get(),
            opened: raw.opened.get(),
            entries: entries.iter().copied().map(Entry::from_raw).collect(),
        })
    }
}

/// The sequence number in the first eight bytes of a full tag.
pub(crate) fn sequence_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sequence, byte| sequence << 8 | u64::from(*byte))
}

fn full_sum(payload: &[u8], place: Place, mut raw: RawTag, entries: &[u8]) -> u32 {
    raw.checksum = 0.into();
    let mut hasher = hasher(payload, place);
    hasher.update(raw.as_bytes());
    hasher.update(entries);
    hasher.finalize()
}

fn checksum(payload: &[u8], place: Place, tail: &[u8]) -> u32 {
    let mut hasher = hasher(payload, place);
    hasher.update(tail);
    hasher.finalize()
}

/// A page proves itself in its own place alone.
fn hasher(payload: &[u8], place: Place) -> crc32fast::Hasher {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(payload);
    hasher.update(&place.block.to_le_bytes());
    hasher.update(&place.index.to_le_bytes());
    hasher
}

#[cfg(test)]
mod tests {
    use pumice_media::Geometry;

    use super::*;

    fn shape(free: u32) -> Shape {
        let geometry = Geometry {
            page_bytes: 2048,
            spare_bytes: 64,
            free_spare_bytes: free,
            pages_per_block: 64,
            blocks: 64,
        };
        Shape::of(&geometry, 2048).unwrap()
    }

    const PLACE: Place = Place { block: 5, index: 9 };

    fn tag() -> Tag {
        let entries = [Entry { lba: 77, written: 12 }].to_vec();
        Tag { kind: Kind::Data, class: 2, sequence: 0x1234_5678_9abc >> 1, erases: 7, opened: 4, entries }
    }

    #[test]
    fn a_tag_comes_back_and_any_changed_bit_breaks_it() {
        let shape = shape(38);
        let mut payload = alloc::vec![7; 2048];
        let mut head = tag().seal(&shape, PLACE, &payload);
        assert_eq!(Tag::proved(&shape, PLACE, &head, &payload), Some(tag()));
        for bit in 0..head.len() * 8 {
            head[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Tag::proved(&shape, PLACE, &head, &payload), None, "bit {bit}");
            head[bit / 8] ^= 1 << (bit % 8);
        }
        payload[100] ^= 1;
        assert_eq!(Tag::proved(&shape, PLACE, &head, &payload), None);
    }

    #[test]
    fn a_short_tag_tells_kind_and_place() {
        let shape = shape(4);
        let payload = alloc::vec![7; 2048];
        for kind in Kind::ALL {
            let head = Tag::plain(kind, 3).seal(&shape, PLACE, &payload);
            assert_eq!(head.len(), 4);
            assert_eq!(Tag::proved(&shape, PLACE, &head, &payload).map(|tag| tag.kind), Some(kind));
            let elsewhere = Place { index: 8, ..PLACE };
            assert_eq!(Tag::proved(&shape, elsewhere, &head, &payload), None);
        }
    }
}
