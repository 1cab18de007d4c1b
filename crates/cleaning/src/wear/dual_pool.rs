//! Dual pool.

use alloc::{collections::BTreeSet, vec::Vec};

use super::{Fifo, Relocation, Wear};
use crate::{Class, SegmentView};

/// Segments are in a hot or in a cold pool. When the most worn of the hot pool has been erased more than a threshold
/// oftener than the least worn of the cold pool, the latter's data moves into the former and the two change pools
/// (cold-data migration: Chang, "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007).
///
/// Pools are adjusted as published: a segment of the cold pool that was erased since it came there more than the
/// threshold oftener than any of the hot pool was since it came there is hot after all; one of the hot pool that is
/// twice the threshold less worn than another is cold. Half of the segments start hot. O(log segments) for each erase,
/// about 60 bytes a segment.
#[derive(Clone, Debug)]
pub struct DualPool {
    threshold: u32,
    free: Fifo,
    hot: Pool,
    cold: Pool,
    segments: Vec<Member>,
    /// The segment erased last.
    last: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    erases: u32,
    /// Erases when it came into its pool.
    base: u32,
    is_hot: bool,
    is_sealed: bool,
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
    /// With a threshold in erases for the segments 0 to `segments - 1`.
    pub fn new(threshold: u32, segments: u32) -> Self {
        let (mut hot, mut cold) = (Pool::default(), Pool::default());
        let join = |id| {
            let member = Member { is_hot: id < segments / 2, ..Member::default() };
            let pool = if member.is_hot { &mut hot } else { &mut cold };
            pool.insert(id, member);
            member
        };
        let segments = (0..segments).map(join).collect();
        Self { threshold, free: Fifo::default(), hot, cold, segments, last: None }
    }

    fn member(&self, id: u32) -> Member {
        self.segments.get(id as usize).copied().unwrap_or_default()
    }

    fn pool(&mut self, hot: bool) -> &mut Pool {
        if hot { &mut self.hot } else { &mut self.cold }
    }

    fn change(&mut self, id: u32, change: impl FnOnce(&mut Member)) {
        let Some(&before) = self.segments.get(id as usize) else { return };
        let mut after = before;
        change(&mut after);
        self.pool(before.is_hot).remove(id, before);
        self.pool(after.is_hot).insert(id, after);
        if let Some(slot) = self.segments.get_mut(id as usize) {
            *slot = after;
        }
    }

    fn send(&mut self, id: u32, hot: bool) {
        self.change(id, |member| (member.is_hot, member.base) = (hot, member.erases));
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
}

impl Wear for DualPool {
    fn freed(&mut self, id: u32, erases: u32) {
        self.free.freed(id, erases);
        self.change(id, |member| member.erases = erases);
        self.last = Some(id);
        self.adjust();
    }

    fn allocate(&mut self, class: Class) -> Option<u32> {
        self.free.allocate(class)
    }

    fn free(&self) -> u32 {
        self.free.free()
    }

    fn sealed(&mut self, id: u32, _view: &SegmentView) {
        self.change(id, |member| member.is_sealed = true);
    }

    fn unsealed(&mut self, id: u32) {
        self.change(id, |member| member.is_sealed = false);
    }

    fn relocation(&mut self) -> Option<Relocation> {
        let to = self.last.take()?;
        let (most, top) = *self.hot.erases.last()?;
        // Some segments are never sealed: bad ones, and those that are used otherwise.
        let (least, from) = *self.cold.erases.iter().find(|(_, id)| self.member(*id).is_sealed)?;
        let due = top == to && most > least.saturating_add(self.threshold);
        if !due || !self.free.take(to) {
            return None;
        }
        self.send(to, false);
        self.send(from, true);
        Some(Relocation { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_data_moves_into_the_most_worn() {
        let mut rule = DualPool::new(3, 4);
        rule.sealed(2, &SegmentView::default());
        rule.freed(0, 3);
        assert_eq!(rule.relocation(), None);
        rule.freed(0, 4);
        assert_eq!(rule.relocation(), Some(Relocation { from: 2, to: 0 }));
        assert_eq!([0, 2].map(|id| rule.member(id).is_hot), [false, true]);
    }

    #[test]
    fn a_segment_that_is_never_used_is_in_nobodys_way() {
        let mut rule = DualPool::new(3, 4);
        rule.sealed(3, &SegmentView::default());
        rule.freed(0, 4);
        assert_eq!(rule.relocation(), Some(Relocation { from: 3, to: 0 }));
    }

    #[test]
    fn what_wears_in_the_cold_pool_is_hot() {
        let mut rule = DualPool::new(3, 4);
        rule.freed(3, 3);
        assert!(!rule.member(3).is_hot);
        rule.freed(3, 4);
        assert!(rule.member(3).is_hot);
    }
}
