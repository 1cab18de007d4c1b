//! Copies of the parity of blocks that are being filled, in blocks of their own, on volumes that protect promises at
//! once (the design has the argument: "Parity").
//!
//! The newest copy of each such block lies in the blocks taken since everything was last copied anew: that happens when
//! they are full, and those before hold nothing then. Blocks that a cut left without parity are guarded by the copies
//! of the mount before, until their data has moved.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use pumice_media::NandError;
use pumice_vfs::Result;

use super::{Event, Pages, ROOT_HEAD};
use crate::error::device;
use crate::tag::COPIES;

/// Erase blocks with copies that a checkpoint names at the most.
pub(crate) const NAMED_MOST: usize = 12;

/// The places of copies.
#[derive(Default)]
pub(super) struct Copies {
    /// Blocks with the newest copies for those being filled, oldest first.
    current: Vec<u32>,
    /// The place of the next copy: block and number.
    next: Option<(u32, u32)>,
    /// Blocks with copies that were made before the mount, oldest first.
    kept: Vec<u32>,
    /// The blocks that those are kept for.
    guarded: BTreeSet<u32>,
}

impl Pages<'_> {
    /// Protects the pages behind a promise before it is given: they are brought back if some of them die, whether the
    /// power fails or not. All pages must have been programmed.
    pub(crate) fn protect(&mut self) -> Result<()> {
        if self.params.copy_blocks == 0 {
            return Ok(());
        }
        let mut due = self.medium.uncopied();
        let room = self.copies.next.map_or(0, |(_, number)| self.params.shape.copies() - number);
        let mut left = Vec::new();
        if !due.is_empty() && (room as usize) < due.len() {
            due = self.copy_anew(&mut left);
        }
        while let Some(block) = due.pop() {
            if !self.copy(block)? {
                due = self.copy_anew(&mut left);
            }
        }
        self.events.extend(left.into_iter().map(Event::Sealed));
        Ok(())
    }

    /// Gives up all copies, and leaves their blocks once there are others; returns the blocks that need new copies.
    fn copy_anew(&mut self, left: &mut Vec<u32>) -> Vec<u32> {
        left.append(&mut self.copies.current);
        self.copies.next = None;
        self.medium.forget_copies();
        self.medium.uncopied()
    }

    /// Copies the parity of a block; false if the program failed.
    fn copy(&mut self, block: u32) -> Result<bool> {
        let has_room = |(_, number): &(u32, u32)| *number < self.params.shape.copies();
        let (other, number) = match self.copies.next.filter(has_room) {
            Some(next) => next,
            None => (self.begin_copies()?, 0),
        };
        match self.medium.program_copy(block, (other, number)) {
            Ok(()) => self.copies.next = Some((other, number + 1)),
            Err(NandError::ProgramFailed(_)) => {
                self.report_failing(other);
                return Ok(false);
            }
            Err(error) => return Err(device(error)),
        }
        Ok(true)
    }

    /// Takes a block for copies, and marks its first page so.
    fn begin_copies(&mut self) -> Result<u32> {
        loop {
            let block = self.take_block(ROOT_HEAD.into())?;
            let tag = pumice_flashlog::Tag {
                kind: COPIES,
                flags: 0,
                seq: self.medium.next_seq(),
                body: Vec::new(),
            };
            let payload = vec![0; self.params.payload as usize];
            match self.medium.program(self.params.page(block, 0), &tag, &payload) {
                Ok(()) => {
                    self.copies.current.push(block);
                    return Ok(block);
                }
                Err(NandError::ProgramFailed(_)) => self.report_failing(block),
                Err(error) => return Err(device(error)),
            }
        }
    }

    /// Leaves the blocks of copies once nothing is being filled any more, unless there is parity that could not be
    /// programmed.
    pub(super) fn leave_copies(&mut self) {
        if self.medium.unended().is_empty() {
            self.copies.next = None;
            let left = core::mem::take(&mut self.copies.current);
            self.events.extend(left.into_iter().map(Event::Sealed));
        }
    }

    /// Keeps copies made before the mount for these blocks, which are to be moved.
    pub(crate) fn guard(&mut self, copies: &[u32], blocks: &[u32]) {
        self.copies.kept.extend(copies);
        self.copies.guarded.extend(blocks);
        self.medium.set_copies(self.copies.kept.clone(), self.guarded());
    }

    /// Guards any of these blocks, before recovery knows which the cut left without parity.
    pub(crate) fn guard_for_now(&mut self, copies: &[u32], blocks: impl Iterator<Item = u32>) {
        self.copies.kept.extend(copies);
        self.medium.set_copies(self.copies.kept.clone(), self.guarded().into_iter().chain(blocks));
    }

    /// A block that may have held copies made before the mount holds none.
    pub(crate) fn holds_none(&mut self, block: u32) {
        self.copies.kept.retain(|kept| *kept != block);
    }

    /// Blocks that copies made before the mount are kept for.
    pub(crate) fn guarded(&self) -> Vec<u32> {
        self.copies.guarded.iter().copied().collect()
    }

    /// Takes a block off those that need copies made before the mount; with the last one the copies are left.
    pub(crate) fn release(&mut self, block: u32) {
        self.copies.guarded.remove(&block);
    }

    /// Leaves the copies made before the mount if nothing needs them.
    pub(crate) fn leave_kept(&mut self) {
        if self.copies.guarded.is_empty() && !self.copies.kept.is_empty() {
            let left = core::mem::take(&mut self.copies.kept);
            self.events.extend(left.into_iter().map(Event::Sealed));
            self.medium.set_copies(Vec::new(), []);
        }
    }

    /// True if a block holds copies.
    pub(crate) fn holds_copies(&self, block: u32) -> bool {
        self.copies.current.contains(&block) || self.copies.kept.contains(&block)
    }

    /// A checkpoint's list of copies: their blocks, oldest first, and the blocks besides the open ones that have no
    /// parity but theirs. After many cuts in a row, none of which left time for moving anything, the oldest are not
    /// told.
    pub(crate) fn told_copies(&self) -> (Vec<u32>, Vec<u32>) {
        let mut copies: Vec<u32> = self.copies.kept.iter().chain(&self.copies.current).copied().collect();
        copies.drain(..copies.len().saturating_sub(NAMED_MOST));
        let unended = self.medium.unended().into_iter().filter(|block| !self.is_open(*block));
        let mut guarded: Vec<u32> = self.guarded().into_iter().chain(unended).collect();
        guarded.truncate(NAMED_MOST);
        (copies, guarded)
    }
}
