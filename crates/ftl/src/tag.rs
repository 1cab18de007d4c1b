//! What the tag of a log page says: the logical blocks in it.

use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes};

use crate::layout::{Kind, NO_BLOCK, RawBody, RawEntry, TRIM_BLOCK};
use crate::shape::Shape;

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

    /// The tag as the medium takes it.
    pub(crate) fn encode(&self, shape: &Shape) -> pumice_flashlog::Tag {
        let raw = RawBody { erases: self.erases.into(), opened: self.opened.into() };
        let mut body = raw.as_bytes().to_vec();
        for slot in 0..shape.slots as usize {
            let entry = self.entries.get(slot).copied().unwrap_or(Entry::NONE);
            body.extend_from_slice(entry.raw().as_bytes());
        }
        pumice_flashlog::Tag { kind: self.kind as u8, flags: self.class, seq: self.sequence, body }
    }

    /// What a tag of the medium says; `None` if it makes no sense.
    pub(crate) fn decode(shape: &Shape, tag: &pumice_flashlog::Tag) -> Option<Tag> {
        let kind = Kind::from_byte(tag.kind)?;
        if !shape.tagged {
            return Some(Tag::plain(kind, 0));
        }
        let (raw, entries) = RawBody::ref_from_prefix(&tag.body).ok()?;
        let entries = <[RawEntry]>::ref_from_bytes(entries).ok()?;
        Some(Tag {
            kind,
            class: tag.flags,
            sequence: tag.seq,
            erases: raw.erases.get(),
            opened: raw.opened.get(),
            entries: entries.iter().copied().map(Entry::from_raw).collect(),
        })
    }
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

    #[test]
    fn a_tag_comes_back() {
        let entries = [Entry { lba: 77, written: 12 }].to_vec();
        let tag =
            Tag { kind: Kind::Data, class: 2, sequence: 0x1234_5678_9abc, erases: 7, opened: 4, entries };
        assert_eq!(Tag::decode(&shape(38), &tag.encode(&shape(38))), Some(tag.clone()));
        let plain = Tag::plain(Kind::Data, 0);
        assert_eq!(Tag::decode(&shape(4), &tag.encode(&shape(4))), Some(plain));
    }
}
