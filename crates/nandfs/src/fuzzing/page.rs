//! Pages that damage is done to.

use alloc::vec::Vec;

use super::Choices;
use crate::tag::{ChunkKind, Desc, Tag};

/// A page that proves itself.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) block: u32,
    pub(super) index: u32,
    pub(super) kind: u8,
    /// Its chunks; none in anchors and records of checkpoints.
    pub(super) tag: Option<Tag>,
}

impl Known {
    /// A chunk of the page: start, length and kind; the whole record of a root.
    pub(super) fn chunk(&self, choices: &mut Choices<'_>) -> Option<(u16, u16, Option<Desc>)> {
        let Some(tag) = &self.tag else { return Some((0, RECORD, None)) };
        let place = choices.place(tag.descs.len());
        tag.chunks().nth(place).map(|(start, desc)| (start, desc.len, Some(desc)))
    }

    pub(super) fn has(&self, kind: ChunkKind) -> bool {
        self.tag.iter().flat_map(|tag| &tag.descs).any(|desc| desc.kind == kind)
    }
}

/// Bytes of a root that say something, more or less.
const RECORD: u16 = 400;

/// A log page as it lies on the chip.
#[derive(Clone)]
pub(super) struct Raw {
    /// Chunks, then descriptors for which the head has no room.
    pub(super) payload: Vec<u8>,
    /// The tag, and the descriptors beside it.
    pub(super) head: Vec<u8>,
}

impl Raw {
    /// Puts a record in place of a chunk, cut off where that ends.
    pub(super) fn replace(&mut self, start: u16, length: u16, record: &[u8]) {
        let start = usize::from(start);
        let bytes = self.payload.get_mut(start..start + usize::from(length)).unwrap_or_default();
        bytes.fill(0);
        bytes.iter_mut().zip(record).for_each(|(to, from)| *to = *from);
    }

    pub(super) fn chunk(&self, start: u16, length: u16) -> &[u8] {
        let start = usize::from(start);
        self.payload.get(start..start + usize::from(length)).unwrap_or_default()
    }
}
