//! Selection by rules that use no age but that since the last change.

use super::{Selector, chains::Chains};
use crate::{
    SegmentView, Victim,
    packed::{NONE, Packed},
    victim::NEVER,
};

/// Exact selection for a rule that uses a segment's valid count, its capacity and
/// [`invalidated`](SegmentView::invalidated), and has a cost that never rises with that age.
///
/// One list for each valid count: a change moves a segment to the end of another list, so lists are in order of the
/// last change and only the first of each can win. A change is O(1); a choice prices at most `capacity` segments. Of
/// segments at the same cost the one with fewer valid pages wins, then the one that changed first. 16 bytes a segment.
#[derive(Clone, Debug)]
pub struct ByChange<V> {
    rule: V,
    capacity: u32,
    chains: Chains,
    /// The list a segment is in.
    valid: Packed,
    /// The clock of its last change.
    changed: Packed,
    /// No list before this has a member.
    lowest: u32,
}

impl<V: Victim> ByChange<V> {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(rule: V, segments: u32, capacity: u32) -> Self {
        let chains = Chains::new(segments, capacity.saturating_add(1));
        let (valid, changed) = (Packed::new(segments), Packed::new(segments));
        Self { rule, capacity, chains, valid, changed, lowest: capacity }
    }

    fn insert(&mut self, id: u32, valid: u32, now: u32) {
        self.chains.push(valid, id);
        self.valid.set(id, valid);
        self.changed.set(id, now);
        self.lowest = self.lowest.min(valid);
    }

    fn cost(&self, id: u32, valid: u32, now: u32) -> u64 {
        let age = now.wrapping_sub(self.changed.get(id));
        self.rule.cost(&SegmentView {
            valid,
            capacity: self.capacity,
            created: age,
            written: age,
            invalidated: age,
            ..SegmentView::default()
        })
    }

    fn best(&mut self, now: u32) -> Option<u32> {
        while self.lowest < self.capacity && self.chains.first(self.lowest) == NONE {
            self.lowest += 1;
        }
        let mut best = (NEVER, NONE);
        for valid in self.lowest..self.capacity {
            let id = self.chains.first(valid);
            if id == NONE {
                continue;
            }
            let cost = self.cost(id, valid, now);
            if cost < best.0 {
                best = (cost, id);
            }
            if !self.rule.minds_age() {
                break;
            }
        }
        (best.1 != NONE).then_some(best.1)
    }
}

impl<V: Victim> Selector for ByChange<V> {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        self.remove(id);
        let changed = now.wrapping_sub(view.invalidated);
        self.insert(id, view.valid.min(self.capacity), changed);
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        let valid = self.valid.get(id);
        if valid != NONE && valid > 0 {
            self.chains.remove(valid, id);
            self.insert(id, valid - 1, now);
        }
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        let id = self.best(now)?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let valid = self.valid.get(id);
        if valid == NONE {
            return false;
        }
        self.chains.remove(valid, id);
        self.valid.set(id, NONE);
        true
    }
}
