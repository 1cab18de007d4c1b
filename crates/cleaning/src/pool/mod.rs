//! The best candidates for cleaning, in bounded memory.

mod candidate;

use alloc::vec::Vec;

use crate::{
    SegmentView, Victim,
    victim::{NEVER, rank},
};
use candidate::Candidate;

/// A fixed number of segments with exact valid counts, out of which the cheapest is taken.
///
/// Candidates lie in one array in order of id: a change of a valid count (once per overwritten chunk) is a binary
/// search, and there is no index to pay for. Coming and going (once per erase block) moves half the array on average;
/// taking the best prices every candidate.
///
/// `now` is the write clock. All segments have the same capacity; the one that a view tells is not looked at.
#[derive(Clone, Debug)]
pub struct CandidatePool {
    sorted: Vec<Candidate>,
    limit: usize,
    capacity: u32,
}

impl CandidatePool {
    /// Memory per candidate, in bytes; a pool allocates `limit` times this at once and no more later.
    pub const BYTES_PER_CANDIDATE: usize = size_of::<Candidate>();

    /// An empty pool for at most `limit` candidates, each of which holds `capacity` when full.
    pub fn new(limit: u16, capacity: u32) -> Self {
        let limit = usize::from(limit);
        Self { sorted: Vec::with_capacity(limit), limit, capacity }
    }

    /// Candidates in the pool.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// True if there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// True if segment `id` is in the pool.
    pub fn contains(&self, id: u32) -> bool {
        self.find(id).is_ok()
    }

    /// Offers a closed segment; true if it is in the pool afterwards.
    ///
    /// A segment already in the pool is brought up to date. A full pool drops its dearest candidate for a cheaper
    /// one, by `policy`; that prices every candidate. Erases count up to 65535.
    pub fn offer<V: Victim + ?Sized>(&mut self, policy: &V, now: u32, id: u32, view: &SegmentView) -> bool {
        let new = Candidate::new(id, view, now);
        if let Ok(at) = self.find(id) {
            if let Some(old) = self.sorted.get_mut(at) {
                *old = new;
            }
            return true;
        }
        if self.sorted.len() >= self.limit && !self.make_room(policy, now, &new) {
            return false;
        }
        let at = self.sorted.partition_point(|c| c.id < id);
        self.sorted.insert(at, new);
        true
    }

    /// Segment `id` now holds `valid`, changed at clock `now`; false if it is not in the pool.
    ///
    /// A segment that was refused or dropped earlier may be worth another offer.
    pub fn update(&mut self, id: u32, valid: u32, now: u32) -> bool {
        let found = self.find(id).ok().and_then(|at| self.sorted.get_mut(at));
        found.map(|candidate| candidate.set_valid(valid, now)).is_some()
    }

    /// Takes segment `id` out; false if it is not in the pool.
    pub fn remove(&mut self, id: u32) -> bool {
        self.find(id).map(|at| self.sorted.remove(at)).is_ok()
    }

    /// Takes the cheapest candidate out, as [`choose`](crate::choose) would; `None` if none has anything to reclaim.
    pub fn take_best<V: Victim + ?Sized>(&mut self, policy: &V, now: u32) -> Option<(u32, SegmentView)> {
        let ranks = self.sorted.iter().map(|c| rank(policy, c.id, &c.view(self.capacity, now)));
        let (_, at) = ranks.zip(0..).filter(|(rank, _)| rank.0 != NEVER).min()?;
        let best = self.sorted.remove(at);
        Some((best.id, best.view(self.capacity, now)))
    }

    /// Drops the dearest candidate if `new` is cheaper.
    fn make_room<V: Victim + ?Sized>(&mut self, policy: &V, now: u32, new: &Candidate) -> bool {
        let of = |c: &Candidate| rank(policy, c.id, &c.view(self.capacity, now));
        let dearest = self.sorted.iter().map(of).zip(0..).max();
        let Some((_, at)) = dearest.filter(|(dearest, _)| of(new) < *dearest) else { return false };
        self.sorted.remove(at);
        true
    }

    fn find(&self, id: u32) -> Result<usize, usize> {
        self.sorted.binary_search_by_key(&id, |c| c.id)
    }
}

const _: () = assert!(CandidatePool::BYTES_PER_CANDIDATE == 24);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Greedy};

    const fn view(valid: u32) -> SegmentView {
        SegmentView {
            valid,
            capacity: 64,
            created: 5,
            written: 5,
            invalidated: 5,
            erases: 70_000,
            class: Class(0),
        }
    }

    #[test]
    fn a_full_pool_keeps_the_cheapest() {
        let mut pool = CandidatePool::new(2, 64);
        assert!(pool.offer(&Greedy, 0, 1, &view(30)));
        assert!(pool.offer(&Greedy, 0, 2, &view(20)));
        assert!(!pool.offer(&Greedy, 0, 3, &view(40)));
        assert!(pool.offer(&Greedy, 0, 4, &view(10)));
        assert!(!pool.contains(1));
        assert_eq!(pool.take_best(&Greedy, 0).map(|(id, _)| id), Some(4));
        assert_eq!(pool.take_best(&Greedy, 0).map(|(id, _)| id), Some(2));
        assert!(pool.is_empty());
    }

    #[test]
    fn ages_run_across_the_wrap_of_the_clock() {
        let mut pool = CandidatePool::new(2, 64);
        let class = Class(3);
        pool.offer(&Greedy, 2, 1, &SegmentView { created: 9, written: 7, class, ..view(30) });
        assert!(pool.update(1, 29, u32::MAX));
        let ages = SegmentView { created: 17, written: 15, invalidated: 11, ..view(29) };
        let want = SegmentView { erases: 65_535, class, ..ages };
        assert_eq!(pool.take_best(&Greedy, 10), Some((1, want)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(!CandidatePool::new(0, 64).offer(&Greedy, 0, 1, &view(1)));
    }

    #[test]
    fn full_segments_stay() {
        let mut pool = CandidatePool::new(9, 64);
        assert!(pool.offer(&Greedy, 0, 1, &view(65)));
        assert_eq!(pool.take_best(&Greedy, 0), None);
        assert_eq!(pool.len(), 1);
        assert!(pool.remove(1) && !pool.remove(1) && !pool.update(1, 0, 0));
    }
}
