//! The lookup table: a line for each segment (CAT paper, section 4 and figure 9).

use alloc::{vec, vec::Vec};

use pumice_cleaning::{Class, SegmentView};

/// The state of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum State {
    /// Holds nothing that is needed; erased before use.
    Free = 0,
    /// A head writes to it.
    Open = 1,
    /// Written; may be cleaned.
    Sealed = 2,
    /// Written, and some of it cannot be read: left alone until all of it is overwritten.
    Stuck = 3,
    /// Holds a part of the checkpoint.
    Checkpoint = 4,
    /// Belongs to the anchors.
    Anchor = 5,
    /// Marked bad, or about to be.
    Bad = 6,
}

impl State {
    pub(crate) fn from_byte(byte: u8) -> Option<State> {
        use State::{Anchor, Bad, Checkpoint, Free, Open, Sealed, Stuck};
        [Free, Open, Sealed, Stuck, Checkpoint, Anchor, Bad].into_iter().find(|state| *state as u8 == byte)
    }

    /// True if logical blocks may lie in it.
    pub(crate) fn holds_data(self) -> bool {
        matches!(self, State::Open | State::Sealed | State::Stuck)
    }

    /// The same, and what is bad may still hold some.
    pub(crate) fn may_hold_data(self) -> bool {
        self.holds_data() || self == State::Bad
    }

    /// True if logical blocks or a checkpoint may ever lie in it.
    fn is_usable(self) -> bool {
        !matches!(self, State::Bad | State::Anchor)
    }
}

/// A line of the table. Clocks are the write clock: user writes, wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) state: State,
    /// The head that wrote it.
    pub(crate) class: u8,
    /// Pages programmed, its summary included.
    pub(crate) used: u16,
    /// It is to be emptied soon: its bits are near the limit of ECC, or it should have parity and has none.
    pub(crate) weak: bool,
    /// Its reads since it was erased, in pieces of about a thousand pages, up to [`READS_MOST`](pumice_flashlog::READS_MOST).
    pub(crate) reads: u8,
    /// It holds news that no checkpoint knows yet, beside blocks: trimmed ranges, or a tag that names the blocks of a
    /// lost page.
    pub(crate) trims: bool,
    /// Not asked since the power cut whether it went bad before.
    pub(crate) is_unasked: bool,
    /// Erases so far.
    pub(crate) erases: u32,
    /// The time when it was opened.
    pub(crate) opened: u32,
    /// The time when it was written to the end.
    pub(crate) sealed: u32,
    /// The time of its last change: written to the end or, if later, a block in it overwritten.
    pub(crate) changed: u32,
    /// Logical blocks that live in it.
    pub(crate) valid: u32,
}

impl Segment {
    pub(crate) const FRESH: Segment = Segment {
        state: State::Free,
        class: 0,
        used: 0,
        weak: false,
        reads: 0,
        trims: false,
        is_unasked: false,
        erases: 0,
        opened: 0,
        sealed: 0,
        changed: 0,
        valid: 0,
    };

    /// True if blocks live in it, or it holds news that no checkpoint knows.
    pub(crate) fn is_needed(&self) -> bool {
        self.valid > 0 || self.trims
    }

    /// True if it waits to be emptied.
    fn is_weak(&self) -> bool {
        self.weak && self.state == State::Sealed
    }

    /// The policies' view of it.
    pub(crate) fn view(&self, capacity: u32, now: u32) -> SegmentView {
        SegmentView {
            valid: self.valid,
            capacity,
            created: now.wrapping_sub(self.opened),
            written: now.wrapping_sub(self.sealed),
            invalidated: now.wrapping_sub(self.changed),
            erases: self.erases,
            class: Class(self.class),
        }
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    lines: Vec<Segment>,
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
    pub(crate) fn new(count: u32) -> Segments {
        Segments {
            lines: vec![Segment::FRESH; count as usize],
            usable: count,
            failures: 0,
            weak: 0,
            #[cfg(test)]
            looks: core::cell::Cell::new(0),
        }
    }

    pub(crate) fn get(&self, block: u32) -> Segment {
        debug_assert!((block as usize) < self.lines.len());
        self.lines.get(block as usize).copied().unwrap_or(Segment { state: State::Bad, ..Segment::FRESH })
    }

    /// Changes a line.
    pub(crate) fn change(&mut self, block: u32, change: impl FnOnce(&mut Segment)) {
        debug_assert!((block as usize) < self.lines.len());
        if let Some(segment) = self.lines.get_mut(block as usize) {
            let (was_bad, was_usable) = (segment.state == State::Bad, segment.state.is_usable());
            let was_weak = segment.is_weak();
            change(segment);
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
        self.lines.iter().filter(|segment| segment.state == State::Free && !segment.trims).count()
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Segment)> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        (0..).zip(&self.lines)
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
        self.lines.capacity() * size_of::<Segment>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_segments_are_counted_as_they_change() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut segments = Segments::new(20);
        for _ in 0..400 {
            let state = State::from_byte(rng.u8(..7)).unwrap();
            segments.change(rng.u32(..20), |segment| segment.state = state);
            let usable = segments.iter().filter(|(_, segment)| segment.state.is_usable()).count();
            assert_eq!(segments.usable() as usize, usable);
        }
    }
}
