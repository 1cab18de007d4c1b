//! The CAT paper's wear levelling.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::{Fifo, Relocation, Wear};
use crate::{Class, SegmentView};

/// Once a segment is close to the end of its life, it is swapped with the one erased the fewest times (CAT paper,
/// section 3.2, point 3).
///
/// Close is nine tenths of the endurance. The swap is made when the worn segment has just been erased: what lives in
/// the least worn one moves into it, and that one goes into circulation. Free segments are used in the order of their
/// erases in time. O(log segments) for each segment written, about 20 bytes a segment.
#[derive(Clone, Debug)]
pub struct EndOfLife {
    limit: u32,
    free: Fifo,
    sealed: BTreeSet<(u32, u32)>,
    erases: Vec<u32>,
    /// The segment erased last, if it is close to its end.
    worn: Option<u32>,
}

impl EndOfLife {
    /// For the segments 0 to `segments - 1` that withstand `endurance` erases.
    pub fn new(segments: u32, endurance: u32) -> Self {
        Self {
            limit: endurance - endurance / 10,
            free: Fifo::default(),
            sealed: BTreeSet::new(),
            erases: vec![0; segments as usize],
            worn: None,
        }
    }
}

impl Wear for EndOfLife {
    fn freed(&mut self, id: u32, erases: u32) {
        self.free.freed(id, erases);
        self.worn = (erases >= self.limit).then_some(id);
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
        let erases = self.erases.get(id as usize).copied().unwrap_or(0);
        self.sealed.remove(&(erases, id));
    }

    fn relocation(&mut self) -> Option<Relocation> {
        let to = self.worn.take()?;
        let (erases, from) = *self.sealed.first()?;
        // Of two that are both at their end a swap would only cost.
        let pays = erases < self.limit && self.free.take(to);
        pays.then_some(Relocation { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_the_least_worn_swap_near_the_end() {
        let mut rule = EndOfLife::new(4, 100);
        rule.sealed(1, &SegmentView { erases: 0, ..Default::default() });
        rule.freed(0, 89);
        assert_eq!(rule.relocation(), None);
        rule.freed(2, 90);
        assert_eq!(rule.relocation(), Some(Relocation { from: 1, to: 2 }));
        assert_eq!((rule.free(), rule.relocation()), (1, None));
    }
}
