//! What a start cannot read at the ends of segments. One power cut explains one page, or a few that share cells: others
//! were complete. Where pages have no tags of their own, the newest summary or record lists the other segments, and how
//! much of them was named when it was written: what is not found is missing.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::error::Result;
use crate::record::Record;
use crate::shape::{Place, Shape};

/// The last readable summary of a segment.
#[derive(Clone)]
pub(crate) struct Last {
    /// Its page.
    pub(crate) index: u32,
    /// The pages that it names, but those behind the last that holds something.
    pub(crate) filled: u32,
    pub(crate) sequence: u64,
    /// The segments that it lists.
    pub(crate) listed: Vec<u32>,
}

/// The end of a segment as a start found it.
#[derive(Clone)]
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
    /// That summary, if it is no older than the checkpoint.
    pub(crate) summary: Option<Last>,
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

/// The last summaries of segments that no later summary or record lists with all that they name. What is listed was
/// named by two copies before that.
pub(crate) fn unproved(shape: &Shape, tails: &[Tail], record: &Record) -> Vec<Place> {
    let mut listed: BTreeMap<u32, u64> = BTreeMap::new();
    let mut list = |pages: &[u32], sequence: u64| {
        for page in pages {
            let latest = listed.entry(*page).or_default();
            *latest = sequence.max(*latest);
        }
    };
    let summaries = || tails.iter().filter_map(|tail| Some((tail.block, tail.summary.as_ref()?)));
    list(&record.listed, record.sequence);
    summaries().for_each(|(_, summary)| list(&summary.listed, summary.sequence));
    let is_proved = |block: u32, summary: &Last| {
        let [filled, own] = [summary.filled, summary.index].map(|index| shape.page(Place { block, index }));
        filled <= own && listed.range(filled..=own).any(|(_, later)| *later > summary.sequence)
    };
    let unproved = summaries().filter(|(block, summary)| !is_proved(*block, summary));
    unproved.map(|(block, summary)| Place { block, index: summary.index }).collect()
}

/// Unreadable pages behind summaries.
#[derive(Default)]
pub(crate) struct Judged {
    /// Those that were complete: what they named or held is not known.
    pub(crate) missing: Vec<Place>,
    /// Those that a power cut may explain, of a program or an erase.
    pub(crate) unnamed: Vec<Place>,
    /// The listed segments.
    pub(crate) listed: Vec<u32>,
}

/// Holds the ends of segments against what the newest summary lists and, if it is newer, the record. `is_needed` tells
/// whether a segment holds something that is needed, so that it was not being erased when the power went.
pub(crate) fn judge(
    shape: &Shape,
    tails: &[Tail],
    record: &Record,
    is_needed: &mut dyn FnMut(u32) -> Result<bool>,
) -> Result<Judged> {
    let newest = tails.iter().filter_map(|tail| tail.summary.as_ref()).max_by_key(|last| last.sequence);
    let recorded = newest.is_none_or(|last| last.sequence < record.sequence).then_some(&record.listed);
    let pages = newest.into_iter().flat_map(|last| &last.listed).chain(recorded.into_iter().flatten());
    let listed: BTreeMap<u32, u32> =
        pages.map(|page| (shape.medium.block_of(*page), shape.medium.index_of(*page))).collect();
    let mut judged = Judged { listed: listed.keys().copied().collect(), ..Judged::default() };
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

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// The first summary is proved by a later one or record that lists all that it names, and by no other.
    #[test]
    fn a_summary_is_proved_by_a_later_one_that_lists_as_much() {
        let geometry = pumice_media::ChipSpec::parse_geometry("2048+32:16:48").unwrap().geometry();
        let shape = Shape::of(&geometry, 2048, 0).unwrap();
        let page = |block, index| shape.page(Place { block, index });
        let tail = |block, filled, sequence, listed| {
            let summary = Some(Last { index: filled + 2, filled, sequence, listed });
            Tail { summary, ..Tail::blank(block) }
        };
        let places = |tails: &[Tail], record: &Record| -> Vec<(u32, u32)> {
            let unproved = unproved(&shape, tails, record).into_iter();
            unproved.map(|place| (place.block, place.index)).collect()
        };
        let first = || tail(5, 9, 100, vec![]);
        let blank = Record::default();
        for (listed, sequence, is_proved) in [
            (page(5, 9), 101, true),
            // With pages that were passed over.
            (page(5, 11), 400, true),
            // Before it: in a life of the segment that is over.
            (page(5, 9), 99, false),
            (page(5, 12), 101, false),
            // As much as an earlier summary named. The program of this one failed, perhaps.
            (page(5, 8), 101, false),
            (page(6, 9), 101, false),
        ] {
            let told = [first(), tail(7, 3, sequence, vec![page(4, 2), listed])];
            let wanted = if is_proved { vec![(7, 5)] } else { vec![(5, 11), (7, 5)] };
            assert_eq!(places(&told, &blank), wanted, "{listed} at {sequence}");
            let record = Record { sequence, listed: vec![listed], ..Record::default() };
            let wanted = if is_proved { vec![] } else { vec![(5, 11)] };
            assert_eq!(places(&[first()], &record), wanted, "{listed} at {sequence} by a record");
        }
    }
}
