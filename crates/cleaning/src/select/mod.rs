//! Finding the best victim without looking at every segment.

mod age_threshold;
mod by_change;
mod cells;
mod chains;
mod clock;
mod declining_cost;
mod heaps;
mod pcmcia;
mod queue;
mod random_of;
mod round_robin;
mod second_chance;
mod stock;
mod windowed;

use alloc::boxed::Box;

pub use age_threshold::AgeThreshold;
pub use by_change::ByChange;
pub use cells::{Cells, Grouped};
pub use declining_cost::DecliningCost;
pub use pcmcia::Pcmcia;
pub use queue::Queue;
pub use random_of::RandomOf;
pub use round_robin::RoundRobin;
pub use second_chance::SecondChance;
pub use windowed::Windowed;

use crate::SegmentView;

/// A set of sealed segments out of which a rule takes its victims.
///
/// Segments are numbered from 0, all have the same capacity, and both bounds are known when the selector is built;
/// segments and counts outside them are ignored. `now` is the write clock and never runs backwards.
pub trait Selector {
    /// Segment `id` was written to the end: it may be cleaned from now on. A segment already in is brought up to date.
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32);

    /// One page of segment `id` died. Nothing happens if the segment is not in, so open heads need no special care.
    fn invalidated(&mut self, id: u32, now: u32);

    /// Takes the segment to clean next out; `None` if no segment has anything to reclaim.
    fn take(&mut self, now: u32) -> Option<u32>;

    /// Takes segment `id` out; false if it is not in.
    fn remove(&mut self, id: u32) -> bool;
}

impl<S: Selector + ?Sized> Selector for Box<S> {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        (**self).sealed(id, view, now);
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        (**self).invalidated(id, now);
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        (**self).take(now)
    }

    fn remove(&mut self, id: u32) -> bool {
        (**self).remove(id)
    }
}
