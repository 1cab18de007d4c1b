//! Age threshold: of the oldest, the one that age and emptiness together speak for.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::SegmentView;

/// Per cent of the score that age makes.
const AGE_WEIGHT: f64 = 60.0;

/// One in so many segments above the threshold is a candidate.
const CANDIDATES: usize = 5;

/// Candidates at the least.
const FEWEST: usize = 10;

/// The better, the higher: 60 x relative age + 40 x (1 - u), from 0 to 100. `oldest` and `youngest` are ages of segments; one that
/// is younger counts as the youngest.
pub fn age_score(view: &SegmentView, oldest: u32, youngest: u32) -> f64 {
    debug_assert!(view.capacity > 0, "a segment holds something");
    // Where all are of one age, age speaks for none.
    let span = f64::from(oldest.saturating_sub(youngest)).max(1.0);
    let age = f64::from(view.written.saturating_sub(youngest)) / span;
    let free = f64::from(view.reclaimable()) / f64::from(view.capacity);
    AGE_WEIGHT * age + (100.0 - AGE_WEIGHT) * free
}

/// The segment to clean next by F2FS's age threshold (ATGC; Linux 5.10, fs/f2fs/gc.c), or `None` if no segment with anything to reclaim
/// is that much older than the youngest one.
///
/// Of those that are, the oldest fifth (ten at least) are candidates, and the one with the highest [`age_score`] is taken; of two the
/// older, then the lower id. Age runs from the last write, in the unit of `threshold`. Two passes, and 32 bytes for each segment.
pub fn choose_aged<I>(threshold: u32, segments: I) -> Option<u32>
where
    I: IntoIterator<Item = (u32, SegmentView)>,
{
    let mut old: Vec<(u32, SegmentView)> =
        segments.into_iter().filter(|(_, view)| view.reclaimable() > 0).collect();
    let ages = || old.iter().map(|(_, view)| view.written);
    let (oldest, youngest) = (ages().max()?, ages().min()?);
    old.retain(|(_, view)| view.written - youngest >= threshold);
    let order = |(id, view): &(u32, SegmentView)| (Reverse(view.written), *id);
    let count = (old.len() / CANDIDATES).max(FEWEST);
    if count < old.len() {
        old.select_nth_unstable_by_key(count, order);
        old.truncate(count);
    }
    old.sort_unstable_by_key(order);
    let scored = old.iter().map(|(id, view)| (age_score(view, oldest, youngest), *id));
    scored.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn view(valid: u32, written: u32) -> SegmentView {
        SegmentView {
            valid,
            capacity: 100,
            created: written,
            written,
            invalidated: written,
            erases: 0,
            class: crate::Class(0),
        }
    }

    #[test]
    fn only_what_is_older_than_the_threshold_is_taken() {
        let segments = [(1, view(1, 10)), (2, view(90, 109)), (3, view(95, 110))];
        assert_eq!(choose_aged(101, segments), None);
        assert_eq!(choose_aged(100, segments), Some(3));
        assert_eq!(choose_aged(99, segments), Some(2), "nearly as old, and emptier");
        assert_eq!(choose_aged(0, []), None);
    }

    #[test]
    fn age_and_emptiness_are_weighed() {
        // 60 x 80/100 + 40 x 0.6 = 72 against 60 + 40 x 0.2 = 68.
        assert_eq!(choose_aged(0, [(1, view(0, 0)), (2, view(40, 80)), (3, view(80, 100))]), Some(2));
        assert_eq!(choose_aged(0, [(1, view(0, 0)), (2, view(60, 80)), (3, view(80, 100))]), Some(3));
        assert_eq!(choose_aged(0, [(1, view(100, 500)), (2, view(99, 1))]), Some(2), "full ones are left");
    }

    #[test]
    fn candidates_are_the_oldest_fifth() {
        // The empty one is the eleventh oldest of fifty, and of sixty the eleventh of twelve.
        let some = |count: u32| (0..count).map(|id| (id, view(if id == 10 { 0 } else { 99 }, 1000 - id)));
        assert_eq!(choose_aged(0, some(50)), Some(0));
        assert_eq!(choose_aged(0, some(60)), Some(10));
    }
}
