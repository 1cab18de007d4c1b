//! Segments that become free: at once, after a commit, or after a checkpoint; and the end of the chip's life, when too
//! few good ones are left.

use alloc::vec::Vec;

use crate::counters::Start;
use crate::error::{FtlError, Result};
use crate::log::Log;
use crate::segment::State;
use crate::shape::Addr;
use crate::status::Mode;
use crate::stream::{segments_at_most, segments_needed};

/// Segments that may fail one after the other, after a first failure, before the cleaner has made up for them.
const FAILURES_MOST: u32 = 3;

impl Log<'_> {
    /// Segments that a checkpoint takes at the most.
    pub(crate) fn checkpoint_most(&self) -> u32 {
        segments_at_most(&self.shape, self.logical_blocks())
    }

    /// Makes the copy here garbage. In a page that is not programmed yet it never gets onto the chip: programmed behind
    /// a newer copy, it would have the higher sequence number.
    pub(crate) fn leave_copy(&mut self, old: Addr) {
        let (Some(block), now) = (self.shape.segment_of(old), self.clock) else { return };
        let shape = self.shape;
        self.heads.iter_mut().for_each(|head| head.blank(&shape, old));
        self.segments.change(block, |segment| segment.changed = now);
        self.policies.selector.invalidated(block, now);
        let segment = self.segments.get(block);
        if segment.state == State::Stuck && segment.valid == 0 {
            self.free(block);
        }
    }

    /// Frees a segment: nothing in it is needed any more.
    pub(crate) fn free(&mut self, block: u32) {
        if self.aftermath.unsure.is_in(block) {
            return;
        }
        self.segments.change(block, |segment| segment.state = State::Free);
        if self.segments.get(block).trims || self.heads.has_pending(&self.shape) {
            self.waiting.hold(block);
        } else {
            self.let_go(block);
        }
    }

    /// Gives a free segment back if no commit is due, unless it holds the newest summary: that may be all that tells of
    /// others. What a commit writes has a later one.
    pub(crate) fn let_go(&mut self, block: u32) {
        if self.recorded.listed.is_newest(block) {
            self.segments.hold([block]);
            self.waiting.hold(block);
        } else {
            self.hand_back(block);
        }
    }

    /// Gives a free segment to the rule that keeps them.
    pub(crate) fn hand_back(&mut self, block: u32) {
        self.policies.wear.freed(block, &self.segments);
    }

    /// Frees a segment after all blocks have moved, or leaves it alone if one could not be read.
    pub(crate) fn free_if_empty(&mut self, block: u32) {
        if self.segments.get(block).valid == 0 {
            self.free(block);
        } else {
            self.segments.change(block, |segment| segment.state = State::Stuck);
        }
    }

    /// Allows a segment to be cleaned again, and frees it if nothing lives in it.
    pub(crate) fn leave_alone_no_more(&mut self, block: u32) {
        let segment = self.segments.get(block);
        if segment.state != State::Stuck {
            return;
        }
        if segment.valid == 0 {
            return self.free(block);
        }
        self.segments.change(block, |segment| segment.state = State::Sealed);
        self.offer(block);
    }

    /// Allows a sealed segment to be cleaned.
    pub(crate) fn offer(&mut self, block: u32) {
        let view = self.segments.get(block).view(self.shape.capacity(), self.clock);
        self.policies.selector.sealed(block, &view, self.clock);
        self.policies.wear.sealed(block, &view);
    }

    /// Takes a segment off those that may be cleaned; false if it is none of them.
    pub(crate) fn take_sealed(&mut self, block: u32) -> bool {
        self.segments.get(block).state == State::Sealed && self.policies.selector.remove(block)
    }

    pub(crate) fn set_states(&mut self, blocks: &[u32], state: State) {
        for block in blocks {
            self.segments.change(*block, |segment| segment.state = state);
        }
    }

    /// Hands segments back that hold nothing.
    pub(crate) fn give_back(&mut self, blocks: impl IntoIterator<Item = u32>) {
        for block in blocks {
            self.segments.change(block, |segment| segment.state = State::Free);
            self.hand_back(block);
        }
    }

    /// The result of a step that a full chip may have kept from its end: `None` if it did.
    pub(crate) fn unless_full<T>(&self, done: Result<T>) -> Result<Option<T>> {
        match done {
            Err(FtlError::WornOut) if self.status.mode() == Mode::Dirty => Ok(None),
            done => done.map(Some),
        }
    }

    /// Notices the end of the chip's life: some segments before the last, as far as the chip ever had more than it needs,
    /// for those that fail at a time. It has come, too, where one good block is left for anchors: repairs need its pages.
    pub(crate) fn check_wear(&mut self) {
        let needed = segments_needed(&self.shape, self.logical_blocks(), self.checkpoint_most());
        let first = self.segments.usable().saturating_add(self.segments.failures());
        let needed = needed + first.saturating_sub(needed).min(FAILURES_MOST);
        let is_written = matches!(self.status.mode(), Mode::Clean | Mode::Replayed { .. } | Mode::Dirty);
        let is_over = self.segments.usable() < needed || self.recorded.roots.are_at_last_block();
        if is_over && is_written {
            self.status.wear_out();
        }
    }

    /// Segments that the chip has beyond those that the disk needs.
    pub(crate) fn unneeded(&self) -> u32 {
        let needed = segments_needed(&self.shape, self.logical_blocks(), self.checkpoint_most());
        self.segments.usable().saturating_sub(needed)
    }

    /// Those besides a checkpoint's, as far as there are as many.
    pub(crate) fn kept_besides(&self) -> u32 {
        let unclean = u32::from(self.status.start != Start::Checkpoint);
        self.segments.failures().min(FAILURES_MOST) + unclean
    }

    /// Marks segments bad that have been emptied.
    pub(crate) fn bury(&mut self) -> Result<()> {
        while let Some(block) = self.waiting.take_doomed() {
            self.flash.medium.mark_bad(block)?;
            self.segments.change(block, |segment| segment.state = State::Bad);
        }
        self.check_wear();
        Ok(())
    }

    /// Hands segments to the policies: free ones, and sealed ones in the order in which they last changed.
    pub(crate) fn hand_out(&mut self) {
        let now = self.clock;
        let mut sealed = Vec::new();
        for block in 0..self.shape.blocks {
            let segment = self.segments.get(block);
            match segment.state {
                State::Free if segment.trims => self.waiting.hold(block),
                State::Free => self.hand_back(block),
                State::Sealed => sealed.push((now.wrapping_sub(segment.changed), block)),
                _ => {}
            }
        }
        sealed.sort_unstable_by_key(|(age, block)| (core::cmp::Reverse(*age), *block));
        for (_, block) in sealed {
            self.offer(block);
        }
    }
}
