//! Static wear levelling by swaps: the data of the least worn segment moves into a worn one.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::{Fifo, Relocation, Wear};
use crate::{Class, SegmentView};

/// The condition of a swap.
///
/// It is all of a wear rule that a log needs if its free segments have an order of their own.
pub trait Swap {
    /// True if the data in a segment that was erased `least` times is to move into a free one that was erased `worn`
    /// times, the least and the most worn that are known.
    fn is_due(&self, least: u32, worn: u32) -> bool;
}

/// No swaps.
#[derive(Clone, Copy, Debug)]
pub struct Never;

impl Swap for Never {
    fn is_due(&self, _least: u32, _worn: u32) -> bool {
        false
    }
}

/// The CAT paper's: a segment close to the end of its life gets the data of the one erased the fewest times (section
/// 3.2, point 3). Close is nine tenths of the endurance.
#[derive(Clone, Copy, Debug)]
pub struct EndOfLife {
    limit: u32,
}

impl EndOfLife {
    /// The rule for segments that withstand `endurance` erases.
    pub fn new(endurance: u32) -> Self {
        Self { limit: endurance - endurance / 10 }
    }
}

impl Swap for EndOfLife {
    fn is_due(&self, least: u32, worn: u32) -> bool {
        // Of two that are both at their end a swap would only cost.
        worn >= self.limit && least < self.limit
    }
}

/// A segment may be behind a worn one by a share of the erases of that one, and always by 16.
///
/// How often segments can be erased need not be known: most swaps are made early, and the longer segments live, the less
/// all of them cost.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    part: u32,
}

/// Erases that a segment may always be behind.
const BEHIND: u32 = 16;

impl Behind {
    /// One in `part`, at least 1, of the erases of the worn one. A smaller share costs more swaps and wears more evenly.
    pub fn new(part: u32) -> Self {
        debug_assert!(part > 0, "a share has a denominator");
        Self { part }
    }
}

impl Swap for Behind {
    fn is_due(&self, least: u32, worn: u32) -> bool {
        worn.checked_sub(BEHIND.max(worn / self.part)).is_some_and(|most| least < most)
    }
}

/// A wear rule that swaps.
///
/// A swap is made when the worn segment has just been erased: the live data of the least worn one moves into it, and
/// that one goes into circulation. Free segments are used in the order of their erases in time. O(log segments) for
/// each segment written, about 20 bytes a segment.
#[derive(Clone, Debug)]
pub struct Swapping<S> {
    rule: S,
    free: Fifo,
    sealed: BTreeSet<(u32, u32)>,
    erases: Vec<u32>,
    /// The segment erased last.
    last: Option<u32>,
}

impl<S: Swap> Swapping<S> {
    /// A swapping rule for the segments 0 to `segments - 1`.
    pub fn new(rule: S, segments: u32) -> Self {
        Self {
            rule,
            free: Fifo::default(),
            sealed: BTreeSet::new(),
            erases: vec![0; segments as usize],
            last: None,
        }
    }

    fn erases(&self, id: u32) -> u32 {
        debug_assert!((id as usize) < self.erases.len(), "segment {id} is beyond those that there are");
        self.erases.get(id as usize).copied().unwrap_or(0)
    }
}

impl<S: Swap> Wear for Swapping<S> {
    fn freed(&mut self, id: u32, erases: u32) {
        self.free.freed(id, erases);
        self.last = Some(id);
        if let Some(slot) = self.erases.get_mut(id as usize) {
            *slot = erases;
        }
    }

    fn allocate(&mut self, class: Class) -> Option<u32> {
        self.free.allocate(class)
    }

    fn free(&self) -> u32 {
        self.free.free()
    }

    fn sealed(&mut self, id: u32, view: &SegmentView) {
        self.sealed.insert((view.erases, id));
    }

    fn unsealed(&mut self, id: u32) {
        self.sealed.remove(&(self.erases(id), id));
    }

    fn relocation(&mut self) -> Option<Relocation> {
        let to = self.last.take()?;
        let (least, from) = *self.sealed.first()?;
        let pays = self.rule.is_due(least, self.erases(to)) && self.free.take(to);
        pays.then_some(Relocation { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_the_least_worn_swap_near_the_end() {
        let mut rule = Swapping::new(EndOfLife::new(100), 4);
        rule.sealed(1, &SegmentView { erases: 0, ..Default::default() });
        rule.freed(0, 89);
        assert_eq!(rule.relocation(), None);
        rule.freed(2, 90);
        assert_eq!(rule.relocation(), Some(Relocation { from: 1, to: 2 }));
        assert_eq!((rule.free(), rule.relocation()), (1, None));
    }

    #[test]
    fn who_is_too_far_behind_swaps() {
        let rule = Behind::new(8);
        let due = [(0, 16), (0, 17), (84, 100), (83, 100), (875, 1000), (874, 1000)];
        let due = due.map(|(least, worn)| rule.is_due(least, worn));
        assert_eq!(due, [false, true, false, true, false, true]);
    }
}
