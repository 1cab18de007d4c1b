//! Free segments: those that the wear rule chooses from, and those that wait until it has fewer.
//!
//! Of thousands of free segments the rule is shown some, so that those which may be opened soon can be named.

use alloc::{boxed::Box, collections::BTreeSet, collections::VecDeque};

use pumice_cleaning::{Class, Relocation, SegmentView, Wear};

use crate::layout::count32;
use crate::segments::Segments;

/// Free segments that the rule chooses from at the most.
pub(crate) const OFFERED: usize = 32;

/// The free segments.
pub(crate) struct Supply {
    rule: Box<dyn Wear + Send>,
    /// Segments offered to the rule.
    offered: BTreeSet<u32>,
    /// The others, in the order in which they became free.
    later: VecDeque<u32>,
}

impl Supply {
    pub(crate) fn new(rule: Box<dyn Wear + Send>) -> Supply {
        Supply { rule, offered: BTreeSet::new(), later: VecDeque::new() }
    }

    /// Adds a free segment.
    pub(crate) fn freed(&mut self, block: u32, segments: &Segments) {
        self.later.push_back(block);
        if self.later.len() == 1 {
            self.offer(segments);
        }
    }

    /// Lets the rule choose from as many as it may. They are erased when they are opened, and count as erased now.
    pub(crate) fn offer(&mut self, segments: &Segments) {
        while self.offered.len() < OFFERED
            && let Some(block) = self.later.pop_front()
        {
            self.offered.insert(block);
            self.rule.freed(block, segments.get(block).erases.saturating_add(1));
        }
    }

    /// Takes a free segment out.
    pub(crate) fn allocate(&mut self, class: Class, segments: &Segments) -> Option<u32> {
        if self.offered.is_empty() {
            self.offer(segments);
        }
        let block = self.rule.allocate(class)?;
        self.offered.remove(&block);
        Some(block)
    }

    /// Segments that the rule chooses from.
    pub(crate) fn offered(&self) -> impl Iterator<Item = u32> {
        self.offered.iter().copied()
    }

    /// Free segments in all.
    pub(crate) fn free(&self) -> u32 {
        count32(self.offered.len() + self.later.len())
    }

    /// A segment was written to the end.
    pub(crate) fn sealed(&mut self, block: u32, view: &SegmentView) {
        self.rule.sealed(block, view);
    }

    /// A segment was chosen for cleaning, and is no longer sealed.
    pub(crate) fn unsealed(&mut self, block: u32) {
        self.rule.unsealed(block);
    }

    /// The segment to clean in place of the chosen one.
    pub(crate) fn instead(&mut self, block: u32, sealed: &dyn Fn(u32) -> Option<SegmentView>) -> Option<u32> {
        self.rule.instead(block, sealed)
    }

    /// The data to move now, if any; the segment that it goes to is taken out.
    pub(crate) fn relocation(&mut self) -> Option<Relocation> {
        let relocation = self.rule.relocation()?;
        self.offered.remove(&relocation.to);
        Some(relocation)
    }
}

#[cfg(test)]
mod tests {
    use pumice_cleaning::wear::Fifo;
    use pumice_media::ChipSpec;

    use super::*;
    use crate::shape::Shape;

    #[test]
    fn some_are_offered_and_all_are_taken_in_turn() {
        let mut supply = Supply::new(Box::new(Fifo::default()));
        let geometry = ChipSpec::parse_geometry("2048+64:64:100").unwrap().geometry();
        let segments = Segments::new(&Shape::of(&geometry, 4096, 0).unwrap());
        (0..100).for_each(|block| supply.freed(block, &segments));
        assert_eq!((supply.free(), supply.offered().count()), (100, OFFERED));
        for block in 0..100 {
            assert_eq!(supply.allocate(Class(0), &segments), Some(block));
            supply.freed(block, &segments);
        }
        assert_eq!(supply.free(), 100);
    }
}
