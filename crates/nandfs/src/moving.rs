//! A block that is being emptied, a few chunks at a time.

use alloc::{vec, vec::Vec};

use pumice_cleaning::Cleaned;
use pumice_flashlog::Pace;

use crate::addr::Addr;
use crate::codec::{len32, size};
use crate::tag::Desc;

/// Log pages that one call pays for at the most, besides those that it fills itself. Others wait for the next call.
const PAID_MOST: u64 = 5;
/// Log pages that move out of a block in one such call, at the most, or so many times what the call fills itself.
const MOVED_MOST: u64 = 32;
const MOVED_TIMES: u64 = 16;
/// Log pages that move in a call out of a block that is not emptied for its space: chips of small blocks move it at once,
/// and cold data stays together.
const PIECE: u32 = 16;
/// The most that wait. A cache that is written back leaves many at once; those that nobody paid for would leave the supply
/// short, and checkpoints close together.
const UNPAID_MOST: u64 = 1024;

/// The cleaner between two calls.
#[derive(Default)]
pub(crate) struct Cleaner {
    /// The block that is emptied beside other calls.
    moving: Option<Move>,
    /// Bytes of live chunks copied since the mount.
    copied_bytes: u64,
    /// Pages written or passed over that no call paid for by cleaning.
    unpaid: u64,
    /// Pages of the log up to which they are counted.
    counted: u64,
    /// Calls that pay nothing.
    rests: u8,
}

impl Cleaner {
    /// The block that is emptied beside other calls.
    pub(crate) fn moving(&self) -> Option<&Move> {
        self.moving.as_ref()
    }

    /// Begins with a block, or goes on with it later.
    pub(crate) fn begin(&mut self, moving: Move) {
        debug_assert!(self.moving.is_none(), "one block at a time");
        self.moving = Some(moving);
    }

    /// Takes it.
    pub(crate) fn take(&mut self) -> Option<Move> {
        self.moving.take()
    }

    /// Takes it if it is emptied for this reason.
    pub(crate) fn take_for(&mut self, reason: Reason) -> Option<Move> {
        self.moving.take_if(|moving| moving.reason == reason)
    }

    /// Bytes of live chunks copied since the mount.
    pub(crate) fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// A live chunk was copied.
    pub(crate) fn count_copied(&mut self, bytes: u64) {
        self.copied_bytes += bytes;
    }

    /// Counts the pages since the last time, if the log has taken so many since the mount.
    pub(crate) fn count(&mut self, taken: u64) {
        self.unpaid = (self.unpaid + taken.saturating_sub(self.counted)).min(UNPAID_MOST);
        self.counted = taken;
    }

    /// Takes the pages that a call has to pay for that is about to fill so many itself.
    pub(crate) fn pay(&mut self, own: u64) -> u64 {
        let paid = self.unpaid.min(PAID_MOST.max(own));
        self.unpaid -= paid;
        paid
    }

    /// A checkpoint was made: so many calls pay nothing, lest one write with its fsync waits for both.
    pub(crate) fn rest(&mut self, calls: u8) {
        self.rests = calls;
    }

    /// True if it rests in this call.
    pub(crate) fn take_rest(&mut self) -> bool {
        let rests = self.rests > 0;
        self.rests = self.rests.saturating_sub(1);
        rests
    }

    /// Nothing has to be paid for.
    pub(crate) fn waive(&mut self) {
        self.unpaid = 0;
    }

    /// The pages since the last time are copies.
    pub(crate) fn skip(&mut self, taken: u64) {
        self.counted = taken;
    }
}

/// The blocks that cleaning has to work with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Supply {
    Ample,
    /// So few that the emptiest victim counts, and all survivors of files share a head.
    Lean,
}

/// The reason for emptying a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// Its dead space is wanted.
    Space,
    /// It is worn less than others.
    Wear,
    /// It may not keep what it holds.
    Danger,
}

/// The block, and the chunks that have yet to move.
pub(crate) struct Move {
    block: u32,
    reason: Reason,
    /// The block as placement sees it.
    from: Cleaned,
    /// It holds blocks of files.
    holds_data: bool,
    pace: Pace,
    /// Blocks that its survivors have opened.
    opened: u32,
    /// Chunks that were live when the move began, in the order in which they move.
    left: vec::IntoIter<(Addr, Desc)>,
}

impl Move {
    pub(crate) fn new(
        (block, reason): (u32, Reason),
        from: Cleaned,
        holds_data: bool,
        chunks: Vec<(Addr, Desc)>,
    ) -> Move {
        let pace = Pace::new(from.segment.valid, from.segment.capacity);
        Move { block, reason, from, holds_data, pace, opened: 0, left: chunks.into_iter() }
    }

    /// The block.
    pub(crate) fn block(&self) -> u32 {
        self.block
    }

    /// Why it is emptied.
    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    /// The block as placement sees it.
    pub(crate) fn from(&self) -> &Cleaned {
        &self.from
    }

    /// Blocks that its survivors have opened.
    pub(crate) fn opened(&self) -> u32 {
        self.opened
    }

    /// They have opened so many more.
    pub(crate) fn count_opened(&mut self, blocks: u32) {
        self.opened += blocks;
    }

    /// The block as placement is told of it: only if it holds blocks of files.
    pub(crate) fn data(&self) -> Option<&Cleaned> {
        Some(&self.from).filter(|_| self.holds_data)
    }

    /// Bytes to move beside a call that fills so many log pages of `page` bytes itself, and pays for `paid`.
    pub(crate) fn due(&mut self, own: u64, paid: u64, page: u32, in_haste: bool) -> u32 {
        if self.reason != Reason::Space {
            return PIECE * page;
        }
        let most = MOVED_MOST.max(MOVED_TIMES * own) * u64::from(page);
        let written = len32(size(paid * u64::from(page)));
        len32(size(most)).min(self.pace.due(written, in_haste))
    }

    /// Takes the next chunk.
    pub(crate) fn next(&mut self) -> Option<(Addr, Desc)> {
        self.left.next()
    }
}
