//! Cleaning by the sizes of groups.

use alloc::{collections::VecDeque, vec, vec::Vec};

use super::{MAX_CLASSES, Sizes};
use crate::{Class, Greedy, SegmentView, Selector, packed::NONE, select::ByChange};

/// The selector of [`Midas`](super::Midas). It takes the segment that was sealed first of the first group that is too
/// large, otherwise the emptiest of the last group, or, if that has none, of all. The first may have nothing to
/// reclaim: it moves on all the same.
///
/// A group is a class of the placement. Groups that are no more become part of the last. A choice is O(1) but for that;
/// taking a certain segment out is O(segments of its group). 28 bytes a segment.
#[derive(Clone, Debug)]
pub struct Groups {
    sizes: Sizes,
    /// Segments of each group in the order of sealing; those of the last group are in `last`.
    queues: [VecDeque<u32>; MAX_CLASSES as usize],
    last: ByChange<Greedy>,
    /// Valid pages of segments in a queue, otherwise [`NONE`].
    valid: Vec<u32>,
    capacity: u32,
}

impl Groups {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages.
    pub fn new(sizes: Sizes, segments: u32, capacity: u32) -> Self {
        Self {
            sizes,
            queues: Default::default(),
            last: ByChange::new(Greedy, segments, capacity),
            valid: vec![NONE; segments as usize],
            capacity,
        }
    }

    fn queued(&self, id: u32) -> Option<u32> {
        self.valid.get(id as usize).copied().filter(|valid| *valid != NONE)
    }

    fn put(&mut self, id: u32, valid: u32) {
        if let Some(slot) = self.valid.get_mut(id as usize) {
            *slot = valid;
        }
    }

    /// Queues of groups that are no more go to the last.
    fn merge(&mut self, now: u32) {
        for group in usize::from(self.sizes.groups() - 1)..self.queues.len() {
            while let Some(id) = self.queues[group].pop_front() {
                let valid = self.queued(id).unwrap_or(0);
                self.put(id, NONE);
                self.last.sealed(
                    id,
                    &SegmentView { valid, capacity: self.capacity, ..Default::default() },
                    now,
                );
            }
        }
    }

    /// The first of a group that is too large, its open segment counted.
    fn surplus(&mut self) -> Option<u32> {
        let mut groups = (0..).zip(&mut self.queues);
        let sizes = &self.sizes;
        let (_, queue) = groups
            .find(|(group, queue)| sizes.get(*group).is_some_and(|size| queue.len() >= size as usize))?;
        let id = queue.pop_front()?;
        self.put(id, NONE);
        Some(id)
    }

    /// The emptiest in any queue.
    fn emptiest(&mut self) -> Option<u32> {
        let ids = self.queues.iter().flatten().copied();
        let (valid, id) = ids.filter_map(|id| Some((self.queued(id)?, id))).min()?;
        (valid < self.capacity && self.remove(id)).then_some(id)
    }
}

impl Selector for Groups {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        self.remove(id);
        let Class(group) = view.class;
        match self.queues.get_mut(usize::from(group)).filter(|_| self.sizes.get(group).is_some()) {
            Some(queue) if (id as usize) < self.valid.len() => {
                queue.push_back(id);
                self.put(id, view.valid.min(self.capacity));
            }
            _ => self.last.sealed(id, view, now),
        }
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        match self.queued(id) {
            Some(valid) => self.put(id, valid.saturating_sub(1)),
            None => self.last.invalidated(id, now),
        }
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        self.merge(now);
        self.surplus().or_else(|| self.last.take(now)).or_else(|| self.emptiest())
    }

    fn remove(&mut self, id: u32) -> bool {
        if self.queued(id).is_none() {
            return self.last.remove(id);
        }
        self.put(id, NONE);
        self.queues.iter_mut().for_each(|queue| queue.retain(|member| *member != id));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(valid: u32, class: u8) -> SegmentView {
        SegmentView { valid, capacity: 8, class: Class(class), ..Default::default() }
    }

    #[test]
    fn the_first_group_that_is_too_large_gives_its_oldest() {
        let sizes = Sizes::new(&[3, 1]);
        let mut groups = Groups::new(sizes.clone(), 9, 8);
        for (id, valid, class) in [(0, 5, 0), (1, 2, 0), (2, 7, 1), (3, 6, 2), (4, 4, 2)] {
            groups.sealed(id, &view(valid, class), 0);
        }
        assert_eq!([0; 2].map(|_| groups.take(0)), [Some(2), Some(4)]);
        groups.sealed(5, &view(1, 0), 0);
        assert_eq!((groups.take(0), groups.remove(5), groups.remove(5)), (Some(0), true, false));
        groups.invalidated(1, 1);
        sizes.set(&[]);
        assert_eq!([0; 3].map(|_| groups.take(1)), [Some(1), Some(3), None]);
    }

    #[test]
    fn a_queue_gives_when_the_last_group_cannot() {
        let mut groups = Groups::new(Sizes::new(&[9]), 9, 8);
        groups.sealed(0, &view(8, 0), 0);
        assert_eq!(groups.take(0), None);
        groups.sealed(1, &view(7, 0), 0);
        assert_eq!(groups.take(0), Some(1));
    }
}
