//! The tag of a log page: it names the logical blocks in it.

use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes, little_endian::U32};

use crate::layout::{ENTRY_BYTES, Kind, NO_BLOCK, RawBody, RawEntry, TRIM_BLOCK};
use crate::shape::Shape;

/// The content of a slot of a page.
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
    /// Mark in the first slot: the page holds trimmed ranges.
    pub(crate) const TRIM: Entry = Entry { lba: TRIM_BLOCK, written: 0 };

    pub(crate) fn raw(self) -> RawEntry {
        RawEntry { lba: self.lba.into(), written: self.written.into() }
    }

    pub(crate) fn from_raw(raw: RawEntry) -> Entry {
        Entry { lba: raw.lba.get(), written: raw.written.get() }
    }
}

/// The owner of the page programmed before this one, in any segment, should that one be unreadable. One operation is in
/// flight at a time, so that page was complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Before {
    /// The log page, counted through the chip.
    pub(crate) page: u32,
    /// The logical blocks in it, one for each slot.
    pub(crate) lbas: Vec<u32>,
}

impl Before {
    /// No page that is known.
    const NONE: u32 = u32::MAX;

    pub(crate) fn new(page: u32, entries: &[Entry]) -> Before {
        Before { page, lbas: entries.iter().map(|entry| entry.lba).collect() }
    }

    fn encode(before: Option<&Before>, slots: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&before.map_or(Before::NONE, |before| before.page).to_le_bytes());
        for slot in 0..slots as usize {
            let lba = before.and_then(|before| before.lbas.get(slot)).copied().unwrap_or(NO_BLOCK);
            out.extend_from_slice(&lba.to_le_bytes());
        }
    }

    fn decode(words: &[U32]) -> Option<Before> {
        let (page, lbas) = words.split_first()?;
        let before = Before { page: page.get(), lbas: lbas.iter().map(|lba| lba.get()).collect() };
        Some(before).filter(|before| before.page != Before::NONE)
    }
}

/// A tag. A short one tells only the kind; everything else is empty.
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
    /// The page before it, as far as this session knows.
    pub(crate) before: Option<Before>,
    /// All pages before it were promised, and some passed over for that.
    pub(crate) promised: bool,
}

impl Tag {
    /// A tag with nothing but the page's kind.
    pub(crate) fn plain(kind: Kind, sequence: u64) -> Tag {
        Tag {
            kind,
            class: 0,
            sequence,
            erases: 0,
            opened: 0,
            entries: Vec::new(),
            before: None,
            promised: false,
        }
    }

    /// The tag as the medium takes it.
    pub(crate) fn encode(&self, shape: &Shape) -> pumice_flashlog::Tag {
        let raw = RawBody { erases: self.erases.into(), opened: self.opened.into() };
        let mut body = raw.as_bytes().to_vec();
        for slot in 0..shape.slots as usize {
            let entry = self.entries.get(slot).copied().unwrap_or(Entry::NONE);
            body.extend_from_slice(entry.raw().as_bytes());
        }
        Before::encode(self.before.as_ref(), shape.slots, &mut body);
        pumice_flashlog::Tag {
            kind: self.kind.to_byte(self.promised),
            flags: self.class,
            seq: self.sequence,
            body,
        }
    }

    /// Decodes the medium's tag; `None` if it makes no sense.
    pub(crate) fn decode(shape: &Shape, tag: &pumice_flashlog::Tag) -> Option<Tag> {
        let (kind, promised) = Kind::from_byte(tag.kind)?;
        if !shape.tagged {
            return Some(Tag::plain(kind, 0));
        }
        let (raw, rest) = RawBody::ref_from_prefix(&tag.body).ok()?;
        let (entries, before) = rest.split_at_checked((shape.slots * ENTRY_BYTES) as usize)?;
        let entries = <[RawEntry]>::ref_from_bytes(entries).ok()?;
        let before = Before::decode(<[U32]>::ref_from_bytes(before).ok()?);
        Some(Tag {
            kind,
            class: tag.flags,
            sequence: tag.seq,
            erases: raw.erases.get(),
            opened: raw.opened.get(),
            entries: entries.iter().copied().map(Entry::from_raw).collect(),
            before,
            promised,
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
        Shape::of(&geometry, 2048, 0).unwrap()
    }

    #[test]
    fn a_tag_comes_back() {
        let entries = [Entry { lba: 77, written: 12 }].to_vec();
        let before = Some(Before { page: 1234, lbas: [76].to_vec() });
        let tag = Tag {
            kind: Kind::Data,
            class: 2,
            sequence: 0x1234_5678_9abc,
            erases: 7,
            opened: 4,
            entries,
            before,
            promised: true,
        };
        assert_eq!(Tag::decode(&shape(38), &tag.encode(&shape(38))), Some(tag.clone()));
        let plain = Tag::plain(Kind::Data, 0);
        assert_eq!(Tag::decode(&shape(4), &tag.encode(&shape(4))), Some(plain));
    }
}
