//! Age threshold: the old, weighed by age and emptiness.

use alloc::{vec, vec::Vec};

use super::{Selector, chains::Chains, clock::Clock, stock::Stock};
use crate::{SegmentView, packed::NONE, victim::age_score};

/// F2FS's age-threshold cleaning (ATGC; Linux 5.10, fs/f2fs/gc.c): among the oldest fifth of the sealed segments (ten
/// at least) the one with the highest 60 x relative age + 40 x (1 - u).
///
/// Age runs from the last write; it is relative to the span from the youngest to the oldest sealed segment. Only
/// segments older than the threshold are candidates; when none is, the least full segment of that many oldest is taken,
/// where [`choose_aged`](crate::victim::choose_aged), which is Linux's rule to the letter, takes none.
/// A change is O(1), a choice O(segments / 5). 20 bytes a segment.
#[derive(Clone, Debug)]
pub struct AgeThreshold {
    threshold: u32,
    chain: Chains,
    stock: Stock,
    clock: Clock,
    written: Vec<u64>,
}

/// One in so many sealed segments is a candidate.
const CANDIDATES: u32 = 5;

/// Candidates at the least.
const FEWEST: u32 = 10;

impl AgeThreshold {
    /// A selector with a threshold in user writes for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(threshold: u32, segments: u32, capacity: u32) -> Self {
        Self {
            threshold,
            chain: Chains::new(segments, 1),
            stock: Stock::new(segments, capacity),
            clock: Clock::default(),
            written: vec![0; segments as usize],
        }
    }

    fn age(&self, id: u32) -> u32 {
        self.written.get(id as usize).map_or(0, |written| self.clock.age(*written))
    }

    /// Sealed segments with something to reclaim among the oldest, from the oldest on.
    fn oldest(&self) -> impl Iterator<Item = (u32, SegmentView)> {
        let count = (self.stock.members() / CANDIDATES).max(FEWEST);
        let first = Some(self.chain.first(0)).filter(|id| *id != NONE);
        let all = core::iter::successors(first, |id| Some(self.chain.after(*id)).filter(|id| *id != NONE));
        let views = all.filter_map(|id| {
            let (valid, capacity) = (self.stock.valid(id)?, self.stock.capacity());
            (valid < capacity)
                .then(|| (id, SegmentView { valid, capacity, written: self.age(id), ..Default::default() }))
        });
        views.take(count as usize)
    }

    fn best(&self) -> Option<u32> {
        let (oldest, youngest) = (self.age(self.chain.first(0)), self.age(self.chain.last(0)));
        let old = self.oldest().filter(|(_, view)| view.written >= self.threshold);
        let scored = old.map(|(id, view)| (age_score(&view, oldest, youngest), id));
        let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, id)| id).or_else(|| self.oldest().min_by_key(|(_, view)| view.valid).map(|(id, _)| id))
    }
}

impl Selector for AgeThreshold {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        self.remove(id);
        self.clock.advance(now);
        if self.stock.insert(id, view.valid) {
            self.chain.push(0, id);
            if let Some(slot) = self.written.get_mut(id as usize) {
                *slot = self.clock.since(view.written);
            }
        }
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        self.stock.invalidated(id);
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        self.clock.advance(now);
        let id = self.best()?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let was = self.stock.remove(id).is_some();
        if was {
            self.chain.remove(0, id);
        }
        was
    }
}
