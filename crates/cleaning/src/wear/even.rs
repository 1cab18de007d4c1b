//! Wear levelled by the choice of victims.
#![expect(
    clippy::cast_precision_loss,
    reason = "estimates; counts are far below 2^24 or may be off a little"
)]

use alloc::collections::VecDeque;

use super::Wear;
use crate::{Class, SegmentView};

/// A less worn segment is cleaned among old ones that cost about the same to clean.
///
/// A segment is old if it has lived longer than victims do on average: its data is cold, whatever its class. The old
/// one is cleaned in place of the chosen victim if the free segment that will be written next is more worn, by more
/// than 2 erases and a thirty-second of its own. Its cold data comes to lie in the worn segment, and it goes into
/// circulation itself. It must be about as empty as old segments are when they are cleaned: a 96th of a segment of live
/// data more is allowed, and another for each erase that it is further behind. So even data that is never written moves
/// in the end. Of several the one farthest below that is taken.
///
/// Hot data (class 0) gets the least worn free segment, all other the most worn; with one segment in reserve there is
/// seldom more than one to choose from. At least one must be in reserve, or there is no free one to judge by.
///
/// 8 bytes for each free segment and none for others; up to 128 views for each cleaning.
#[derive(Clone, Debug)]
pub struct Even {
    /// Erases and number of each, in the order in which they were erased.
    free: VecDeque<(u32, u32)>,
    segments: u32,
    /// The start of the next search.
    start: u32,
    /// Mean age of segments when they are chosen.
    age: f32,
    /// Mean part that lives of the old ones among them.
    live: f32,
}

/// Erases apart that are always allowed.
const APART: f32 = 2.0;

/// One in so many of the erases that is allowed besides.
const PART: f32 = 32.0;

/// One in so many pages of a segment that may live more than usual, for each erase too far apart.
const EXTRA: f32 = 96.0;

/// Weight of the latest in the means.
const LATEST: f32 = 1.0 / 32.0;

/// So many segments are looked at, free or sealed.
const LOOK: u32 = 128;

impl Even {
    /// The rule for the segments 0 to `segments - 1`.
    pub fn new(segments: u32) -> Self {
        Self { free: VecDeque::new(), segments, start: 0, age: 0.0, live: 1.0 }
    }

    fn is_old(&self, view: &SegmentView) -> bool {
        view.created as f32 >= self.age
    }

    /// Learns from a segment that was chosen for its price.
    fn learn(&mut self, chosen: &SegmentView) {
        if self.is_old(chosen) {
            self.live += (used(chosen) - self.live) * LATEST;
        }
        self.age += (chosen.created as f32 - self.age) * LATEST;
    }

    /// The excess of a segment's live data for cleaning it for wear; `None` if it is young or worn.
    fn excess(&self, view: &SegmentView, free: f32) -> Option<f32> {
        let behind = free - free / PART - APART - view.erases as f32;
        let is_candidate = behind > 0.0 && self.is_old(view);
        is_candidate.then(|| used(view) - self.live - (1.0 + behind) / EXTRA)
    }
}

fn used(view: &SegmentView) -> f32 {
    view.valid as f32 / view.capacity.max(1) as f32
}

impl Wear for Even {
    fn freed(&mut self, id: u32, erases: u32) {
        self.free.push_back((erases, id));
    }

    fn allocate(&mut self, class: Class) -> Option<u32> {
        let look = self.free.iter().zip(0..LOOK as usize);
        let (_, at) = match class {
            Class(0) => look.min_by_key(|(entry, _)| **entry),
            _ => look.max_by_key(|(entry, _)| **entry),
        }?;
        self.free.swap_remove_front(at).map(|(_, id)| id)
    }

    fn free(&self) -> u32 {
        u32::try_from(self.free.len()).unwrap_or(u32::MAX)
    }

    fn instead(&mut self, chosen: u32, sealed: &dyn Fn(u32) -> Option<SegmentView>) -> Option<u32> {
        self.learn(&sealed(chosen)?);
        let (free, _) = *self.free.iter().take(LOOK as usize).min()?;
        let look = LOOK.min(self.segments);
        let ids = (self.start..self.start + look).map(|at| at % self.segments);
        let excess = ids.filter_map(|id| Some((self.excess(&sealed(id)?, free as f32)?, id)));
        let best = excess.min_by(|one, other| one.0.total_cmp(&other.0));
        self.start = (self.start + look) % self.segments.max(1);
        best.filter(|(excess, id)| *excess <= 0.0 && *id != chosen).map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A segment of 100 pages, the oldest of the test.
    fn old(valid: u32, erases: u32) -> SegmentView {
        SegmentView { valid, capacity: 100, created: 1000, erases, ..Default::default() }
    }

    /// The segment cleaned in place of segment 0, if old segments have `usual` live pages when they are cleaned.
    fn instead(usual: u32, free: u32, segments: &[SegmentView]) -> Option<u32> {
        let mut rule = Even::new(8);
        rule.freed(7, free);
        let chosen = [old(usual, free)];
        (0..500).for_each(|_| assert_eq!(rule.instead(0, &|id| chosen.get(id as usize).copied()), None));
        rule.instead(0, &|id| chosen.iter().chain(segments).nth(id as usize).copied())
    }

    #[test]
    fn hot_data_gets_the_least_worn() {
        let mut rule = Even::new(3);
        rule.freed(0, 5);
        rule.freed(1, 9);
        rule.freed(2, 7);
        assert_eq!([1, 0, 1, 0].map(|class| rule.allocate(Class(class))), [Some(1), Some(0), Some(2), None]);
    }

    #[test]
    fn every_free_segment_has_its_turn() {
        let mut rule = Even::new(1000);
        (0..1000).for_each(|id| rule.freed(id, 1));
        let mut taken: Vec<u32> =
            (0..1000).filter_map(|at| rule.allocate(Class((at % 2 > 0).into()))).collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..1000));
    }

    #[test]
    fn old_data_moves_into_worn_segments_where_it_costs_nothing() {
        assert_eq!(instead(80, 10, &[old(80, 9), old(80, 5), old(83, 4)]), Some(2));
        assert_eq!(instead(80, 10, &[old(80, 8)]), None);
        assert_eq!(instead(80, 10, &[old(90, 5)]), None);
    }

    #[test]
    fn data_that_is_never_written_moves_in_the_end() {
        assert_eq!(instead(80, 20, &[old(100, 0)]), None);
        assert_eq!(instead(80, 30, &[old(100, 0)]), Some(1));
    }

    #[test]
    fn young_data_is_left_alone() {
        let young = SegmentView { created: 900, ..old(10, 0) };
        assert_eq!(instead(80, 30, &[young]), None);
    }
}
