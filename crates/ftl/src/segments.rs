//! The lookup table: a line for each segment (CAT paper, section 4 and figure 9), packed.

use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::ops::Range;

use crate::packed::Packing;
use crate::segment::{Segment, State};
use crate::shape::Shape;

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    /// The lines, packed one behind the other.
    lines: Vec<u8>,
    packing: Packing,
    /// The lines that cannot be packed: of worn out chips, damaged checkpoints, and starts that did not count off yet.
    apart: BTreeMap<u32, Segment>,
    blocks: u32,
    /// Segments that are neither bad nor an anchor's.
    usable: u32,
    /// Segments that turned out bad since the disk was made.
    failures: u32,
    /// Sealed segments that are to be emptied soon.
    weak: u32,
    /// Walks over all lines.
    #[cfg(test)]
    looks: core::cell::Cell<u64>,
}

impl Segments {
    /// All free, never erased.
    pub(crate) fn new(shape: &Shape) -> Segments {
        let packing = Packing::of(shape);
        Segments {
            lines: vec![0; shape.blocks as usize * packing.bytes()],
            packing,
            apart: BTreeMap::new(),
            blocks: shape.blocks,
            usable: shape.blocks,
            failures: 0,
            weak: 0,
            #[cfg(test)]
            looks: core::cell::Cell::new(0),
        }
    }

    /// Forgets all, as in a new table.
    pub(crate) fn clear(&mut self) {
        self.lines.fill(0);
        self.apart.clear();
        (self.usable, self.failures, self.weak) = (self.blocks, 0, 0);
    }

    pub(crate) fn get(&self, block: u32) -> Segment {
        debug_assert!(block < self.blocks, "segment {block} of {}", self.blocks);
        self.find(block).unwrap_or(Segment { state: State::Bad, ..Segment::FRESH })
    }

    /// The bytes of a line.
    fn place(&self, block: u32) -> Range<usize> {
        let each = self.packing.bytes();
        block as usize * each..(block as usize + 1) * each
    }

    fn find(&self, block: u32) -> Option<Segment> {
        let packed = self.lines.get(self.place(block))?;
        let mut bytes = [0; size_of::<u128>()];
        bytes.get_mut(..packed.len())?.copy_from_slice(packed);
        self.packing.unpack(u128::from_le_bytes(bytes)).or_else(|| self.apart.get(&block).copied())
    }

    fn put(&mut self, block: u32, segment: Segment) {
        let word = self.packing.pack(&segment).unwrap_or_else(|| {
            self.apart.insert(block, segment);
            Packing::APART
        });
        if word != Packing::APART && !self.apart.is_empty() {
            self.apart.remove(&block);
        }
        let place = self.place(block);
        if let Some(packed) = self.lines.get_mut(place) {
            packed.iter_mut().zip(word.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
    }

    /// Changes a line.
    pub(crate) fn change(&mut self, block: u32, change: impl FnOnce(&mut Segment)) {
        debug_assert!(block < self.blocks, "segment {block} of {}", self.blocks);
        if let Some(mut segment) = self.find(block) {
            let (was_bad, was_usable) = (segment.state == State::Bad, segment.state.is_usable());
            let was_weak = segment.is_weak();
            change(&mut segment);
            self.put(block, segment);
            let is_news = !was_bad && segment.state == State::Bad;
            self.failures = self.failures.saturating_add(u32::from(is_news));
            self.weak = self.weak + u32::from(segment.is_weak()) - u32::from(was_weak);
            self.usable = self.usable + u32::from(segment.state.is_usable()) - u32::from(was_usable);
        }
    }

    /// Has segments left alone until the next checkpoint: their tags prove that a block is lost. Without them an older
    /// copy would count, were the power cut before.
    pub(crate) fn hold(&mut self, blocks: impl IntoIterator<Item = u32>) {
        blocks.into_iter().for_each(|block| self.change(block, |segment| segment.trims = true));
    }

    /// Sealed segments that are to be emptied soon.
    pub(crate) fn weak(&self) -> u32 {
        self.weak
    }

    /// A weak segment. Cost: a look at every line, if there is one.
    pub(crate) fn find_weak(&self) -> Option<u32> {
        let mut lines = self.iter().filter(|_| self.weak > 0);
        lines.find(|(_, segment)| segment.is_weak()).map(|(block, _)| block)
    }

    /// Segments that turned out bad since the disk was made.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Sets the number of segments that went bad; failures counted so far are part of it.
    pub(crate) fn set_failures(&mut self, failures: u32) {
        self.failures = failures;
    }

    /// Free segments, without those that wait for a checkpoint. Cost: a look at every line.
    pub(crate) fn free(&self) -> usize {
        self.iter().filter(|(_, segment)| segment.state == State::Free && !segment.trims).count()
    }

    /// The sealed segments with the fewest live blocks, `count` at the most. Cost: a look at every line.
    pub(crate) fn emptiest(&self, count: usize) -> Vec<u32> {
        let mut least: Vec<(u32, u32)> = Vec::new();
        for (block, segment) in self.iter().filter(|(_, segment)| segment.state == State::Sealed) {
            let at = least.partition_point(|(valid, _)| *valid <= segment.valid);
            if at < count {
                least.insert(at, (segment.valid, block));
                least.truncate(count);
            }
        }
        least.into_iter().map(|(_, block)| block).collect()
    }

    /// Each segment with its number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Segment)> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        (0..self.blocks).map(|block| (block, self.get(block)))
    }

    /// Walks over all lines so far.
    #[cfg(test)]
    pub(crate) fn looks(&self) -> u64 {
        self.looks.get()
    }

    /// Segments that can hold logical blocks or a checkpoint. Counted as they change: every flush asks.
    pub(crate) fn usable(&self) -> u32 {
        self.usable
    }

    /// Bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lines.capacity() + self.apart.len() * size_of::<(u32, Segment)>()
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::ChipSpec;

    use super::*;

    /// A chip of 20 segments.
    fn shape() -> Shape {
        Shape::of(&ChipSpec::parse_geometry("2048+64:64:20").unwrap().geometry(), 4096, 0).unwrap()
    }

    #[test]
    fn lines_that_cannot_be_packed_are_kept_as_they_are() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut segments = Segments::new(&shape());
        let mut lines = [Segment::FRESH; 20];
        for _ in 0..4000 {
            let (block, valid, erases) = (rng.u32(..20), rng.u32(..) >> rng.u32(..32), rng.u32(..1 << 21));
            let change = |segment: &mut Segment| (segment.valid, segment.erases) = (valid, erases);
            segments.change(block, change);
            change(&mut lines[block as usize]);
            assert!(segments.iter().map(|(_, segment)| segment).eq(lines));
        }
        (0..20).for_each(|block| segments.change(block, |segment| (segment.valid, segment.erases) = (1, 1)));
        assert!(segments.apart.is_empty());
    }

    #[test]
    fn usable_segments_are_counted_as_they_change() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut segments = Segments::new(&shape());
        for _ in 0..400 {
            let state = State::from_byte(rng.u8(..7)).unwrap();
            segments.change(rng.u32(..20), |segment| segment.state = state);
            let usable = segments.iter().filter(|(_, segment)| segment.state.is_usable()).count();
            assert_eq!(segments.usable() as usize, usable);
        }
    }
}
