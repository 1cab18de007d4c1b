//! The search for the least worn block that is written.

use alloc::boxed::Box;

use pumice_cleaning::wear::Swap;

use crate::blocks::Usage;
use crate::params::ANCHOR_BLOCKS;

/// Blocks opened for each levelling: other work has its turn.
const OPENED: u64 = 2;

/// A search for the least worn written block.
pub(crate) struct Leveler {
    /// The rule for moving a block's data.
    rule: Box<dyn Swap + Send>,
    /// The block that it looks at next.
    hand: u32,
    /// The best since the last move: erases and block.
    least: Option<(u32, u32)>,
    /// Bytes moved.
    moved: u64,
    /// Blocks opened since the mount, at the last question.
    opened: u64,
}

impl Leveler {
    pub(crate) fn new(rule: Box<dyn Swap + Send>) -> Leveler {
        Leveler { rule, hand: 0, least: None, moved: 0, opened: 0 }
    }

    /// True if the data of a block erased so often moves into one that was erased `worn` times.
    pub(crate) fn is_due(&self, usage: &Usage, worn: u32) -> bool {
        self.rule.is_due(usage.erases, worn)
    }

    /// Remembers a block if it is less worn than all since the last move.
    pub(crate) fn see(&mut self, block: u32, usage: &Usage) {
        if self.least.is_none_or(|(erases, _)| usage.erases < erases) {
            self.least = Some((usage.erases, block));
        }
    }

    /// The next block of the search, on a chip of so many.
    pub(crate) fn next(&mut self, blocks: u32) -> u32 {
        self.hand += 1;
        if !(ANCHOR_BLOCKS..blocks).contains(&self.hand) {
            self.hand = ANCHOR_BLOCKS;
        }
        self.hand
    }

    /// The least worn block seen since the last move.
    pub(crate) fn least(&self) -> Option<u32> {
        self.least.map(|(_, block)| block)
    }

    /// Begins anew: the least worn block is another now.
    pub(crate) fn forget(&mut self) {
        self.least = None;
    }

    /// Counts moved bytes.
    pub(crate) fn count_moved(&mut self, bytes: u32) {
        self.moved += u64::from(bytes);
    }

    /// Bytes moved since the mount.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved
    }

    /// True once for each few opened blocks; `opened` counts those since the mount.
    pub(crate) fn is_its_turn(&mut self, opened: u64) -> bool {
        let turn = opened >= self.opened + OPENED;
        if turn {
            self.opened = opened;
        }
        turn
    }
}
