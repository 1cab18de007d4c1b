//! What a start cannot read at the ends of segments. One power cut explains one page, or a few that share cells: others
//! were complete. Where pages have no tags of their own, the newest summary or record lists the other segments, and how
//! much of them was named when it was written: what is not found is missing.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::error::Result;
use crate::record::Record;
use crate::shape::{Place, Shape};

/// The end of a segment as a start found it.
pub(crate) struct Tail {
    pub(crate) block: u32,
    /// Pages up to the last that tells what it holds, or that the last readable summary names, or that the checkpoint knows.
    pub(crate) known: u32,
    /// The sequence number of the segment's first page, if a readable page tells it; otherwise 0.
    pub(crate) first: u64,
    /// Pages behind those that were programmed, and cannot be read.
    pub(crate) unread: Vec<u32>,
    /// The index behind the last page that is not erased.
    pub(crate) written: u32,
    /// The sequence number of that summary, and the segments that it lists, if it is no older than the checkpoint.
    pub(crate) summary: Option<(u64, Vec<u32>)>,
    /// The segment was sealed at the checkpoint, and nothing found in it is newer. What lives there by the table was not
    /// moved since, so that it was not erased.
    pub(crate) is_old: bool,
}

impl Tail {
    /// The tail of a segment in which nothing was found yet.
    pub(crate) fn blank(block: u32) -> Tail {
        Tail { block, known: 0, first: 0, unread: Vec::new(), written: 0, summary: None, is_old: false }
    }

    /// The checkpoint knows so many of its pages.
    pub(crate) fn know(&mut self, pages: u32) {
        self.known = self.known.max(pages);
        self.unread.retain(|index| *index >= pages);
    }

    /// The contents of an unreadable page are known.
    pub(crate) fn tell(&mut self, place: Place) {
        if place.block == self.block {
            self.unread.retain(|index| *index != place.index);
        }
    }

    /// True if a single cut explains all unreadable pages: one program was stopped, the last or one that left no trace,
    /// and took those along that share its cells.
    pub(crate) fn is_cut(&self, shape: &Shape) -> bool {
        let last = self.written.saturating_sub(1)..shape.pages.min(self.written + shape.reach);
        let explains = |by: u32, index: u32| by == index || shape.medium.may_destroy(by, index);
        self.unread.is_empty()
            || last.into_iter().any(|by| self.unread.iter().all(|index| explains(by, *index)))
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        self.unread.iter().map(|index| Place { block: self.block, index: *index })
    }
}

/// Unreadable pages behind summaries.
#[derive(Default)]
pub(crate) struct Judged {
    /// Those that were complete: what they named or held is not known.
    pub(crate) missing: Vec<Place>,
    /// Those that a power cut may explain, of a program or an erase.
    pub(crate) unnamed: Vec<Place>,
}

/// Holds the ends of segments against what the newest summary lists and, if it is newer, the record. `is_needed` tells
/// whether a segment holds something that is needed, so that it was not being erased when the power went.
pub(crate) fn judge(
    shape: &Shape,
    tails: &[Tail],
    record: &Record,
    is_needed: &mut dyn FnMut(u32) -> Result<bool>,
) -> Result<Judged> {
    let mut judged = Judged::default();
    let newest = tails.iter().filter_map(|tail| tail.summary.as_ref()).max_by_key(|(sequence, _)| *sequence);
    let recorded = newest.is_none_or(|(sequence, _)| *sequence < record.sequence).then_some(&record.listed);
    let pages = newest.into_iter().flat_map(|(_, listed)| listed).chain(recorded.into_iter().flatten());
    let listed: BTreeMap<u32, u32> =
        pages.map(|page| (shape.medium.block_of(*page), shape.medium.index_of(*page))).collect();
    for tail in tails {
        let named = listed.get(&tail.block).copied();
        if named.is_some_and(|named| named > tail.known) {
            judged.missing.extend(tail.places());
            if tail.unread.is_empty() {
                judged.missing.push(Place { block: tail.block, index: tail.known });
            }
        } else if !tail.is_cut(shape) && (named.is_some() || (!tail.is_old && is_needed(tail.block)?)) {
            judged.missing.extend(tail.places());
        } else {
            judged.unnamed.extend(tail.places());
        }
    }
    Ok(judged)
}
