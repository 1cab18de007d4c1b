//! The division into groups, as placement and selector share it.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use crate::placement::MAX_CLASSES;

/// Queues at most: the last group has up to four levels.
const QUEUES: u8 = MAX_CLASSES - 4;
/// No segment was taken yet.
const NOBODY: u8 = u8::MAX;

/// The groups of a chain: queues of so many segments each, and a last one that takes the rest, in one level or several.
/// [`Midas`](super::Midas) sets them, [`Groups`](super::Groups) cleans by them; clones are the same plan.
#[derive(Clone, Debug)]
pub struct Plan(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Segments of each queue, its open one included; none after a 0.
    sizes: [AtomicU32; MAX_CLASSES as usize],
    levels: AtomicU8,
    /// Divisions so far.
    version: AtomicU32,
    /// The level of the segment taken last.
    victim: AtomicU8,
    /// Sealed segments of hot pages.
    hot: AtomicU32,
    /// Sealed segments of the last group without a dead page, less a twentieth of the group.
    untouched: AtomicU32,
}

impl Plan {
    /// Queues of these sizes, at most 12 and none after one of 0, and a last group of one level.
    pub fn new(sizes: &[u32]) -> Self {
        let plan = Self(Arc::new(Shared {
            sizes: Default::default(),
            levels: AtomicU8::new(1),
            version: AtomicU32::new(0),
            victim: AtomicU8::new(NOBODY),
            hot: AtomicU32::new(0),
            untouched: AtomicU32::new(0),
        }));
        plan.divide(sizes);
        plan
    }

    /// No queues, and a last group of several levels.
    pub(super) fn undivided(levels: u8) -> Self {
        let plan = Self::new(&[]);
        plan.0.levels.store(levels, Relaxed);
        plan
    }

    /// A new division, with a last group of one level.
    pub(super) fn divide(&self, sizes: &[u32]) {
        for (slot, at) in self.0.sizes.iter().zip(0_u8..) {
            let size = sizes.get(usize::from(at)).filter(|_| at < QUEUES);
            slot.store(size.copied().unwrap_or(0), Relaxed);
        }
        self.0.levels.store(1, Relaxed);
        self.0.version.fetch_add(1, Relaxed);
    }

    /// All queues but the first `left` become part of the last group, which has `levels` levels from now on. A queue of
    /// hot pages alone is none.
    pub(super) fn merge(&self, left: u8, levels: u8) {
        let left = if left < 2 { 0 } else { usize::from(left) };
        self.0.sizes.iter().skip(left).for_each(|slot| slot.store(0, Relaxed));
        self.0.levels.store(levels, Relaxed);
    }

    /// Segments of queue `group`, its open one included; `None` for the last group and those after it.
    pub fn get(&self, group: u8) -> Option<u32> {
        let size = self.0.sizes.get(usize::from(group))?.load(Relaxed);
        (size > 0).then_some(size)
    }

    /// Queues.
    pub fn queues(&self) -> u8 {
        (0..MAX_CLASSES).find(|group| self.get(*group).is_none()).unwrap_or(MAX_CLASSES)
    }

    /// The class of the last group's first level: after the queues, and after that of hot pages.
    pub fn last(&self) -> u8 {
        self.queues().max(1)
    }

    /// Levels of the last group.
    pub fn levels(&self) -> u8 {
        self.0.levels.load(Relaxed)
    }

    pub(super) fn version(&self) -> u32 {
        self.0.version.load(Relaxed)
    }

    /// The level of the segment that is being cleaned; `None` without the selector.
    pub(super) fn victim(&self) -> Option<u8> {
        let level = self.0.victim.load(Relaxed);
        (level != NOBODY).then_some(level)
    }

    pub(super) fn take(&self, level: u8) {
        self.0.victim.store(level, Relaxed);
    }

    pub(super) fn hot(&self) -> u32 {
        self.0.hot.load(Relaxed)
    }

    pub(super) fn untouched(&self) -> u32 {
        self.0.untouched.load(Relaxed)
    }

    pub(super) fn count(&self, hot: u32, untouched: u32) {
        self.0.hot.store(hot, Relaxed);
        self.0.untouched.store(untouched, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_end_at_the_first_zero() {
        let plan = Plan::new(&[3, 4, 0, 5]);
        assert_eq!((plan.queues(), plan.last(), plan.get(1), plan.get(2)), (2, 2, Some(4), None));
        assert_eq!(Plan::new(&[1; 40]).queues(), QUEUES);
    }

    #[test]
    fn a_queue_of_hot_pages_alone_is_merged_too() {
        let plan = Plan::new(&[3, 4, 5]);
        plan.merge(2, 4);
        assert_eq!((plan.queues(), plan.last(), plan.levels()), (2, 2, 4));
        plan.merge(1, 4);
        assert_eq!((plan.queues(), plan.last(), plan.version()), (0, 1, 1));
    }
}
