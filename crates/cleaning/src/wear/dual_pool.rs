//! Dual pool.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::{Fifo, Relocation, Wear};
use crate::{Class, SegmentView};

/// Segments are in a hot or in a cold pool. The most worn of the hot pool may have been erased more than a threshold
/// oftener than the least worn of the cold pool. Then the latter's data moves into the former and the two change pools
/// (cold-data migration: Chang, "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007).
///
/// Pools are adjusted as published, by the erases of each segment since it came into its pool. A segment of the cold
/// pool with more than the threshold erases more than any of the hot pool is hot after all. One of the hot pool that is
/// twice the threshold less worn than another is cold. Half of the segments start hot. O(log segments) for each erase,
/// about 60 bytes a segment.
#[derive(Clone, Debug)]
pub struct DualPool {
    threshold: u32,
    free: Fifo,
    hot: Pool,
    cold: Pool,
    /// The state of each segment.
    segments: Vec<Option<Member>>,
    /// The segment erased last.
    last: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    erases: u32,
    /// Erases when it came into its pool.
    base: u32,
    is_hot: bool,
    state: State,
}

/// Only free and sealed segments are in their pool: one that is being written or cleaned may turn out bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Away,
    Free,
    Sealed,
}

/// Members by erases, and by erases since they came.
#[derive(Clone, Debug, Default)]
struct Pool {
    erases: BTreeSet<(u32, u32)>,
    recent: BTreeSet<(u32, u32)>,
}

impl Pool {
    fn insert(&mut self, id: u32, member: Member) {
        self.erases.insert((member.erases, id));
        self.recent.insert((member.erases - member.base, id));
    }

    fn remove(&mut self, id: u32, member: Member) {
        self.erases.remove(&(member.erases, id));
        self.recent.remove(&(member.erases - member.base, id));
    }
}

impl DualPool {
    /// A rule with a threshold in erases for the segments 0 to `segments - 1`.
    pub fn new(threshold: u32, segments: u32) -> Self {
        Self {
            threshold,
            free: Fifo::default(),
            hot: Pool::default(),
            cold: Pool::default(),
            segments: vec![None; segments as usize],
            last: None,
        }
    }

    fn member(&self, id: u32) -> Option<Member> {
        self.segments.get(id as usize).copied().flatten()
    }

    fn pool(&mut self, hot: bool) -> &mut Pool {
        if hot { &mut self.hot } else { &mut self.cold }
    }

    fn put(&mut self, id: u32, after: Member) {
        if let Some(before) = self.member(id).filter(|before| before.state != State::Away) {
            self.pool(before.is_hot).remove(id, before);
        }
        if after.state != State::Away {
            self.pool(after.is_hot).insert(id, after);
        }
        if let Some(slot) = self.segments.get_mut(id as usize) {
            *slot = Some(after);
        }
    }

    /// A segment is in its pool from now on.
    fn enter(&mut self, id: u32, erases: u32, state: State) {
        let is_hot = (id as usize) < self.segments.len() / 2;
        let first = Member { erases, base: erases, is_hot, state };
        self.put(id, self.member(id).map_or(first, |member| Member { erases, state, ..member }));
    }

    fn leave(&mut self, id: u32) {
        if let Some(member) = self.member(id) {
            self.put(id, Member { state: State::Away, ..member });
        }
    }

    fn send(&mut self, id: u32, is_hot: bool) {
        if let Some(member) = self.member(id) {
            self.put(id, Member { is_hot, base: member.erases, ..member });
        }
    }

    fn adjust(&mut self) {
        if let (Some(&(cold, id)), Some(&(hot, _))) = (self.cold.recent.last(), self.hot.recent.first())
            && cold > hot + self.threshold
        {
            self.send(id, true);
        }
        if let (Some(&(least, id)), Some(&(most, _))) = (self.hot.erases.first(), self.hot.erases.last())
            && most - least > self.threshold.saturating_mul(2)
        {
            self.send(id, false);
        }
    }

    /// The least worn of the sealed segments in the cold pool.
    fn least_worn(&self) -> Option<(u32, u32)> {
        let is_sealed = |id| self.member(id).is_some_and(|member| member.state == State::Sealed);
        self.cold.erases.iter().copied().find(|(_, id)| is_sealed(*id))
    }
}

impl Wear for DualPool {
    fn freed(&mut self, id: u32, erases: u32) {
        self.free.freed(id, erases);
        self.enter(id, erases, State::Free);
        self.last = Some(id);
        self.adjust();
    }

    fn allocate(&mut self, class: Class) -> Option<u32> {
        let id = self.free.allocate(class)?;
        self.leave(id);
        Some(id)
    }

    fn free(&self) -> u32 {
        self.free.free()
    }

    fn sealed(&mut self, id: u32, view: &SegmentView) {
        self.enter(id, view.erases, State::Sealed);
    }

    fn unsealed(&mut self, id: u32) {
        self.leave(id);
    }

    fn relocation(&mut self) -> Option<Relocation> {
        let to = self.last.take()?;
        let (most, top) = *self.hot.erases.last()?;
        let (least, from) = self.least_worn()?;
        let due = top == to && most > least.saturating_add(self.threshold);
        if !due || !self.free.take(to) {
            return None;
        }
        self.send(to, false);
        self.send(from, true);
        self.leave(to);
        Some(Relocation { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_hot(erases: u32) -> DualPool {
        let mut rule = DualPool::new(3, 4);
        rule.freed(0, erases);
        rule
    }

    fn is_hot(rule: &DualPool, id: u32) -> bool {
        rule.member(id).unwrap().is_hot
    }

    #[test]
    fn cold_data_moves_into_the_most_worn() {
        let mut rule = with_hot(3);
        rule.sealed(2, &SegmentView::default());
        assert_eq!(rule.relocation(), None);
        rule.freed(0, 4);
        assert_eq!(rule.relocation(), Some(Relocation { from: 2, to: 0 }));
        assert!(!is_hot(&rule, 0) && is_hot(&rule, 2));
    }

    #[test]
    fn segments_that_are_out_of_use_are_in_nobodys_way() {
        let mut rule = with_hot(4);
        // The most worn goes bad when it is cleaned; segment 2 was bad all along.
        rule.sealed(1, &SegmentView { erases: 9, ..Default::default() });
        rule.unsealed(1);
        rule.sealed(3, &SegmentView::default());
        assert_eq!(rule.relocation(), Some(Relocation { from: 3, to: 0 }));
    }

    #[test]
    fn what_wears_in_the_cold_pool_is_hot() {
        let mut rule = with_hot(0);
        rule.freed(3, 5);
        rule.freed(3, 8);
        assert!(!is_hot(&rule, 3));
        rule.freed(3, 9);
        assert!(is_hot(&rule, 3));
    }
}
