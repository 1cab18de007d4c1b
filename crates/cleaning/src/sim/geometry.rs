//! The size of a store.

use super::SimError;
use crate::packed::NONE;

/// A store in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Params {
    /// Segments, all told.
    pub segments: u32,
    /// Pages of a segment that can hold data.
    pub pages: u32,
    /// Logical pages; fewer than the segments hold.
    pub logical: u32,
    /// Free segments that users leave to the cleaner: cleaning starts when there are no more, and goes on until there
    /// are. With 0 the survivors of a segment wait in memory while it is erased, as in the CAT paper; that makes the
    /// most of the space, and a power cut would lose them. 1 is the least that is safe.
    pub reserve: u32,
    /// Free segments up to which cleaning goes on once it has begun, if more than the reserve: the high-water mark of
    /// which the reserve is the low one (CAT paper, table 7).
    pub high_water: u32,
    /// Segments that are cleaned at once, at least 1. Of several the survivors wait in memory until all are erased, so
    /// that the placement can sort them together (CAT paper, section 2.1).
    pub together: u32,
    /// Erases that a segment withstands; it is dead after so many. `u32::MAX`: any number.
    pub endurance: u32,
    /// Above 0, a segment is cleaned after each write that finds more than this share of all written pages dead, in
    /// percent; dead pages of open segments do not count. So a log is collected that may take any room (SepBIT, FAST
    /// 2022); without free segments above the reserve it is cleaned as others are.
    pub garbage: u32,
}

impl Params {
    /// A store with a reserve of one segment and endless endurance, cleaned for room.
    pub const fn new(segments: u32, pages: u32, logical: u32) -> Self {
        Self {
            segments,
            pages,
            logical,
            reserve: 1,
            high_water: 0,
            together: 1,
            endurance: u32::MAX,
            garbage: 0,
        }
    }

    /// The same with some of it set.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Params)) -> Params {
        set(&mut self);
        self
    }

    /// Pages of all segments.
    pub fn physical(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.pages)
    }

    /// Physical over logical pages.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn alpha(&self) -> f64 {
        self.physical() as f64 / f64::from(self.logical)
    }

    /// Refuses an impossible store, before policies for it take memory.
    pub fn check(&self) -> Result<(), SimError> {
        self.shift().map(|_| ())
    }

    /// Bits for a page within a segment; checks everything on the way.
    pub(super) fn shift(&self) -> Result<u32, SimError> {
        let bad = |why| Err(SimError::Parameters(why));
        if self.pages == 0 || self.logical == 0 || self.logical == NONE {
            return bad("a store needs pages in its segments, and from 1 to 2^32 - 2 logical pages");
        }
        if u64::from(self.logical) >= self.physical() {
            return bad("a store must have fewer logical pages than its segments hold");
        }
        let shift = self.pages.checked_next_power_of_two().map_or(32, u32::trailing_zeros);
        if shift >= 32 || u64::from(self.segments) << shift > u64::from(NONE) {
            return bad(
                "segments times pages of a segment, rounded up to a power of two, must stay below 2^32",
            );
        }
        Ok(shift)
    }
}

/// A store in bytes, as the CAT paper gives it (section 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Flash size in bytes.
    pub flash: u64,
    /// Segment (erase unit) size in bytes.
    pub segment: u64,
    /// Block (page) size in bytes.
    pub block: u64,
    /// Blocks at the start of each segment that hold its header.
    pub header: u32,
    /// The part of the usable blocks that holds data, above 0 and below 1.
    pub fill: f64,
}

impl Geometry {
    /// The CAT paper's chip: 24 MiB, segments of 128 KiB with 31 usable blocks of 4 KiB, 90 % full.
    pub const CAT: Self = Self { flash: 24 << 20, segment: 128 << 10, block: 4 << 10, header: 1, fill: 0.9 };

    /// The sizes in pages; blocks that do not fill a segment are left over.
    pub fn params(&self) -> Result<Params, SimError> {
        let bad =
            SimError::Parameters("flash, segment, block and header make no segments with room for data");
        let per_segment = self.segment.checked_div(self.block).ok_or(bad)?;
        let pages = u32::try_from(per_segment).ok().and_then(|n| n.checked_sub(self.header)).ok_or(bad)?;
        let count = self.flash.checked_div(self.segment).ok_or(bad)?;
        let segments = u32::try_from(count).map_err(|_| bad)?;
        if !(self.fill > 0.0 && self.fill < 1.0) {
            return Err(SimError::Parameters("the part filled must be above 0 and below 1"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below the physical pages"
        )]
        let logical = (f64::from(segments) * f64::from(pages) * self.fill) as u32;
        Ok(Params::new(segments, pages, logical))
    }
}
