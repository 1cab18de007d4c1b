//! The simulator: a store of numbered pages on segments, cleaned by any selector, placement and wear rule.
//!
//! Pages carry no data and operations take no time. The write clock is the count of user writes. All segments count as
//! physical space: the open heads and the free segments kept for the cleaner too.
//!
//! Memory: 4 bytes for each logical page, 4 for each physical page (a segment's pages rounded up to a power of two), 32
//! for each segment, and the memory of the three rules.

mod check;
mod clean;
mod error;
mod geometry;
mod heads;
mod segment;
mod stats;

use alloc::{vec, vec::Vec};

pub use error::SimError;
pub use geometry::{Geometry, Params};
pub use stats::{Stats, WearStats};

use crate::{
    Class, Old, Placement, SegmentView, Selector, Wear,
    packed::{NONE, Packed},
    placement::MAX_CLASSES,
};
use segment::Segment;

/// A store being written to.
#[derive(Clone, Debug)]
pub struct Sim<S, P, W> {
    params: Params,
    selector: S,
    placement: P,
    wear: W,
    /// A physical page is its segment's number, shifted by this, and its place in the segment.
    shift: u32,
    /// The physical page of each logical one.
    place: Packed,
    /// The logical page last written to each physical one; still live if `place` agrees.
    owner: Packed,
    segments: Vec<Segment>,
    /// The open segment of each class.
    heads: [u32; MAX_CLASSES as usize],
    now: u32,
    live: u32,
    stats: Stats,
    /// Chosen for cleaning, and dead after one more erase.
    doomed: Vec<u32>,
    /// Survivors of the segment being cleaned, kept for its memory.
    survivors: Vec<u32>,
}

impl<S: Selector, P: Placement, W: Wear> Sim<S, P, W> {
    /// An empty store; all segments are free.
    pub fn new(params: Params, selector: S, placement: P, mut wear: W) -> Result<Self, SimError> {
        let shift = params.shift()?;
        (0..params.segments).for_each(|id| wear.freed(id, 0));
        Ok(Self {
            params,
            selector,
            placement,
            wear,
            shift,
            place: Packed::new(params.logical),
            owner: Packed::new(params.segments << shift),
            segments: vec![Segment::default(); params.segments as usize],
            heads: [NONE; MAX_CLASSES as usize],
            now: 0,
            live: 0,
            stats: Stats::new(&params),
            doomed: Vec::new(),
            survivors: Vec::new(),
        })
    }

    /// The parameters it was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Counts since the start or the last [`Self::reset_stats`].
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Counts from zero again; contents and wear of the store stay.
    pub fn reset_stats(&mut self) {
        self.stats = Stats::new(&self.params);
    }

    /// The spread of the erases so far over the segments.
    pub fn wear(&self) -> WearStats {
        WearStats::of(self.segments.iter().map(|s| s.erases))
    }

    /// Erases of each segment so far.
    pub fn erases(&self) -> impl Iterator<Item = u32> {
        self.segments.iter().map(|s| s.erases)
    }

    /// Each segment as rules see it, with the pages written to it since its erase.
    pub fn segments(&self) -> impl Iterator<Item = (SegmentView, u32)> {
        self.segments.iter().map(|segment| (segment.view(self.params.pages, self.now), segment.used))
    }

    /// The placement rule.
    pub fn placement(&self) -> &P {
        &self.placement
    }

    /// Live pages.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Free segments.
    pub fn free(&self) -> u32 {
        self.wear.free()
    }

    /// Writes every logical page once, in order, and counts from zero after it: the paper's way to fill a chip.
    pub fn fill(&mut self) -> Result<(), SimError> {
        (0..self.params.logical).try_for_each(|page| self.write(page))?;
        self.reset_stats();
        Ok(())
    }

    /// Writes pages one after the other.
    pub fn run(&mut self, pages: impl IntoIterator<Item = u32>) -> Result<(), SimError> {
        pages.into_iter().try_for_each(|page| self.write(page))
    }

    /// A user writes logical page `page`, which first cleans as much as is needed.
    #[inline]
    pub fn write(&mut self, page: u32) -> Result<(), SimError> {
        self.in_range(page)?;
        self.now = self.now.wrapping_add(1);
        let old = self.old(page);
        let class = self.placement.user_write(self.now, page, old);
        self.make_room(class)?;
        self.kill(page);
        self.append(page, class)?;
        self.live += 1;
        self.stats.user_writes += 1;
        if self.params.garbage > 0 && self.has_garbage() {
            self.clean()?;
        }
        Ok(())
    }

    /// A user discards logical page `page`; nothing happens if it was never written. The write clock stays.
    pub fn trim(&mut self, page: u32) -> Result<(), SimError> {
        self.in_range(page)?;
        if let Some(old) = self.old(page) {
            self.placement.trimmed(self.now, page, old);
            self.kill(page);
            self.place.set(page, NONE);
            self.stats.trims += 1;
        }
        Ok(())
    }

    fn in_range(&self, page: u32) -> Result<(), SimError> {
        match page < self.params.logical {
            true => Ok(()),
            false => Err(SimError::PageOutOfRange { page, pages: self.params.logical }),
        }
    }

    fn old(&self, page: u32) -> Option<Old> {
        let at = self.place.get(page);
        let segment = self.segments.get((at >> self.shift) as usize).filter(|_| at != NONE)?;
        Some(Old { class: segment.class, age: self.now.wrapping_sub(segment.created) })
    }

    /// The current copy of a page dies, if there is one.
    fn kill(&mut self, page: u32) {
        let at = self.place.get(page);
        let id = at >> self.shift;
        let Some(segment) = self.segments.get_mut(id as usize).filter(|_| at != NONE) else { return };
        segment.valid -= 1;
        segment.invalidated = self.now;
        self.selector.invalidated(id, self.now);
        self.live -= 1;
    }

    /// Writes a page to the head of `class`, or to another if that gets no segment.
    #[inline]
    fn append(&mut self, page: u32, class: Class) -> Result<(), SimError> {
        let (class, id) = self.head(class)?;
        let Some(segment) = self.segments.get_mut(id as usize) else { return Err(self.full()) };
        let at = (id << self.shift) | segment.used;
        segment.write(self.now);
        let sealed = segment.used == self.params.pages;
        self.place.set(page, at);
        self.owner.set(at, page);
        if sealed {
            self.close(class);
            self.seal(id);
        }
        Ok(())
    }

    /// Segment `id` may be cleaned from now on.
    fn seal(&mut self, id: u32) {
        let Some(segment) = self.segments.get(id as usize) else { return };
        let view = segment.view(self.params.pages, self.now);
        self.selector.sealed(id, &view, self.now);
        self.wear.sealed(id, &view);
        self.placement.sealed(self.now, view.class);
    }
}
