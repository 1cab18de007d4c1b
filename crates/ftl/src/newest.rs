//! The age of the copies that the table points to, during the replay of a start. It follows from the numbers of the
//! pages met, for there are fewer pages than logical blocks.

use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};

use crate::shape::Place;

/// The pages that were met, and the blocks in them.
pub(crate) struct Newest {
    /// The first sequence number that is replayed.
    since: u64,
    /// A bit for each logical block: a page that was met holds it.
    met: Vec<u64>,
    /// Sequence numbers of the pages of each segment met; an unreadable page has that of the one before.
    pages: BTreeMap<u32, Box<[u64]>>,
    /// Sequence numbers of unreadable pages with known contents.
    lost: BTreeMap<Place, u64>,
    /// The highest sequence number of all.
    highest: u64,
}

impl Newest {
    pub(crate) fn new(logical_blocks: u32, since: u64) -> Newest {
        let words = logical_blocks.div_ceil(u64::BITS) as usize;
        let met = vec![0; words];
        Newest { since, met, pages: BTreeMap::new(), lost: BTreeMap::new(), highest: 0 }
    }

    /// A segment was met.
    pub(crate) fn add_segment(&mut self, block: u32, sequences: &[u64]) {
        self.pages.insert(block, sequences.into());
    }

    /// A page with this sequence number was met.
    pub(crate) fn see(&mut self, sequence: u64) {
        self.highest = self.highest.max(sequence);
    }

    /// The highest sequence number that was met.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Takes an unreadable page with known contents.
    pub(crate) fn add_lost(&mut self, place: Place, sequence: u64) {
        self.lost.insert(place, sequence);
    }

    /// The table points to a copy of this block in a page that was met.
    pub(crate) fn meet(&mut self, lba: u32) {
        if let Some(word) = self.met.get_mut((lba / u64::BITS) as usize) {
            *word |= 1 << (lba % u64::BITS);
        }
    }

    /// The sequence number of the copy of a block that the table says is here; 0 if the checkpoint knew it.
    pub(crate) fn sequence(&self, lba: u32, place: Place) -> u64 {
        let word = self.met.get((lba / u64::BITS) as usize).copied();
        if word.is_none_or(|word| word & 1 << (lba % u64::BITS) == 0) {
            return 0;
        }
        let page = || self.pages.get(&place.block)?.get(place.index as usize);
        let sequence = self.lost.get(&place).or_else(page).copied();
        debug_assert!(sequence.is_some(), "block {lba} was met in a page that was not");
        sequence.unwrap_or(u64::MAX)
    }

    /// The sequence number of the last readable page of its segment up to this one; 0 if there is none.
    pub(crate) fn last_until(&self, place: Place) -> u64 {
        let pages = self.pages.get(&place.block);
        pages.and_then(|pages| pages.get(place.index as usize).or(pages.last())).copied().unwrap_or(0)
    }

    /// True if a readable page was programmed behind this one in its segment.
    pub(crate) fn has_behind(&self, place: Place) -> bool {
        let pages = self.pages.get(&place.block).and_then(|pages| pages.get(place.index as usize..));
        let Some((own, behind)) = pages.and_then(<[u64]>::split_first) else { return false };
        behind.iter().any(|sequence| sequence > own && *sequence >= self.since)
    }

    /// Pages with numbers above `bound`, with their places; without those that cannot be read.
    pub(crate) fn above(&self, bound: u64) -> Vec<(u64, Place)> {
        let mut above = Vec::new();
        for (block, sequences) in &self.pages {
            let mut last = bound;
            for (index, sequence) in (0..).zip(sequences) {
                if *sequence > last && *sequence >= self.since {
                    above.push((*sequence, Place { block: *block, index }));
                    last = *sequence;
                }
            }
        }
        above.sort_unstable_by_key(|(sequence, _)| *sequence);
        above
    }
}
