//! Cleaning by the sizes of groups.

use alloc::{collections::VecDeque, vec, vec::Vec};

use super::Plan;
use crate::{
    Class, GarbageAge, SegmentView, Selector,
    packed::{NONE, Packed},
    placement::MAX_CLASSES,
    select::Cells,
};

/// The selector of [`Midas`](super::Midas). It takes the segment that was sealed first of the first queue that is too
/// large. Otherwise it takes the one of the last group with the highest sqrt(age) x (1 - u) / u, age since sealing, or,
/// if that has none, the emptiest of all. The first may have nothing to reclaim: it moves on all the same.
///
/// A queue is a class of the placement; the classes after the queues are the levels of the last group. Without queues
/// hot pages are part of it, too. A choice is O(pages of a segment); taking a certain segment out is O(segments of its
/// queue). 74 bytes a segment.
#[derive(Clone, Debug)]
pub struct Groups {
    plan: Plan,
    version: u32,
    /// Segments of each queue in the order of sealing.
    queues: [VecDeque<u32>; MAX_CLASSES as usize],
    last: Cells<GarbageAge>,
    places: Vec<Place>,
    /// Valid pages, and the clock of sealing, of all segments that are in.
    valid: Vec<u32>,
    sealed: Packed,
    capacity: u32,
    /// Segments of hot pages, those in the last group, and those of these without a dead page.
    hot: u32,
    in_last: u32,
    untouched: u32,
}

/// The group of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Out,
    Queue(u8),
    /// Hot, in the last group.
    Hot,
    /// A level of the last group.
    Level(u8),
}

impl Place {
    fn is_last(self) -> bool {
        matches!(self, Self::Hot | Self::Level(_))
    }

    fn is_hot(self) -> bool {
        matches!(self, Self::Hot | Self::Queue(0))
    }
}

impl Groups {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(plan: Plan, segments: u32, capacity: u32) -> Self {
        Self {
            version: plan.version(),
            plan,
            queues: Default::default(),
            last: Cells::new(GarbageAge::new(0), segments, capacity),
            places: vec![Place::Out; segments as usize],
            valid: vec![0; segments as usize],
            sealed: Packed::new(segments),
            capacity,
            hot: 0,
            in_last: 0,
            untouched: 0,
        }
    }

    fn place(&self, id: u32) -> Place {
        self.places.get(id as usize).copied().unwrap_or(Place::Out)
    }

    fn valid(&self, id: u32) -> u32 {
        self.valid.get(id as usize).copied().unwrap_or(0)
    }

    /// Changes the place of a segment, in all but the queues.
    fn put(&mut self, id: u32, place: Place, now: u32) {
        let Some(slot) = self.places.get_mut(id as usize) else { return };
        let old = core::mem::replace(slot, place);
        let is_untouched = self.valid(id) == self.capacity;
        for (place, sign) in [(old, u32::MAX), (place, 1)] {
            let count = |is: bool| if is { sign } else { 0 };
            self.hot = self.hot.wrapping_add(count(place.is_hot()));
            self.in_last = self.in_last.wrapping_add(count(place.is_last()));
            self.untouched = self.untouched.wrapping_add(count(place.is_last() && is_untouched));
        }
        match (old.is_last(), place.is_last()) {
            (true, false) => _ = self.last.remove(id),
            (false, true) => {
                let age = now.wrapping_sub(self.sealed.get(id));
                let (valid, capacity) = (self.valid(id), self.capacity);
                let ages = SegmentView { created: age, written: age, invalidated: age, ..Default::default() };
                self.last.sealed(id, &SegmentView { valid, capacity, ..ages }, now);
            }
            _ => {}
        }
        self.plan.count(self.hot, self.untouched.saturating_sub(self.in_last / 20));
    }

    /// Does what the plan has come to be.
    fn follow(&mut self, now: u32) {
        let queues = self.plan.queues();
        for group in queues..MAX_CLASSES {
            let place = if group == 0 { Place::Hot } else { Place::Level(0) };
            while let Some(id) = self.queues[usize::from(group)].pop_front() {
                self.put(id, place, now);
            }
        }
        if self.version == self.plan.version() {
            return;
        }
        self.version = self.plan.version();
        if queues > 0 {
            self.divide(now);
        }
        for group in 0..queues {
            while self.plan.get(group).is_some_and(|size| self.queue(group).len() >= size as usize)
                && let Some(id) = self.queue(group).pop_front()
            {
                self.put(id, Place::Level(0), now);
            }
        }
    }

    /// Makes the last group one level, and a queue of hot segments that are there.
    fn divide(&mut self, now: u32) {
        let mut hot = Vec::new();
        for (id, place) in (0..).zip(&mut self.places) {
            match place {
                Place::Hot => hot.push((now.wrapping_sub(self.sealed.get(id)), id)),
                Place::Level(level) => *level = 0,
                _ => {}
            }
        }
        hot.sort_unstable_by(|one, other| other.cmp(one));
        for (_, id) in hot {
            self.put(id, Place::Queue(0), now);
            self.queue(0).push_back(id);
        }
    }

    fn queue(&mut self, group: u8) -> &mut VecDeque<u32> {
        &mut self.queues[usize::from(group.min(MAX_CLASSES - 1))]
    }

    /// The first of a queue that is too large, its open segment counted.
    fn surplus(&mut self) -> Option<u32> {
        let plan = self.plan.clone();
        let is_large = |group: &u8| {
            plan.get(*group).is_some_and(|size| self.queues[usize::from(*group)].len() >= size as usize)
        };
        let group = (0..plan.queues()).find(is_large)?;
        self.queue(group).front().copied()
    }

    /// The emptiest in any queue.
    fn emptiest(&self) -> Option<u32> {
        let ids = self.queues.iter().flatten().copied();
        let (valid, id) = ids.map(|id| (self.valid(id), id)).min()?;
        (valid < self.capacity).then_some(id)
    }
}

impl Selector for Groups {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        self.remove(id);
        self.follow(now);
        let Some(valid) = self.valid.get_mut(id as usize) else { return };
        *valid = view.valid.min(self.capacity);
        self.sealed.set(id, now.wrapping_sub(view.written));
        let Class(class) = view.class;
        let (last, levels) = (self.plan.last(), self.plan.levels());
        if self.plan.get(class).is_some() {
            self.queue(class).push_back(id);
            self.put(id, Place::Queue(class), now);
        } else if class < last {
            self.put(id, Place::Hot, now);
        } else {
            self.put(id, Place::Level((class - last).min(levels.saturating_sub(1))), now);
        }
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        let place = self.place(id);
        if place == Place::Out {
            return;
        }
        if let Some(valid) = self.valid.get_mut(id as usize) {
            self.untouched -= u32::from(place.is_last() && *valid == self.capacity);
            *valid = valid.saturating_sub(1);
        }
        if place.is_last() {
            self.last.invalidated(id, now);
        }
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        self.follow(now);
        let id = self.surplus().or_else(|| self.last.take(now)).or_else(|| self.emptiest())?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let place = self.place(id);
        let level = match place {
            Place::Out => return false,
            Place::Hot => 0,
            Place::Queue(group) => {
                self.queue(group).retain(|member| *member != id);
                group
            }
            Place::Level(level) => self.plan.last() + level,
        };
        self.plan.take(level);
        self.put(id, Place::Out, 0);
        self.sealed.set(id, NONE);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(valid: u32, class: u8) -> SegmentView {
        SegmentView { valid, capacity: 8, class: Class(class), ..Default::default() }
    }

    fn sealed(groups: &mut Groups, segments: &[(u32, u32, u8)]) {
        for (now, (id, valid, class)) in (0..).zip(segments) {
            groups.sealed(*id, &view(*valid, *class), now);
        }
    }

    #[test]
    fn the_first_queue_that_is_too_large_gives_its_oldest() {
        let plan = Plan::new(&[3, 1]);
        let mut groups = Groups::new(plan.clone(), 9, 8);
        sealed(&mut groups, &[(0, 5, 0), (1, 2, 0), (2, 7, 1), (3, 6, 2), (4, 4, 2)]);
        assert_eq!([0; 2].map(|_| (groups.take(9), plan.victim())), [(Some(2), Some(1)), (Some(4), Some(2))]);
        groups.sealed(5, &view(1, 0), 9);
        assert_eq!((groups.take(9), groups.remove(5), groups.remove(5)), (Some(0), true, false));
        groups.invalidated(1, 10);
        plan.merge(0, 4);
        assert_eq!([0; 3].map(|_| groups.take(10)), [Some(1), Some(3), None]);
    }

    #[test]
    fn a_queue_gives_when_the_last_group_cannot() {
        let mut groups = Groups::new(Plan::new(&[9]), 9, 8);
        groups.sealed(0, &view(8, 0), 0);
        assert_eq!(groups.take(0), None);
        groups.sealed(1, &view(7, 0), 0);
        assert_eq!(groups.take(0), Some(1));
    }

    #[test]
    fn levels_and_hot_segments_survive_merges() {
        let plan = Plan::undivided(4);
        let mut groups = Groups::new(plan.clone(), 9, 8);
        sealed(&mut groups, &[(0, 8, 0), (1, 7, 1), (2, 6, 3), (3, 8, 4)]);
        assert_eq!((plan.hot(), plan.untouched()), (1, 2));
        assert_eq!((groups.take(9), plan.victim()), (Some(2), Some(3)));
        // A queue of hot segments, another of two, and the rest.
        plan.divide(&[1, 3]);
        assert_eq!((groups.take(9), plan.victim()), (Some(1), Some(2)));
        assert_eq!((plan.hot(), groups.place(0), groups.place(3)), (0, Place::Level(0), Place::Level(0)));
        sealed(&mut groups, &[(4, 8, 0), (5, 8, 1), (6, 8, 1)]);
        plan.merge(0, 4);
        groups.invalidated(4, 9);
        assert_eq!((groups.take(9), plan.victim(), groups.place(6)), (Some(4), Some(0), Place::Level(0)));
    }
}
