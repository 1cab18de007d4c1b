//! Placement: which open head a page is written to.

mod adaptive;
mod by_heat;
mod by_kind;
mod by_segment;
mod chain;
mod dac;
mod heat;
mod midas;
mod multi_log;
mod one_log;
mod oracle;
mod read_only;
mod sepbit;
mod sepbit_published;
mod sfs;
mod sorted;
mod temperature;

use alloc::boxed::Box;

pub use adaptive::{Adaptive, Regime};
pub use by_heat::ByHeat;
pub use by_kind::Static;
pub use by_segment::BySegment;
pub use chain::Chain;
pub use dac::Dac;
pub use midas::{Groups, Midas, Plan};
pub use multi_log::MultiLog;
pub use one_log::OneLog;
pub use oracle::Oracle;
pub use read_only::ReadOnly;
pub use sepbit::SepBit;
pub use sepbit_published::SepBitPublished;
pub use sfs::Sfs;
pub use sorted::Sorted;
pub use temperature::{Hint, Temperature};

use crate::segment::{Class, SegmentView};

/// The copy of a page that a write or a trim replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Old {
    /// The head that wrote its segment.
    pub class: Class,
    /// User writes since its segment's first write, a cleaner's copy counting as a write.
    pub age: u32,
}

/// The segment being cleaned, as it was when its cleaning began, and the store around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The segment.
    pub segment: SegmentView,
    /// Live data of the whole store, in the unit of [`SegmentView::valid`].
    pub live: u64,
    /// The capacity of all segments, in the same unit.
    pub room: u64,
}

/// A rule that places pages, told of their writes and copies. Each call is a few instructions.
///
/// `now` is the write clock: user writes so far, wrapping. `page` is the page's logical number, below the number that
/// the rule was built for; rules that keep nothing for each page ignore it.
pub trait Placement {
    /// Heads wanted now, at least 1: answers are below it. It may change at any call but never exceeds
    /// [`Placement::MAX_CLASSES`](MAX_CLASSES).
    fn classes(&self) -> u8;

    /// The class of a user's page. `old` is the copy it replaces, `None` if there is none.
    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class;

    /// The class of the cleaner's copy of a page of segment `from`.
    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class;

    /// The order in which the survivors of a segment are copied out; as they lie in it by default.
    fn sort(&mut self, _now: u32, _survivors: &mut [u32]) {}

    /// A page is not needed any more; its copy was `old`.
    fn trimmed(&mut self, _now: u32, _page: u32, _old: Old) {}

    /// A segment of class `class` was written to the end.
    fn sealed(&mut self, _now: u32, _class: Class) {}

    /// A segment was cleaned; its survivors were placed.
    fn reclaimed(&mut self, _now: u32, _from: &Cleaned) {}
}

/// No rule has more heads.
pub const MAX_CLASSES: u8 = 16;

impl<P: Placement + ?Sized> Placement for Box<P> {
    fn classes(&self) -> u8 {
        (**self).classes()
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        (**self).user_write(now, page, old)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        (**self).cleaner_copy(now, page, from)
    }

    fn sort(&mut self, now: u32, survivors: &mut [u32]) {
        (**self).sort(now, survivors);
    }

    fn trimmed(&mut self, now: u32, page: u32, old: Old) {
        (**self).trimmed(now, page, old);
    }

    fn sealed(&mut self, now: u32, class: Class) {
        (**self).sealed(now, class);
    }

    fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        (**self).reclaimed(now, from);
    }
}
