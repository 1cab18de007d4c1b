//! Rules that mind more than the age since the last change.

use alloc::{collections::BinaryHeap, vec, vec::Vec};
use core::cmp::Reverse;

use super::{Selector, clock::Clock, heaps::Heaps};
use crate::{Class, SegmentView, Victim, packed::NONE, victim::NEVER};

/// A rule under which, of the segments of one group with equal valid counts, the one with the lowest key is the
/// cheapest at any time, as long as none of them changes its group.
pub trait Grouped: Victim {
    /// Number of groups, at least 1.
    fn groups(&self) -> u32 {
        1
    }

    /// The group of a segment, below their number.
    fn group(&self, _view: &SegmentView) -> u32 {
        0
    }

    /// [`SegmentView::created`] at which the segment leaves its group by age; `None` if it does not.
    fn leaves_at(&self, _view: &SegmentView) -> Option<u32> {
        None
    }

    /// Whether the key is that of erases rather than that of the clock of the last write.
    fn by_erases(&self) -> bool {
        false
    }

    /// Told of the erase counts of every segment sealed, for rules that weigh them against the extremes.
    fn saw(&mut self, _id: u32, _erases: u32) {}
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// [`NONE`] if the segment is not in.
    valid: u32,
    group: u32,
    erases: u32,
    class: Class,
    created: u64,
    written: u64,
}

/// Exact selection for a [`Grouped`] rule.
///
/// A heap for each pair of group and valid count. A change is O(1) or, if it takes the top of a heap, O(log n)
/// amortised; a choice prices the top of each heap, so at most groups times `capacity` segments. 60 bytes a segment.
#[derive(Clone, Debug)]
pub struct Cells<R> {
    rule: R,
    capacity: u32,
    clock: Clock,
    members: Vec<Member>,
    heaps: Heaps,
    /// The times when members leave their groups; entries of members that changed since are stale.
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<R: Grouped> Cells<R> {
    /// Cells for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(rule: R, segments: u32, capacity: u32) -> Self {
        let cells = rule.groups().saturating_mul(capacity.saturating_add(1));
        let out = Member { valid: NONE, ..Member::default() };
        Self {
            rule,
            capacity,
            clock: Clock::default(),
            members: vec![out; segments as usize],
            heaps: Heaps::new(segments, cells),
            leaving: BinaryHeap::new(),
        }
    }

    fn member(&self, id: u32) -> Option<Member> {
        self.members.get(id as usize).copied().filter(|member| member.valid != NONE)
    }

    fn cell(&self, member: &Member) -> u32 {
        member.group * (self.capacity + 1) + member.valid
    }

    fn view(&self, member: &Member) -> SegmentView {
        let written = self.clock.age(member.written);
        SegmentView {
            valid: member.valid,
            capacity: self.capacity,
            created: self.clock.age(member.created),
            written,
            invalidated: written,
            erases: member.erases,
            class: member.class,
        }
    }

    fn insert(&mut self, id: u32, member: Member) {
        let key = match self.rule.by_erases() {
            true => member.erases.into(),
            false => member.written,
        };
        self.heaps.push(self.cell(&member), id, key);
        if let Some(slot) = self.members.get_mut(id as usize) {
            *slot = member;
        }
    }

    /// Puts a member into the group that its age calls for, and notes when it leaves that.
    fn regroup(&mut self, id: u32, mut member: Member) {
        let view = self.view(&member);
        member.group = self.rule.group(&view).min(self.rule.groups() - 1);
        if let Some(age) = self.rule.leaves_at(&view) {
            self.leaving.push(Reverse((member.created + u64::from(age), id)));
        }
        self.insert(id, member);
    }

    /// Moves on members at the end of their time in their group.
    fn advance(&mut self, now: u32) {
        self.clock.advance(now);
        while let Some(&Reverse((due, id))) = self.leaving.peek() {
            if due > self.clock.time() {
                break;
            }
            self.leaving.pop();
            let Some(member) = self.member(id) else { continue };
            // It is another life's entry if the segment is too young for it.
            if self.rule.group(&self.view(&member)) != member.group {
                self.heaps.remove(self.cell(&member), id);
                self.regroup(id, member);
            }
        }
    }

    fn best(&self) -> Option<u32> {
        let cells =
            (0..self.rule.groups()).flat_map(|group| (0..self.capacity).map(move |valid| (group, valid)));
        let tops = cells.map(|(group, valid)| self.heaps.top(group * (self.capacity + 1) + valid));
        let priced = tops.filter_map(|id| Some((self.rule.cost(&self.view(&self.member(id)?)), id)));
        priced.filter(|(cost, _)| *cost != NEVER).min().map(|(_, id)| id)
    }
}

impl<R: Grouped> Selector for Cells<R> {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        self.remove(id);
        self.advance(now);
        self.rule.saw(id, view.erases);
        let member = Member {
            valid: view.valid.min(self.capacity),
            group: 0,
            erases: view.erases,
            class: view.class,
            created: self.clock.since(view.created),
            written: self.clock.since(view.written),
        };
        self.regroup(id, member);
    }

    fn invalidated(&mut self, id: u32, _now: u32) {
        let Some(member) = self.member(id).filter(|member| member.valid > 0) else { return };
        self.heaps.remove(self.cell(&member), id);
        self.insert(id, Member { valid: member.valid - 1, ..member });
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        self.advance(now);
        let id = self.best()?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let Some(member) = self.member(id) else { return false };
        self.heaps.remove(self.cell(&member), id);
        if let Some(slot) = self.members.get_mut(id as usize) {
            slot.valid = NONE;
        }
        true
    }
}
