//! Free segments: opening heads, and cleaning before there are too few.
//!
//! Neither space nor any number of power cuts ends a disk. C is the number of segments that a checkpoint takes with
//! the heads as they are, a page more in each, and one full head more.
//!
//! 1. A start writes nothing but a copy of a clean record, which needs one free segment and gives one back. It
//!    replays in memory, and the first change makes a checkpoint. Until its record is there nothing counts that it
//!    wrote.
//! 2. Between two operations, and after every cut, C segments are free or wait for a commit alone. A checkpoint
//!    takes C and gives the old ones back; its record needs none, or one that is exchanged for another before the
//!    parts are written.
//! 3. A user's block is written only if what lives in any one segment can be copied besides, to a further free
//!    segment or to open heads. So a program that fails while something is cleaned still finds a place. A head is
//!    opened for users only while C stay free.
//! 4. Where pages have tags the cleaner may take one of the C for copies alone: their originals stay until all have
//!    moved and are committed, blocks before trims. If the power goes in between and fewer than C are free, the next
//!    start undoes the move (`undo.rs`): it replays without the segment begun last. The first change then writes an
//!    anchor that declares the segment's pages void, before it may be erased.
//! 5. A segment with trims is free only after a checkpoint. If it is to be cleaned and 3 does not hold, a
//!    checkpoint is made first.
//! 6. There is always something to clean. Take U good segments, 2 of records, K <= C of the checkpoint. If U - 2 -
//!    K - C - 1 of them hold all logical blocks, one of the others has garbage; what lies in open heads comes free
//!    when a head is ended early.
//! 7. Segments that fail are each a loss that 2 and 3 survive once at a time. After the first, up to three more
//!    segments stay free, as far as the chip has more than the disk needs.
//! 8. The segments set apart for leaves and not yet taken stay free beside C, in 2, 3 and 4. Before the last of
//!    them is full another one is empty: the one with the fewest leaves is at most four fifths full, and its leaves
//!    go before all others then.
//! 9. No call waits for a whole segment to be cleaned, as a rule. Users leave some segments free; while fewer than two
//!    more are, each block that they write moves a few out of the next victim (`Server::clean_beside`). A block
//!    whose head has no segment yet goes to another head meanwhile. Where the disk needs the whole chip, nothing is
//!    cleaned ahead.

use pumice_cleaning::Class;
use pumice_media::NandError;

use crate::commit::TRIM_COPIES;
use crate::counters::Start;
use crate::error::{FtlError, Result};
use crate::head::{Head, MOVING};
use crate::layout::{RawHead, count32};
use crate::segments::State;
use crate::server::Server;
use crate::shape::Shape;
use crate::status::Mode;
use crate::stream::{changes_of_segments, map_segments, segments_with};

/// Segments that a disk needs beyond those of the logical blocks and of two checkpoints. Two hold the records of
/// checkpoints, one takes the cleaner's copies, one leaves always something to clean, and one is for a program that
/// fails.
const SPARE_LEAST: u32 = 5;

/// Segments that a disk of `logical_blocks` needs in all, besides the anchors.
pub(crate) fn segments_needed(shape: &Shape, logical_blocks: u32, checkpoint_most: u32) -> u32 {
    // If a commit costs pages, more must be cleaned: summaries, a page that is not full, and pages passed over in the
    // heads that took the copies. Each segment cleaned counts as if each head took some from it.
    let commit = if shape.tagged { 0 } else { shape.slots * shape.summaries + shape.slots - 1 };
    let passed = if shape.is_paired() { (shape.lost + 1) * HEADS_COPIED_TO / (batch(shape) + 1) } else { 0 };
    let commit = commit + passed * shape.slots;
    let data = logical_blocks.div_ceil(shape.capacity().saturating_sub(commit).max(1));
    let map = map_segments(shape, logical_blocks);
    data.saturating_add(2 * checkpoint_most).saturating_add(map + SPARE_LEAST + batch(shape))
}

/// Segments that may fail one after the other, after a first failure, before the cleaner has made up for them.
const FAILURES_MOST: u32 = 3;
/// Free segments kept where a commit costs pages.
const BATCHED_LEAST: u32 = 2;

/// Heads that the cleaner copies to between two commits where these cost pages: more than the default placement has.
const HEADS_COPIED_TO: u32 = 8;

/// Cleaned segments that may wait for one commit together.
fn batch(shape: &Shape) -> u32 {
    if shape.is_batched() { 3 } else { 0 }
}

/// Segments that are opened between two checkpoints at the least.
const OPENED_LEAST: u32 = 32;

/// Free segments that cleaning beside the writes of users keeps ready for their heads.
const AHEAD: u32 = 2;

/// The share of the disk that one burst writes.
const BURST_SHARE: u32 = 10;

/// Segments cleaned, and commits between, that need not make room for one more head.
const TURNS_IN_VAIN: u32 = 16;

/// The step that gets a user's block its head.
enum Next {
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
        let heads = || self.log.heads.open.iter().flatten();
        let pages = heads().map(|head| (head.index + self.log.shape.reach) as usize).sum::<usize>()
            + self.log.shape.pages as usize;
        let bytes = (heads().count() + 1) * size_of::<RawHead>() + pages * self.log.shape.named_bytes();
        segments_with(&self.log.shape, self.map.table.len(), bytes, 0) + self.map.log.untaken()
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
            return opened;
        }
        // Summaries have to list them, and the heads.
        let (room, heads) = (self.log.shape.listed_most(), u32::from(self.log.policies.placement.classes()));
        debug_assert!(heads < room, "a summary lists {room} segments, and there are {heads} heads");
        opened.min(room.saturating_sub(heads))
    }

    /// True if head `at` is open; takes over one that placement wants no more.
    fn is_open(&mut self, at: usize) -> bool {
        let wanted = usize::from(self.log.policies.placement.classes());
        if self.log.heads.open.get(at).is_some_and(Option::is_some) {
            return true;
        }
        let unwanted = self.log.heads.open.get_mut(wanted..MOVING).unwrap_or_default();
        let Some(mut head) = unwanted.iter_mut().find_map(Option::take) else { return false };
        let class = u8::try_from(at).unwrap_or(u8::MAX);
        head.contents.class = class;
        self.log.segments.change(head.block, |segment| segment.class = class);
        if let Some(slot) = self.log.heads.open.get_mut(at) {
            *slot = Some(head);
        }
        true
    }

    /// Free segments that users leave: those of a checkpoint and, as far as the chip has more than it needs, some more.
    /// These are for the next failures, once segments have failed, and one after a power cut, for another may follow.
    fn kept(&self) -> u32 {
        let least = if self.log.shape.is_batched() { BATCHED_LEAST } else { 0 };
        let kept = self.for_checkpoint().max(least);
        match self.kept_besides() {
            0 => kept,
            wanted => kept + wanted.min(self.unneeded()),
        }
    }

    /// Those besides a checkpoint's, as far as there are as many.
    fn kept_besides(&self) -> u32 {
        let unclean = u32::from(self.log.status.start != Start::Checkpoint);
        self.log.segments.failures().min(FAILURES_MOST) + unclean
    }

    /// Segments that the chip has beyond those that the disk needs.
    fn unneeded(&self) -> u32 {
        let needed = segments_needed(&self.log.shape, self.map.table.len(), self.checkpoint_most());
        self.log.segments.usable().saturating_sub(needed)
    }

    /// Segments that heads of users may open once those that wait for a commit are free, and the number that cleaning
    /// beside their writes keeps, as far as the chip has more than it needs.
    pub(crate) fn ahead(&self) -> (u32, u32) {
        let free = self.log.policies.wear.free() + count32(self.log.waiting.for_commit(&self.log.segments));
        let wanted = AHEAD.min(self.unneeded().saturating_sub(self.kept_besides()));
        (free.saturating_sub(self.kept_to_open()), wanted)
    }

    /// Free segments of which none is opened for users.
    fn kept_to_open(&self) -> u32 {
        // Where a commit costs pages several segments are cleaned for one.
        self.kept() + batch(&self.log.shape).saturating_sub(1)
    }

    /// Free segments that idle time brings the disk to: enough for a burst of a tenth of its blocks. Half of those that
    /// cleaning can win are enough, if they are fewer.
    pub(crate) fn idle_stock(&self) -> u32 {
        let in_segments = |blocks: u64| {
            u32::try_from(blocks.div_ceil(self.log.shape.capacity().into())).unwrap_or(u32::MAX)
        };
        let heads = u32::from(self.log.policies.placement.classes());
        let least = self.kept() + batch(&self.log.shape) + 1;
        let taken =
            in_segments(self.map.table.live()) + map_segments(&self.log.shape, self.map.table.len()) + heads;
        let dead = self.log.segments.usable().saturating_sub(taken.saturating_add(least));
        let burst = in_segments(u64::from(self.map.table.len() / BURST_SHARE)) + heads;
        least + burst.min(dead / 2)
    }

    /// Pages left in the open heads, after a commit if that passes some over.
    fn room(&self) -> u32 {
        let heads = self.log.heads.open.iter().take(MOVING).flatten();
        heads.map(|head| self.log.shape.room(head.index + u32::from(!head.filled.is_empty()))).sum()
    }

    /// True if a page can be written behind a commit, and the segments of a checkpoint stay free.
    pub(crate) fn has_room_for_page(&self) -> bool {
        self.room() > 0 || self.log.policies.wear.free() > self.for_checkpoint()
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
        let room = u64::from(self.room()) * u64::from(shape.slots);
        let segments = free.checked_sub(kept);
        segments.is_some_and(|free| {
            u64::from(free) * u64::from(shape.capacity()) + room >= u64::from(shape.capacity())
        })
    }

    /// The next step before a user's block is written to a head, which may be open.
    fn next_for_user(&self, is_open: bool) -> Next {
        let (batch, free) = (batch(&self.log.shape), self.log.policies.wear.free());
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
        let is_short = !is_enough && waiting > 0 && !self.fits_open_heads();
        let is_waiting = waiting > batch || is_short || !self.trims.is_empty();
        let is_released = !is_open && for_commit > 0 && soon > self.kept_to_open();
        if is_waiting || is_released { Next::Release } else { Next::Clean }
    }

    /// True if a commit costs pages, and the open heads take what any one segment holds: a commit for each could cost all
    /// that cleaning wins.
    fn fits_open_heads(&self) -> bool {
        self.log.shape.is_batched() && self.room() * self.log.shape.slots >= self.log.shape.capacity()
    }

    /// The head for a user's block of a class: opened if need be, after cleaning if need be.
    pub(crate) fn head_for_user(&mut self, class: u8) -> Result<usize> {
        let at = usize::from(class).min(MOVING - 1);
        for turn in 0..self.log.shape.blocks.saturating_mul(4) {
            let is_open = self.is_open(at);
            match self.next_for_user(is_open) {
                // Another head has room, and the next segment is nearly free, or copies take those that are.
                Next::Clean if self.can_wait(turn) => return self.head_for_cleaner(class),
                Next::Write => return Ok(at),
                Next::Open => drop(self.open_head(at, class)?),
                Next::Release => self.release()?,
                Next::Clean if self.clean_or_checkpoint()? => {}
                Next::Clean if self.log.waiting.held() > 0 => self.release()?,
                Next::Clean => return self.head_for_cleaner(class),
            }
        }
        Err(FtlError::WornOut)
    }

    /// True if a user's block may go to another head than its own: its own is opened later.
    fn can_wait(&self, turn: u32) -> bool {
        let is_soon = self.log.cleaner.moving.is_some() || turn >= TURNS_IN_VAIN;
        is_soon && self.is_enough(self.log.policies.wear.free())
    }

    /// Cleans until so many segments are free, as far as that goes; true if something was written. Where programs and
    /// erases fail, more segments are needed than were kept.
    pub(crate) fn make_room(&mut self, segments: u32) -> Result<bool> {
        let before = self.log.flash.sequence;
        for _ in 0..self.log.shape.blocks {
            if self.log.policies.wear.free() >= segments || (!self.clean()? && !self.end_head()?) {
                break;
            }
            self.commit()?;
        }
        Ok(self.log.flash.sequence > before)
    }

    /// Ends the head with the most garbage, so that it can be cleaned; false if there is none.
    fn end_head(&mut self) -> Result<bool> {
        self.commit()?;
        let garbage = |head: &Head| {
            (head.index * self.log.shape.slots).saturating_sub(self.log.segments.get(head.block).valid)
        };
        let heads = self.log.heads.open.iter().enumerate().take(MOVING);
        let most = heads.filter_map(|(at, head)| Some((garbage(head.as_ref()?), at))).max();
        let Some((1.., at)) = most else { return Ok(false) };
        if let Some(head) = self.log.heads.open.get_mut(at).and_then(Option::take) {
            self.seal(at, head)?;
        }
        Ok(true)
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
        self.head_above(class, self.for_checkpoint())
    }

    /// The same, where opening it must leave so many free segments.
    pub(crate) fn head_above(&mut self, class: u8, least: u32) -> Result<usize> {
        let at = usize::from(class).min(MOVING - 1);
        if self.is_open(at) {
            return Ok(at);
        }
        let near = self.nearest(at);
        let is_needed = |free| near.is_none() && free > 0;
        while is_needed(self.log.policies.wear.free()) || self.log.policies.wear.free() > least {
            if self.open_head(at, class)? {
                return Ok(at);
            }
        }
        near.ok_or(FtlError::WornOut)
    }

    fn nearest(&self, at: usize) -> Option<usize> {
        let open = self.log.heads.open.iter().enumerate().take(MOVING).filter(|(_, head)| head.is_some());
        open.map(|(near, _)| near).min_by_key(|near| near.abs_diff(at))
    }

    /// Opens a head; false if its segment turned out bad or there is none.
    fn open_head(&mut self, at: usize, class: u8) -> Result<bool> {
        let Some(block) = self.take_to_open(class)? else { return Ok(false) };
        if !self.erase(block)? {
            return Ok(false);
        }
        let now = self.log.clock;
        self.log.segments.change(block, |segment| {
            (segment.state, segment.class, segment.used) = (State::Open, class, 0);
            (segment.opened, segment.sealed, segment.changed) = (now, now, now);
        });
        self.log.recorded.listed.add(block, 0);
        let head = Head::new(&self.log.shape, block, class, self.log.segments.get(block).erases, now);
        if let Some(slot) = self.log.heads.open.get_mut(at) {
            *slot = Some(head);
        }
        Ok(true)
    }

    /// Takes a free segment and erases it; `None` if there is none.
    pub(crate) fn take_free(&mut self, class: u8) -> Result<Option<u32>> {
        while let Some(block) = self.log.policies.wear.allocate(Class(class)) {
            if self.erase(block)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Erases a segment; false if the chip failed to, and the segment is marked bad.
    pub(crate) fn erase(&mut self, block: u32) -> Result<bool> {
        if self.log.segments.get(block).is_unasked && self.went_bad(block)? {
            self.check_wear();
            return Ok(false);
        }
        if self.log.segments.get(block).valid > 0 {
            // Old blocks must not be counted off later, from what is written next.
            self.count_off_all()?;
        }
        debug_assert!(
            self.log.aftermath.surveys.is_empty(),
            "segment {block} is erased, and remembered as it was"
        );
        let is_listed = self.log.recorded.listed.erase(block);
        debug_assert!(self.log.shape.tagged || !is_listed, "segment {block} is listed, and erased");
        match self.log.flash.medium.erase(block) {
            Ok(()) => {
                self.log.segments.change(block, |segment| {
                    segment.erases = segment.erases.saturating_add(1);
                    (segment.weak, segment.reads) = (false, 0);
                    (segment.trims, segment.valid) = (false, 0);
                });
                self.log.status.counters.erases += 1;
                Ok(true)
            }
            Err(NandError::EraseFailed(_)) => {
                self.log.segments.change(block, |segment| segment.state = State::Bad);
                self.log.flash.medium.mark_bad(block)?;
                self.check_wear();
                Ok(false)
            }
            Err(error) => self.log.status.fail(error),
        }
    }

    /// True if a segment of which nobody knew turned bad before the power cut.
    pub(crate) fn went_bad(&mut self, block: u32) -> Result<bool> {
        let is_bad = self.log.flash.medium.is_bad(block)?;
        self.log.segments.change(block, |segment| {
            segment.is_unasked = false;
            if is_bad {
                segment.state = State::Bad;
            }
        });
        Ok(is_bad)
    }

    /// Lets go of free segments that wait for a commit or a checkpoint.
    fn release(&mut self) -> Result<()> {
        // If their pages would take the segments kept for a checkpoint, that drops the trims itself.
        let is_tight = self.log.shape.tagged && self.log.policies.wear.free() <= self.for_checkpoint();
        if self.trims.is_empty() || !is_tight || self.room() >= TRIM_COPIES {
            self.commit()?;
            if self.log.waiting.held() == 0 {
                return Ok(());
            }
        }
        self.checkpoint()
    }

    /// The invariant of the reserve: a checkpoint can be made now. It may be broken where segments failed.
    pub(crate) fn is_covered(&self) -> bool {
        let free = self.log.policies.wear.free() as usize + self.log.waiting.for_commit(&self.log.segments);
        let failed = || self.log.segments.iter().any(|(_, s)| matches!(s.state, State::Bad | State::Stuck));
        free >= self.wanted() as usize || failed()
    }

    /// Notices the end of the chip's life: some segments before the last, as far as the chip ever had more than it needs,
    /// for those that fail at a time.
    pub(crate) fn check_wear(&mut self) {
        let needed = segments_needed(&self.log.shape, self.map.table.len(), self.checkpoint_most());
        let first = self.log.segments.usable().saturating_add(self.log.segments.failures());
        let needed = needed + first.saturating_sub(needed).min(FAILURES_MOST);
        let is_written = matches!(self.log.status.mode, Mode::Clean | Mode::Replayed { .. } | Mode::Dirty);
        if self.log.segments.usable() < needed && is_written {
            self.log.status.mode = Mode::WornOut;
        }
    }
}
