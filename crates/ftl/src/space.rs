//! Free segments: how many are kept for a checkpoint, for users and for the cleaner.
//!
//! Neither space nor any number of power cuts ends a disk. C is the number of segments that a checkpoint takes at the
//! most with the heads as they are, a page more in each, and one full head more. Below, C free ones are 2 C - K.
//!
//! 1. A start writes nothing but a copy of a clean record, which needs one free segment and gives one back. It
//!    replays in memory, and the first change makes a checkpoint. Until its record is there nothing counts that it
//!    wrote.
//! 2. Between two operations, and after every cut, 2 C - K segments are free or wait for a commit alone, where the last
//!    checkpoint holds K <= C. The next one takes K' <= C and gives K back, so that 2 C - K' are free. Its record needs
//!    none, or one that is exchanged for another before the parts are written.
//! 3. A user's block is written only if what lives in any one segment can be copied besides, to a further free
//!    segment or to open heads. So a program that fails while something is cleaned still finds a place. A head is
//!    opened for users only while C stay free.
//! 4. Where pages have tags the cleaner may take one of the C for copies alone: their originals stay until all have
//!    moved and are committed, blocks before trims. If the power goes in between and fewer than C are free, the next
//!    start undoes the move (`undo.rs`): it replays without the segment begun last. The first change then writes an
//!    anchor that declares the segment's pages void, before it may be erased.
//! 5. A segment with trims is free only after a checkpoint. If it is to be cleaned and 3 does not hold, a
//!    checkpoint is made first.
//! 6. There is always something to clean. Take U good segments, 2 of records, K of the checkpoint and 2 C - K free. If
//!    U - 2 - 2 C - 1 of them hold all logical blocks, one of the others has garbage; what lies in open heads comes
//!    free when a head is ended early.
//! 7. Segments that fail are each a loss that 2 and 3 survive once at a time. After the first, up to three more
//!    segments stay free, as far as the chip has more than the disk needs.
//! 8. The segments set apart for leaves and not yet taken stay free beside C, in 2, 3 and 4. Before the last of
//!    them is full another one is empty: the one with the fewest leaves is at most four fifths full, and its leaves
//!    go before all others then.
//! 9. No call waits for a whole segment to be cleaned, as a rule. Users leave some segments free; while fewer than two
//!    more are, each block that they write moves a few out of the next victim (`Server::clean_beside`). A block
//!    whose head has no segment yet goes to another head meanwhile. Where the disk needs the whole chip, nothing is
//!    cleaned ahead.

use crate::head::Head;
use crate::layout::{RawHead, count32};
use crate::line::lines_of;
use crate::segment::State;
use crate::server::Server;
use crate::stream::{
    batch_besides, batch_least, changes_of_segments, map_segments, segments_of, segments_with,
};

/// Free segments kept where a commit costs pages.
const BATCHED_LEAST: u32 = 2;

/// Segments that are opened between two checkpoints at the least.
const OPENED_LEAST: u32 = 32;

/// Pages that a start may have to read for each page of the checkpoint: checkpoints take a fiftieth of all programs.
const READ_FOR_PAGE: u32 = 50;

/// Free segments that cleaning beside the writes of users keeps ready for their heads.
const AHEAD: u32 = 2;

/// The share of the disk that one burst writes.
const BURST_SHARE: u32 = 10;

/// The step that gets a user's block its head.
pub(crate) enum Next {
    /// It is open, and enough is free.
    Write,
    /// A free segment is opened.
    Open,
    /// Cleaned segments wait to be erased.
    Release,
    /// Something is cleaned.
    Clean,
}

impl Server<'_> {
    /// Free segments that a checkpoint may take, made now or when a segment was cleaned. They hold a page more in each
    /// head, with those passed over behind it, and one full head more; and the leaves of the table need some. Users
    /// leave as many free.
    pub(crate) fn for_checkpoint(&self) -> u32 {
        let heads = || self.log.heads.iter();
        let pages = heads().map(|head| (head.index + self.log.shape.reach) as usize).sum::<usize>()
            + self.log.shape.pages as usize;
        let bytes = (heads().count() + 1) * size_of::<RawHead>() + pages * self.log.shape.named_bytes();
        self.reserve(segments_with(&self.log.shape, self.map.table.len(), bytes))
    }

    /// Free segments for a checkpoint that takes so many at the most, and for the leaves. It may take more than the last
    /// one gives back; those left must do for another.
    fn reserve(&self, most: u32) -> u32 {
        let taken = count32(self.log.recorded.record.segments.len());
        most + most.saturating_sub(taken) + self.map.log.untaken()
    }

    /// True if there is room for a checkpoint that is not urgent.
    pub(crate) fn has_room_for_checkpoint(&self) -> bool {
        self.log.policies.wear.free() >= self.for_checkpoint()
    }

    /// Segments that are opened between two checkpoints: a quarter of the chip, or as many as a start may find without
    /// overfilling the next checkpoint.
    pub(crate) fn opened_most(&self) -> u32 {
        let most = self.log.shape.blocks / 4;
        let within = if self.map.log.is_used() {
            changes_of_segments(&self.log.shape, self.map.table.len())
        } else {
            most
        };
        let opened = within.min(most).max(OPENED_LEAST);
        if self.log.shape.tagged {
            // Without summaries a start reads all their pages.
            let read = self.log.recorded.record.pages * READ_FOR_PAGE / self.log.shape.pages;
            return if self.log.shape.summaries > 0 { opened } else { opened.min(read).max(OPENED_LEAST) };
        }
        // Summaries have to list them, and the heads.
        let (room, heads) = (self.log.shape.listed_most(), u32::from(self.log.policies.placement.classes()));
        debug_assert!(heads < room, "a summary lists {room} segments, and there are {heads} heads");
        opened.min(room.saturating_sub(heads))
    }

    /// Free segments that users leave: those of a checkpoint and, as far as the chip has more than it needs, some more.
    /// These are for the next failures, once segments have failed, and one after a power cut, for another may follow.
    fn kept(&self) -> u32 {
        let least = if self.log.shape.is_batched() { BATCHED_LEAST } else { 0 };
        let kept = self.for_checkpoint().max(least);
        match self.log.kept_besides() {
            0 => kept,
            wanted => kept + wanted.min(self.log.unneeded()),
        }
    }

    /// Segments that heads of users may open once those that wait for a commit are free, and the number that cleaning
    /// beside their writes keeps, as far as the chip has more than it needs.
    pub(crate) fn ahead(&self) -> (u32, u32) {
        let free = self.log.policies.wear.free() + count32(self.log.waiting.for_commit(&self.log.segments));
        let wanted = AHEAD.min(self.to_spare().saturating_sub(self.batch_besides()));
        (free.saturating_sub(self.kept_to_open()), wanted)
    }

    /// Segments that the chip has beyond those that the disk needs and those kept for failures.
    fn to_spare(&self) -> u32 {
        self.log.unneeded().saturating_sub(self.log.kept_besides())
    }

    /// Cleaned segments that wait for one commit beyond the least, as far as there are as many to spare.
    fn batch_besides(&self) -> u32 {
        batch_besides(&self.log.shape).min(self.to_spare())
    }

    /// Cleaned segments that may wait for one commit together.
    fn batch(&self) -> u32 {
        batch_least(&self.log.shape) + self.batch_besides()
    }

    /// Free segments of which none is opened for users.
    fn kept_to_open(&self) -> u32 {
        // Where a commit costs pages several segments are cleaned for one.
        self.kept() + self.batch().saturating_sub(1)
    }

    /// Free segments that idle time brings the disk to: enough for a burst of a tenth of its blocks. Half of those that
    /// cleaning can win are enough, if they are fewer.
    pub(crate) fn idle_stock(&self) -> u32 {
        let in_segments = |blocks: u64| {
            u32::try_from(blocks.div_ceil(self.log.shape.capacity().into())).unwrap_or(u32::MAX)
        };
        let heads = u32::from(self.log.policies.placement.classes());
        let least = self.kept() + self.batch() + 1;
        let taken =
            in_segments(self.map.table.live()) + map_segments(&self.log.shape, self.map.table.len()) + heads;
        let dead = self.log.segments.usable().saturating_sub(taken.saturating_add(least));
        let burst = in_segments(u64::from(self.map.table.len() / BURST_SHARE)) + heads;
        least + burst.min(dead / 2)
    }

    /// True if a page can be written behind a commit, and the segments of a checkpoint stay free.
    pub(crate) fn has_room_for_page(&self) -> bool {
        self.log.room() > 0 || self.log.policies.wear.free() > self.for_checkpoint()
    }

    /// True if so many free segments let the live blocks of any one segment be copied while a checkpoint's stay free:
    /// to a further one, or to the room in open heads. Where a commit costs pages it takes that room, and several
    /// segments wait for one commit.
    pub(crate) fn is_enough(&self, free: u32) -> bool {
        let shape = &self.log.shape;
        let kept = self.kept();
        if shape.is_batched() {
            return free > kept;
        }
        let room = u64::from(self.log.room()) * u64::from(shape.slots);
        let segments = free.checked_sub(kept);
        segments.is_some_and(|free| {
            u64::from(free) * u64::from(shape.capacity()) + room >= u64::from(shape.capacity())
        })
    }

    /// The next step before a user's block is written to a head, which may be open. If steps were in vain, for a commit
    /// cost all that cleaning won, more is cleaned for one.
    pub(crate) fn next_for_user(&self, is_open: bool, in_vain: bool) -> Next {
        let (batch, free) = (self.batch(), self.log.policies.wear.free());
        // Segments with trims wait for a checkpoint, which needs free ones itself.
        let waiting = u32::try_from(self.log.waiting.held()).unwrap_or(u32::MAX);
        let for_commit = self.log.waiting.for_commit(&self.log.segments);
        let soon = free.saturating_add(u32::try_from(for_commit).unwrap_or(u32::MAX));
        if is_open && free > 0 && self.is_enough(soon) {
            return Next::Write;
        }
        let is_enough = self.is_enough(free);
        if !is_open && is_enough && free > self.kept_to_open() {
            return Next::Open;
        }
        // Cleaned segments wait for pending trims.
        let is_short = !is_enough && waiting > 0 && !(in_vain && self.log.fits_open_heads());
        let is_waiting = waiting > batch || is_short || !self.log.heads.trims.is_empty();
        let is_released = !is_open && for_commit > 0 && soon > self.kept_to_open();
        if is_waiting || is_released { Next::Release } else { Next::Clean }
    }

    /// The invariant of the reserve: a checkpoint can be made now. It may be broken where segments failed.
    pub(crate) fn is_covered(&self) -> bool {
        let free = self.log.policies.wear.free() as usize + self.log.waiting.for_commit(&self.log.segments);
        let failed = || self.log.segments.iter().any(|(_, s)| matches!(s.state, State::Bad | State::Stuck));
        free >= self.wanted() as usize || failed()
    }

    /// Free segments that a checkpoint of the present heads takes at the most, with those set apart for leaves of the
    /// table.
    pub(crate) fn wanted(&self) -> u32 {
        self.reserve(segments_with(&self.log.shape, self.map.table.len(), self.heads_bytes()))
    }

    /// Segments of its pages if it is made now. Cost: a look at every segment.
    pub(crate) fn parts_now(&self) -> u32 {
        let changes = self.map.table.changes_bytes() as u64;
        let lines = lines_of(&self.log.segments, self.log.clock).map(|line| line.len() as u64).sum();
        segments_of(&self.log.shape, self.map.table.len(), self.heads_bytes(), changes, lines)
    }

    fn heads_bytes(&self) -> usize {
        let bytes = |head: &Head| size_of::<RawHead>() + head.index as usize * self.log.shape.named_bytes();
        self.log.heads.iter().map(bytes).sum()
    }
}
