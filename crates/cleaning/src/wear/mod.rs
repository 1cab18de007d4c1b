//! Wear levelling: which free segment a head gets, and which cold data has to move.

mod dual_pool;
mod even;
mod fifo;
mod least_worn;
mod swap;

use alloc::boxed::Box;

pub use dual_pool::DualPool;
pub use even::Even;
pub use fifo::Fifo;
pub use least_worn::LeastWorn;
pub use swap::{Behind, EndOfLife, Never, Swap, Swapping};

use crate::{Class, SegmentView};

/// Cold data to be moved into a worn segment, so that the segment below it wears too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The sealed segment whose live pages move; it is erased afterwards.
    pub from: u32,
    /// The free segment they move to; the rule has taken it out of the free ones.
    pub to: u32,
}

/// A rule that keeps the free segments.
pub trait Wear {
    /// Segment `id` is erased and free; it was erased `erases` times so far.
    fn freed(&mut self, id: u32, erases: u32);

    /// Takes a free segment for a head out; `None` if there is none.
    fn allocate(&mut self, class: Class) -> Option<u32>;

    /// Free segments.
    fn free(&self) -> u32;

    /// Segment `id` was written to the end.
    fn sealed(&mut self, _id: u32, _view: &SegmentView) {}

    /// Segment `id` was chosen for cleaning, or for the relocation just asked for, and is no longer sealed.
    fn unsealed(&mut self, _id: u32) {}

    /// Asked before every cleaning: the segment to clean in place of `chosen`, which the victim rule took; `None` to
    /// leave it at that. `sealed` tells of the sealed segments, `chosen` among them.
    fn instead(&mut self, _chosen: u32, _sealed: &dyn Fn(u32) -> Option<SegmentView>) -> Option<u32> {
        None
    }

    /// Asked after every erase: the data to move now, if any.
    fn relocation(&mut self) -> Option<Relocation> {
        None
    }
}

impl<W: Wear + ?Sized> Wear for Box<W> {
    fn freed(&mut self, id: u32, erases: u32) {
        (**self).freed(id, erases);
    }

    fn allocate(&mut self, class: Class) -> Option<u32> {
        (**self).allocate(class)
    }

    fn free(&self) -> u32 {
        (**self).free()
    }

    fn sealed(&mut self, id: u32, view: &SegmentView) {
        (**self).sealed(id, view);
    }

    fn unsealed(&mut self, id: u32) {
        (**self).unsealed(id);
    }

    fn instead(&mut self, chosen: u32, sealed: &dyn Fn(u32) -> Option<SegmentView>) -> Option<u32> {
        (**self).instead(chosen, sealed)
    }

    fn relocation(&mut self) -> Option<Relocation> {
        (**self).relocation()
    }
}
