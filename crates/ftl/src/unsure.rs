//! The newest page after a power cut: it may have been read for the last time. Its blocks are kept in memory until they
//! are written once more, and the table leaves it out until then. So the originals of its blocks stay where they are.
//! The checkpoint in between names the page, should the power go again. Cut starts may leave some of them.

use alloc::{collections::BTreeSet, vec::Vec};

use crate::layout::{NO_PAGE, RawUnsure, UNSURE_MOST};
use crate::shape::{Place, Shape};
use crate::survey::Held;
use crate::tag::Entry;

/// Such pages.
#[derive(Default)]
pub(crate) struct Unsure {
    /// Pages that the checkpoint names, with their sequence numbers.
    named: Vec<(Place, u64)>,
    /// Kept pages, the newest last. No two hold the same block.
    held: Vec<Held>,
    /// Pages that were read, should the start begin anew.
    read: Vec<Held>,
    /// Segments of which the last page is one of those that are written twice, and may fade: its copy is missing.
    alone: BTreeSet<u32>,
}

impl Unsure {
    /// A checkpoint names these, and none is kept yet.
    pub(crate) fn name(&mut self, shape: &Shape, raw: &[RawUnsure]) {
        let pages = raw.iter().map(|raw| (raw.page.get(), raw.sequence.get()));
        let pages = pages.filter(|(page, _)| *page < shape.blocks * shape.medium.pages());
        self.named = pages.map(|(page, sequence)| (shape.place_of(page), sequence)).collect();
        self.held.clear();
    }

    /// A start found these segments with a last page that may fade, for its copy is missing.
    pub(crate) fn note_alone(&mut self, blocks: Vec<u32>) {
        self.alone.extend(blocks);
    }

    /// Those segments.
    pub(crate) fn alone(&self) -> &BTreeSet<u32> {
        &self.alone
    }

    /// The kept pages, for a checkpoint.
    pub(crate) fn encode(&self, shape: &Shape) -> [RawUnsure; UNSURE_MOST] {
        debug_assert!(self.held.len() <= UNSURE_MOST, "{} pages are kept", self.held.len());
        let mut raw = [RawUnsure { page: NO_PAGE.into(), sequence: 0.into() }; UNSURE_MOST];
        for (raw, held) in raw.iter_mut().zip(&self.held) {
            (raw.page, raw.sequence) = (shape.page(held.place).into(), held.tag.sequence.into());
        }
        raw
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The kept pages, the newest last.
    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// The segments that they lie in.
    pub(crate) fn blocks(&self) -> Vec<u32> {
        self.held.iter().map(|held| held.place.block).collect()
    }

    /// True if one of them lies in this segment.
    pub(crate) fn is_in(&self, block: u32) -> bool {
        self.held.iter().any(|held| held.place.block == block)
    }

    /// The pages that the checkpoint names.
    pub(crate) fn named(&self) -> Vec<(Place, u64)> {
        self.named.clone()
    }

    /// One of those that were read.
    pub(crate) fn known(&self, place: Place, sequence: u64) -> Option<Held> {
        let is_it = |held: &&Held| held.place == place && held.tag.sequence == sequence;
        self.read.iter().find(is_it).cloned()
    }

    /// A page that the checkpoint names was read.
    pub(crate) fn remember(&mut self, held: Held) {
        self.read.push(held);
    }

    /// Keeps these from here on, the newest last.
    pub(crate) fn keep(&mut self, held: Vec<Held>) {
        self.held = held;
    }

    /// The kept copy of a block.
    pub(crate) fn find(&self, lba: u32) -> Option<(Entry, &Held)> {
        let find = |held: &Held| held.tag.entries.iter().copied().find(|entry| entry.lba == lba);
        self.held.iter().find_map(|held| Some((find(held)?, held)))
    }
}

/// Pages of a segment up to a place, with it.
pub(crate) fn pages_through(place: Place) -> u16 {
    debug_assert!(place.index < u16::MAX.into(), "a segment has more pages than its count can say");
    u16::try_from(place.index + 1).unwrap_or(u16::MAX)
}
