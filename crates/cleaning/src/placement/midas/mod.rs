//! MiDAS: a chain of groups, their number and sizes following from a model.

mod groups;
mod lives;
mod model;

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Class, Cleaned, MAX_CLASSES, Old, Placement};
pub use groups::Groups;
use lives::Lives;

/// The number of segments that each group of a chain may hold; the last takes the rest. [`Midas`] sets them, [`Groups`]
/// cleans by them; clones are the same sizes.
#[derive(Clone, Debug, Default)]
pub struct Sizes(Arc<[AtomicU32; MAX_CLASSES as usize]>);

impl Sizes {
    /// The sizes of all groups but the last, in segments: 15 at most, and none after one of 0.
    pub fn new(sizes: &[u32]) -> Self {
        let new = Self::default();
        new.set(sizes);
        new
    }

    fn set(&self, sizes: &[u32]) {
        let last = self.0.len() - 1;
        for (at, slot) in self.0.iter().enumerate() {
            let size = sizes.get(at).filter(|_| at < last);
            slot.store(size.copied().unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Segments in group `group`; `None` for the last and those after it.
    pub fn get(&self, group: u8) -> Option<u32> {
        let size = self.0.get(usize::from(group))?.load(Ordering::Relaxed);
        (size > 0).then_some(size)
    }

    /// Groups, the last included.
    pub fn groups(&self) -> u8 {
        (0..MAX_CLASSES).find(|group| self.get(*group).is_none()).map_or(MAX_CLASSES, |last| last + 1)
    }
}

/// The chain of groups of MiDAS (Oh, Kim, Han, Kim, Lee and Noh, FAST 2024). Users write to the first group; survivors
/// of a group go to the next, those of the last stay there. With its selector [`Groups`] each group but the last is a
/// queue of fixed size, and the last is cleaned greedily.
///
/// Sizes. The distribution of update intervals tells the part S(t) of user writes that outlives an age t. A group of g
/// pages that takes in S(T) pages for each user write keeps them for g / S(T) user writes, so it passes on S at the end
/// of it. The share that the last group passes to itself follows in the same way, again and again, from the time that
/// its room lasts. All that is passed on are the copies (the paper's Markov chain). Groups are added before the last,
/// and their sizes changed one after the other, as long as the copies become fewer; after each turnover anew.
///
/// As published but for this. The distribution is a life table, deaths over exposure, in place of counts in a window
/// that are scaled up where they are long. The last group is computed by the same distribution in place of a closed
/// form for hot and cold data. Two parts are left out: the group for the hottest data, found by counters, and the
/// return to fixed groups when valid ratios are unexpected.
///
/// Memory: 4 bytes for each sampled page, of which there are 32768 at most, and 1 KiB. Time: some 0.1 us for the write
/// of a sampled page; some milliseconds for each turnover.
#[derive(Clone, Debug)]
pub struct Midas {
    lives: Lives,
    sizes: Sizes,
    turnover: u32,
    last: u32,
}

impl Midas {
    /// A placement for the pages 0 to `pages - 1`, and the sizes for its selector.
    pub fn new(pages: u32) -> (Self, Sizes) {
        let sizes = Sizes::default();
        (Self { lives: Lives::new(pages), sizes: sizes.clone(), turnover: pages.max(1), last: 0 }, sizes)
    }
}

impl Placement for Midas {
    fn classes(&self) -> u8 {
        self.sizes.groups()
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        self.lives.died(now, page);
        // A first write tells nothing: a store is filled with pages of all kinds alike.
        if old.is_some() {
            self.lives.born(now, page);
        }
        Class(0)
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, from: &Cleaned) -> Class {
        Class(from.segment.class.0.saturating_add(1).min(self.classes() - 1))
    }

    fn trimmed(&mut self, now: u32, page: u32, _old: Old) {
        self.lives.died(now, page);
    }

    fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        if now.wrapping_sub(self.last) < self.turnover {
            return;
        }
        self.last = now;
        let survival = self.lives.survival(now, from.live);
        if let Some(sizes) = model::sizes(&survival, from.room, from.segment.capacity) {
            self.sizes.set(&sizes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    #[test]
    fn survivors_go_down_to_the_last_group() {
        let (mut midas, sizes) = Midas::new(100);
        let copy = |midas: &mut Midas, class| {
            let segment = SegmentView { class: Class(class), ..Default::default() };
            midas.cleaner_copy(0, 0, &Cleaned { segment, ..Default::default() }).0
        };
        assert_eq!((midas.user_write(0, 0, None), copy(&mut midas, 0)), (Class(0), 0));
        sizes.set(&[4, 5]);
        assert_eq!([0, 1, 2, 255].map(|class| copy(&mut midas, class)), [1, 2, 2, 2]);
    }

    #[test]
    fn sizes_end_at_the_first_zero() {
        let sizes = Sizes::new(&[3, 4, 0, 5]);
        assert_eq!((sizes.groups(), sizes.get(1), sizes.get(2)), (3, Some(4), None));
        assert_eq!(Sizes::new(&[1; 40]).groups(), MAX_CLASSES);
    }
}
