//! Segments that wait for a commit or a checkpoint.

use alloc::vec::Vec;

use crate::segments::Segments;

/// The segments.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Free segments that must not be erased before the next commit or, if they hold trims, checkpoint.
    limbo: Vec<u32>,
    /// Those to be marked bad once their live blocks are safe elsewhere.
    doomed: Vec<u32>,
}

impl Waiting {
    /// Adds a segment that is free, and must not be erased yet.
    pub(crate) fn hold(&mut self, block: u32) {
        self.limbo.push(block);
    }

    /// A segment that failed.
    pub(crate) fn doom(&mut self, block: u32) {
        self.doomed.push(block);
    }

    /// One of those that failed, which is forgotten.
    pub(crate) fn take_doomed(&mut self) -> Option<u32> {
        self.doomed.pop()
    }

    pub(crate) fn has_doomed(&self) -> bool {
        !self.doomed.is_empty()
    }

    /// The free segments that wait.
    pub(crate) fn free(&self) -> impl Iterator<Item = u32> {
        self.limbo.iter().copied()
    }

    /// Free segments that wait.
    pub(crate) fn held(&self) -> usize {
        self.limbo.len()
    }

    /// Those that wait for a commit alone.
    pub(crate) fn for_commit(&self, segments: &Segments) -> usize {
        self.limbo.iter().filter(|block| !segments.get(**block).trims).count()
    }

    /// Takes those that waited for a commit, which was made, in the order in which they came.
    pub(crate) fn committed(&mut self, segments: &Segments) -> Vec<u32> {
        let (held, free) = self.limbo.drain(..).partition(|block| segments.get(*block).trims);
        self.limbo = held;
        free
    }

    /// Takes all that waited for a checkpoint, which was made.
    pub(crate) fn checkpointed(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.limbo)
    }
}
