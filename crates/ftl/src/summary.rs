//! The header of a segment: the contents of its pages, in one page behind them.

use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes};

use pumice_flashlog::SEQ_END;

use crate::layout::{RawEntry, RawSummary, SUMMARY_MAGIC, count32};
use crate::shape::{Place, Shape};
use crate::tag::Entry;

/// The contents of a segment, page by page from its first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Contents {
    /// The head that wrote it.
    pub(crate) class: u8,
    /// Erases of the segment so far.
    pub(crate) erases: u32,
    /// Write clock when it was opened.
    pub(crate) opened: u32,
    /// Sequence number of each page, ascending.
    pub(crate) sequences: Vec<u64>,
    /// Entries of each page, one for each slot.
    pub(crate) entries: Vec<Entry>,
}

impl Contents {
    /// Takes in the next page.
    pub(crate) fn push(&mut self, shape: &Shape, sequence: u64, entries: &[Entry]) {
        self.sequences.push(sequence);
        let missing = (shape.slots as usize).saturating_sub(entries.len());
        self.entries.extend(entries.iter().take(shape.slots as usize));
        self.entries.extend(core::iter::repeat_n(Entry::NONE, missing));
    }

    /// Each page: its sequence number and its entries.
    pub(crate) fn pages(&self, shape: &Shape) -> impl Iterator<Item = (u64, &[Entry])> {
        self.sequences.iter().copied().zip(self.entries.chunks_exact(shape.slots as usize))
    }

    /// Forgets pages from `end` on.
    pub(crate) fn truncate(&mut self, shape: &Shape, end: u32) {
        self.sequences.truncate(end as usize);
        self.entries.truncate((end * shape.slots) as usize);
    }

    /// Forgets the contents of a page.
    pub(crate) fn blank(&mut self, shape: &Shape, index: u32) {
        let slots = shape.slots as usize;
        let entries = self.entries.chunks_exact_mut(slots).nth(index as usize);
        entries.into_iter().flatten().for_each(|entry| *entry = Entry::NONE);
    }

    /// Pages up to the last that holds something, with it.
    pub(crate) fn filled(&self, shape: &Shape) -> u32 {
        let last = self.entries.iter().rposition(|entry| *entry != Entry::NONE);
        last.map_or(0, |last| count32(last / shape.slots as usize + 1))
    }

    /// The sequence number of the first page, from which the others are counted.
    pub(crate) fn first(&self) -> u64 {
        self.sequences.first().copied().unwrap_or(0)
    }

    /// The pages as bytes.
    pub(crate) fn put_pages(&self, shape: &Shape, out: &mut Vec<u8>) {
        let first = self.first();
        for (sequence, entries) in self.pages(shape) {
            let later = u32::try_from(sequence.saturating_sub(first)).unwrap_or(u32::MAX);
            out.extend_from_slice(&later.to_le_bytes());
            for entry in entries {
                out.extend_from_slice(entry.raw().as_bytes());
            }
        }
    }

    /// Takes in pages from their bytes; `None` if they are not whole or out of order.
    pub(crate) fn take_pages(&mut self, shape: &Shape, first: u64, bytes: &[u8]) -> Option<()> {
        for page in bytes.chunks(shape.named_bytes()) {
            let (later, entries) = page.split_first_chunk()?;
            let sequence = first.checked_add(u64::from(u32::from_le_bytes(*later)))?;
            let entries = <[RawEntry]>::ref_from_bytes(entries).ok()?;
            let ascending = self.sequences.last().is_none_or(|last| *last < sequence);
            if !ascending || entries.len() != shape.slots as usize || sequence >= SEQ_END {
                return None;
            }
            self.sequences.push(sequence);
            self.entries.extend(entries.iter().copied().map(Entry::from_raw));
        }
        Some(())
    }
}

/// A summary: the header of a segment, and what it says of others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Summary {
    pub(crate) contents: Contents,
    /// The sequence number of its own page.
    pub(crate) sequence: u64,
    /// Other segments that hold what the checkpoint does not know, each by the page behind the last one that their
    /// summaries name. Where pages have tags of their own there are none.
    pub(crate) listed: Vec<u32>,
}

impl Summary {
    /// The payload of a summary page of segment `block`.
    pub(crate) fn encode(&self, shape: &Shape, block: u32) -> Vec<u8> {
        let Contents { class, erases, opened, ref sequences, .. } = self.contents;
        let first = self.contents.first();
        debug_assert!(first <= self.sequence, "segment {block} begins at {first}, behind {}", self.sequence);
        let raw = RawSummary {
            magic: SUMMARY_MAGIC.into(),
            block: block.into(),
            erases: erases.into(),
            opened: opened.into(),
            pages: count32(sequences.len()).into(),
            class,
            reserved: [0; 3],
            first: first.into(),
            own: u32::try_from(self.sequence.saturating_sub(first)).unwrap_or(u32::MAX).into(),
            listed: count32(self.listed.len()).into(),
        };
        let mut payload = Vec::with_capacity(shape.payload());
        payload.extend_from_slice(raw.as_bytes());
        self.contents.put_pages(shape, &mut payload);
        self.listed.iter().for_each(|page| payload.extend_from_slice(&page.to_le_bytes()));
        debug_assert!(payload.len() <= shape.payload(), "{} segments in a summary", self.listed.len());
        payload.resize(shape.payload(), 0);
        payload
    }

    /// The same if it leaves nothing but zeros behind, as a summary of this shape does.
    pub(crate) fn decode_whole(shape: &Shape, place: Place, payload: &[u8]) -> Option<Summary> {
        let summary = Summary::decode(shape, place, payload)?;
        (summary.encode(shape, place.block) == payload).then_some(summary)
    }

    /// Reads a proved summary that lies in this page; `None` if it makes no sense there.
    pub(crate) fn decode(shape: &Shape, place: Place, payload: &[u8]) -> Option<Summary> {
        let (raw, rest) = RawSummary::ref_from_prefix(payload).ok()?;
        let count = raw.pages.get();
        if raw.magic.get() != SUMMARY_MAGIC || raw.block.get() != place.block || count > place.index {
            return None;
        }
        let mut contents = Contents {
            class: raw.class,
            erases: raw.erases.get(),
            opened: raw.opened.get(),
            ..Contents::default()
        };
        let (pages, rest) = rest.split_at_checked((count as usize).checked_mul(shape.named_bytes())?)?;
        contents.take_pages(shape, raw.first.get(), pages)?;
        let listed = rest.get(..(raw.listed.get() as usize).checked_mul(size_of::<u32>())?)?;
        let listed = listed.as_chunks().0.iter().map(|page| u32::from_le_bytes(*page)).collect();
        let sequence = raw.first.get().checked_add(raw.own.get().into())?;
        Some(Summary { contents, sequence, listed })
    }
}
