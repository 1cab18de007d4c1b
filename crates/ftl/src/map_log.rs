//! The segments that hold leaves of the translation table: how many that count lie in each, and which is emptied next.
//!
//! No victim rule sees them. A leaf counts where the table says it is, and where the newest checkpoint says it is: a
//! segment is free only after a checkpoint that needs nothing in it.

use alloc::vec::Vec;

use crate::layout::count32;
use crate::shape::Shape;

/// A segment with leaves.
#[derive(Clone, Copy, Debug)]
struct MapSegment {
    block: u32,
    /// Leaves that lie here, as the table says.
    live: u32,
    /// It is emptied before all others: a program failed, or its bits are near the limit of ECC.
    is_weak: bool,
    /// A program failed in it.
    is_bad: bool,
}

/// The segment that is being filled.
#[derive(Clone, Copy, Debug)]
struct MapHead {
    block: u32,
    /// The next page.
    index: u32,
    /// Pages before this one are promised by a checkpoint.
    kept: u32,
}

/// The segments.
#[derive(Clone, Debug)]
pub(crate) struct MapLog {
    segments: Vec<MapSegment>,
    head: Option<MapHead>,
    /// The number of segments set apart.
    most: u32,
}

impl MapLog {
    /// An empty log with so many segments set apart.
    pub(crate) fn new(most: u32) -> MapLog {
        MapLog { segments: Vec::new(), head: None, most }
    }

    /// True if leaves are written at all.
    pub(crate) fn is_used(&self) -> bool {
        self.most > 0
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
        self.head = None;
    }

    /// True if a segment is one of them.
    pub(crate) fn holds(&self, block: u32) -> bool {
        self.segments.iter().any(|segment| segment.block == block)
    }

    /// All of them.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = u32> {
        self.segments.iter().map(|segment| segment.block)
    }

    /// Segments that are set apart and not taken yet. More may be taken than that, where programs failed.
    pub(crate) fn untaken(&self) -> u32 {
        self.most.saturating_sub(count32(self.segments.len()))
    }

    /// True if the segments that are set apart are nearly all taken.
    fn is_scarce(&self) -> bool {
        self.untaken() <= 1 + self.most / 8
    }

    fn change(&mut self, block: u32, change: impl FnOnce(&mut MapSegment)) {
        let segment = self.segments.iter_mut().find(|segment| segment.block == block);
        debug_assert!(segment.is_some(), "segment {block} holds no leaves");
        segment.map(change);
    }

    /// A leaf lies in this segment.
    pub(crate) fn add(&mut self, block: u32) {
        if !self.holds(block) {
            self.segments.push(MapSegment { block, live: 0, is_weak: false, is_bad: false });
        }
        self.change(block, |segment| segment.live += 1);
    }

    /// A leaf lies in this segment no more.
    pub(crate) fn remove(&mut self, block: u32) {
        self.change(block, |segment| segment.live -= 1);
    }

    /// An erased segment is filled next.
    pub(crate) fn open(&mut self, block: u32) {
        debug_assert!(self.head.is_none() && !self.holds(block), "segment {block} is taken");
        self.segments.push(MapSegment { block, live: 0, is_weak: false, is_bad: false });
        self.head = Some(MapHead { block, index: 0, kept: 0 });
    }

    /// The segment that is being filled and `count` pages of it, or as many as there are, that put no promised page at
    /// risk by their programs.
    pub(crate) fn next(&self, shape: &Shape, count: usize) -> Option<(u32, Vec<u32>)> {
        let MapHead { block, index, kept } = self.head?;
        let safe = |index: u32| shape.medium.next_safe(index, kept).filter(|index| *index < shape.pages);
        let pages = core::iter::successors(safe(index), |index| safe(index + 1));
        Some((block, pages.take(count).collect()))
    }

    /// Pages before this one are programmed.
    pub(crate) fn advance(&mut self, index: u32) {
        debug_assert!(self.head.is_some(), "no segment is filled");
        self.head.iter_mut().for_each(|head| head.index = index);
    }

    /// The segment that was being filled is not filled any further.
    pub(crate) fn close(&mut self) -> Option<u32> {
        self.head.take().map(|head| head.block)
    }

    /// A program failed in the segment that was being filled.
    pub(crate) fn fail(&mut self, block: u32) {
        self.head = None;
        self.change(block, |segment| (segment.is_weak, segment.is_bad) = (true, true));
    }

    /// Has a segment emptied soon.
    pub(crate) fn call_weak(&mut self, block: u32) {
        self.head.take_if(|head| head.block == block);
        self.change(block, |segment| segment.is_weak = true);
    }

    /// True if a segment has to be emptied, scarce or not.
    pub(crate) fn has_weak(&self) -> bool {
        self.segments.iter().any(|segment| segment.is_weak && segment.live > 0)
    }

    /// The segment to be emptied next, and how many of `count` leaves that are written should come from it: weak ones
    /// first, the one with the fewest leaves once segments are scarce.
    pub(crate) fn victim(&self, count: usize) -> Option<(u32, usize)> {
        let is_full = |segment: &&MapSegment| self.head.is_none_or(|head| head.block != segment.block);
        let mut filled = self.segments.iter().filter(|segment| segment.live > 0).filter(is_full);
        if let Some(weak) = filled.clone().find(|segment| segment.is_weak) {
            return Some((weak.block, count));
        }
        let least = filled.by_ref().min_by_key(|segment| segment.live).filter(|_| self.is_scarce())?;
        // Two for one of those that changed keeps step; in the last segment nothing else goes before.
        Some((least.block, if self.untaken() == 0 { count } else { count * 2 / 3 }))
    }

    /// Segments that a checkpoint would free.
    pub(crate) fn has_idle(&self) -> bool {
        self.segments.iter().any(|segment| self.is_idle(segment))
    }

    fn is_idle(&self, segment: &MapSegment) -> bool {
        segment.live == 0 && self.head.is_none_or(|head| head.block != segment.block)
    }

    /// Promises the programmed pages after a checkpoint. Returns the segments that nothing needs any more, and whether
    /// a program failed in them.
    pub(crate) fn checkpointed(&mut self) -> Vec<(u32, bool)> {
        self.head.iter_mut().for_each(|head| head.kept = head.index);
        let (idle, needed) = self.segments.iter().copied().partition(|segment| self.is_idle(segment));
        self.segments = needed;
        let idle: Vec<MapSegment> = idle;
        idle.into_iter().map(|segment| (segment.block, segment.is_bad)).collect()
    }
}
