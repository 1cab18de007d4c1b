//! Free segments: opening heads, and cleaning before there are too few.

use pumice_cleaning::Class;
use pumice_media::{Nand, NandError};

use crate::error::{FtlError, Result};
use crate::ftl::{Ftl, Mode};
use crate::head::{Head, MOVING};
use crate::layout::RawHead;
use crate::segments::State;
use crate::shape::Shape;
use crate::stream::segments_with;

/// Segments beyond those of the logical blocks and of two checkpoints that a disk cannot do without: four to work
/// with, two that hold the records of checkpoints, and two that the cleaner can win for when a cut made those useless.
const SPARE_LEAST: u32 = 4 + 2 + ROOT_SEGMENTS;
/// Segments that the records of checkpoints take when they move. They do so before a checkpoint takes its own, or after
/// it, so that both need not be free at a time.
const ROOT_SEGMENTS: u32 = 2;

/// Segments that a disk of `logical_blocks` needs in all, besides the anchors.
pub(crate) fn segments_needed(shape: &Shape, logical_blocks: u32, checkpoint_most: u32) -> u32 {
    let data = logical_blocks.div_ceil(shape.capacity());
    // Where each commit may cost pages, cleaning must gain more than that.
    let commits = if shape.tagged { 0 } else { data.div_ceil(16) + batch(shape) };
    data.saturating_add(2 * checkpoint_most).saturating_add(SPARE_LEAST + commits)
}

/// Cleaned segments that may wait for one commit together.
fn batch(shape: &Shape) -> u32 {
    if shape.tagged { 0 } else { 3 }
}

impl<N: Nand> Ftl<N> {
    /// Free segments that users leave to the cleaner and the next checkpoint.
    pub(crate) fn reserve(&self) -> u32 {
        1 + self.for_checkpoint().max(ROOT_SEGMENTS)
    }

    /// Free segments that a checkpoint made now may take, with a page more in each head and one head more.
    pub(crate) fn for_checkpoint(&self) -> u32 {
        let heads = || self.heads.iter().flatten();
        let pages = heads().map(|head| head.index as usize + 1).sum::<usize>() + 1;
        let bytes = (heads().count() + 1) * size_of::<RawHead>() + pages * self.shape.named_bytes();
        segments_with(&self.shape, self.table.len(), bytes)
    }

    /// True if head `at` is open; takes over one that placement wants no more.
    fn is_open(&mut self, at: usize) -> bool {
        let wanted = usize::from(self.policies.placement.classes());
        if self.heads.get(at).is_some_and(Option::is_some) {
            return true;
        }
        let unwanted = self.heads.get_mut(wanted..MOVING).unwrap_or_default();
        let Some(mut head) = unwanted.iter_mut().find_map(Option::take) else { return false };
        let class = u8::try_from(at).unwrap_or(u8::MAX);
        head.contents.class = class;
        self.segments.change(head.block, |segment| segment.class = class);
        if let Some(slot) = self.heads.get_mut(at) {
            *slot = Some(head);
        }
        true
    }

    /// The head for a user's block of a class: opened if need be, after cleaning if need be.
    pub(crate) fn head_for_user(&mut self, class: u8) -> Result<usize> {
        let at = usize::from(class).min(MOVING - 1);
        let batch = batch(&self.shape);
        for _ in 0..self.shape.blocks.saturating_mul(4) {
            let reserve = self.reserve();
            let free = self.policies.wear.free();
            // Segments with trims wait for a checkpoint, which needs free ones itself.
            let held = self.limbo.iter().filter(|block| self.segments.get(**block).trims).count();
            let waiting = u32::try_from(self.limbo.len()).unwrap_or(u32::MAX);
            let soon = free.saturating_add(u32::try_from(self.limbo.len() - held).unwrap_or(u32::MAX));
            let is_open = self.is_open(at);
            if is_open && free > 1 && soon >= reserve {
                return Ok(at);
            }
            // Trims may need a segment to be written to, so they go before the cleaner takes the last.
            let is_waiting = waiting > 0 || !self.trims.is_empty();
            if !is_open && free > reserve + batch {
                self.open_head(at, class)?;
            } else if waiting > batch || (free <= reserve && is_waiting) {
                self.release()?;
            } else if !self.clean()? {
                return self.head_for_cleaner(class);
            }
        }
        Err(FtlError::WornOut)
    }

    /// Cleans until so many segments are free, as far as that goes; true if something moved. Where programs and erases
    /// fail, more segments are needed than were kept.
    pub(crate) fn make_room(&mut self, segments: u32) -> Result<bool> {
        let before = self.counters.cleaned;
        for _ in 0..self.shape.blocks {
            if self.policies.wear.free() >= segments || !self.clean()? {
                break;
            }
            self.commit()?;
        }
        Ok(self.counters.cleaned > before)
    }

    /// Makes sure that trimmed ranges can be written.
    pub(crate) fn room_for_trims(&mut self) -> Result<()> {
        if !self.trims.is_empty() {
            self.head_for_user(0)?;
        }
        Ok(())
    }

    /// The head for a copy of a class: its own or, where opening it would leave too few free segments, the nearest.
    pub(crate) fn head_for_cleaner(&mut self, class: u8) -> Result<usize> {
        let at = usize::from(class).min(MOVING - 1);
        if self.is_open(at) {
            return Ok(at);
        }
        let near = self.nearest(at);
        if near.is_none() || self.policies.wear.free() > self.for_checkpoint() {
            match self.open_head(at, class) {
                Ok(()) => return Ok(at),
                Err(FtlError::WornOut) => {}
                Err(error) => return Err(error),
            }
        }
        near.ok_or(FtlError::WornOut)
    }

    fn nearest(&self, at: usize) -> Option<usize> {
        let open = self.heads.iter().enumerate().take(MOVING).filter(|(_, head)| head.is_some());
        open.map(|(near, _)| near).min_by_key(|near| near.abs_diff(at))
    }

    fn open_head(&mut self, at: usize, class: u8) -> Result<()> {
        let block = self.take_free(class)?.ok_or(FtlError::WornOut)?;
        let now = self.clock;
        self.segments.change(block, |segment| {
            (segment.state, segment.class, segment.used) = (State::Open, class, 0);
            (segment.opened, segment.sealed, segment.changed) = (now, now, now);
        });
        let head = Head::new(&self.shape, block, class, self.segments.get(block).erases, now);
        if let Some(slot) = self.heads.get_mut(at) {
            *slot = Some(head);
        }
        self.opened += 1;
        Ok(())
    }

    /// Takes a free segment and erases it; `None` if there is none.
    pub(crate) fn take_free(&mut self, class: u8) -> Result<Option<u32>> {
        while let Some(block) = self.policies.wear.allocate(Class(class)) {
            if self.erase(block)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Erases a segment; false if the chip failed to, and the segment is marked bad.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool> {
        match self.flash.medium.erase(block) {
            Ok(()) => {
                self.segments.change(block, |segment| {
                    segment.erases = segment.erases.saturating_add(1);
                    (segment.trims, segment.valid) = (false, 0);
                });
                self.counters.erases += 1;
                Ok(true)
            }
            Err(NandError::EraseFailed(_)) => {
                self.segments.change(block, |segment| segment.state = State::Bad);
                self.flash.medium.mark_bad(block)?;
                self.check_wear();
                Ok(false)
            }
            Err(error) => self.fail(error),
        }
    }

    /// Lets go of free segments that wait for a commit or a checkpoint.
    fn release(&mut self) -> Result<()> {
        self.commit()?;
        if self.limbo.is_empty() {
            return Ok(());
        }
        self.checkpoint()
    }

    /// Notices the end of the chip's life.
    pub(crate) fn check_wear(&mut self) {
        let needed = segments_needed(&self.shape, self.table.len(), self.checkpoint_most);
        if self.segments.usable() < needed && matches!(self.mode, Mode::Clean | Mode::Dirty) {
            self.mode = Mode::WornOut;
        }
    }
}
