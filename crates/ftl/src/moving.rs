//! A segment that is being emptied, a few blocks at a time.

use alloc::{vec, vec::Vec};

use pumice_cleaning::Cleaned;
use pumice_flashlog::Pace;

use crate::idle::Idle;
use crate::tag::Entry;

/// The cleaner between two calls.
#[derive(Default)]
pub(crate) struct Cleaner {
    /// The segment that is emptied beside the writes of users.
    pub(crate) moving: Option<Move>,
    pub(crate) idle: Idle,
}

/// The segment, and the blocks that have yet to move.
pub(crate) struct Move {
    pub(crate) victim: u32,
    /// The segment as placement sees it.
    pub(crate) from: Cleaned,
    pub(crate) pace: Pace,
    /// Blocks that were live when the move began, in the order in which they move. Users may have written them since.
    left: vec::IntoIter<Entry>,
}

impl Move {
    /// A move of these blocks, which are all that lives in the segment.
    pub(crate) fn new(victim: u32, from: Cleaned, blocks: Vec<Entry>) -> Move {
        let pace = Pace::new(from.segment.valid, from.segment.capacity);
        Move { victim, from, pace, left: blocks.into_iter() }
    }

    /// Takes the next block.
    pub(crate) fn next(&mut self) -> Option<Entry> {
        self.left.next()
    }
}
