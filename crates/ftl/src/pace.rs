//! The pace of changes: the work that each of them does for the next ones. Heads are opened for users, segments cleaned
//! beside their writes, leaves of the map and checkpoints written.

use crate::commit::TRIM_COPIES;
use crate::error::{FtlError, Result};
use crate::head::MOVING;
use crate::server::Server;
use crate::space::Next;
use crate::status::Mode;

/// Segments cleaned, and commits between, that need not make room for one more head.
const TURNS_IN_VAIN: u32 = 16;

impl Server<'_> {
    /// The head for a user's block of a class: opened if need be, after cleaning if need be.
    pub(crate) fn head_for_user(&mut self, class: u8) -> Result<usize> {
        let at = usize::from(class).min(MOVING - 1);
        for turn in 0..self.log.shape.blocks.saturating_mul(4) {
            let is_open = self.log.is_open(at);
            match self.next_for_user(is_open, turn >= TURNS_IN_VAIN) {
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

    /// Lets go of free segments that wait for a commit or a checkpoint.
    fn release(&mut self) -> Result<()> {
        // If their pages would take the segments kept for a checkpoint, that drops the trims itself.
        let is_tight = self.log.shape.tagged && self.log.policies.wear.free() <= self.for_checkpoint();
        if self.log.heads.trims.is_empty() || !is_tight || self.log.room() >= TRIM_COPIES {
            self.commit()?;
            if self.log.waiting.held() == 0 {
                return Ok(());
            }
        }
        self.checkpoint()
    }

    /// Makes sure that trimmed ranges can be written.
    pub(crate) fn room_for_trims(&mut self) -> Result<()> {
        if !self.log.heads.trims.is_empty() {
            self.head_for_user(0)?;
        }
        Ok(())
    }

    /// The same, or a checkpoint instead: a segment with trims stays until a checkpoint drops them. If a segment kept
    /// for the checkpoint were taken to clean that one, no checkpoint could be made.
    fn clean_or_checkpoint(&mut self) -> Result<bool> {
        if !self.begin_move()? {
            return Ok(false);
        }
        if self.needs_checkpoint() {
            self.checkpoint()?;
            return Ok(true);
        }
        self.finish_move()
    }

    /// True if the segment that is being emptied holds trims, and a checkpoint has to drop them first.
    fn needs_checkpoint(&self) -> bool {
        let moving = self.log.cleaner.moving.as_ref();
        moving.is_some_and(|moving| self.log.segments.get(moving.victim).trims)
            && !self.is_enough(self.log.policies.wear.free())
    }

    /// Cleans beside a block that a user writes: as long as few segments are free, so many blocks move out of the next
    /// victim that it is empty in time.
    pub(crate) fn clean_beside(&mut self) -> Result<()> {
        let (ahead, wanted) = self.ahead();
        if ahead >= wanted || !self.begin_move()? || self.needs_checkpoint() {
            return Ok(());
        }
        let Some(mut moving) = self.log.cleaner.moving.take() else { return Ok(()) };
        let mut due = moving.pace.due(1, ahead + 1 < wanted);
        // Users write beside the copies: those that a checkpoint takes stay free.
        while due > 0 && self.has_room_for_page() {
            if !self.move_one(&mut moving, 0)? {
                return self.end_move(&moving);
            }
            due -= 1;
        }
        self.log.cleaner.moving = Some(moving);
        Ok(())
    }

    /// Writes leaves if many have changed, or a segment of them is to be emptied. A group is written with each change,
    /// more only if a checkpoint would hardly have room for the changes.
    pub(crate) fn pace_map(&mut self) -> Result<()> {
        let most = self.map.changes_most(&mut self.log);
        while self.map.log.is_used()
            && (self.map.table.changes_bytes() > most / 8 * 3 || self.map.log.has_weak())
        {
            if self.map.log.untaken() == 0 && self.map.log.has_idle() && self.has_room_for_checkpoint() {
                return self.checkpoint();
            }
            if !self.map.has_map_room(&mut self.log) {
                break;
            }
            self.map.write_group(&mut self.log)?;
            if self.map.table.changes_bytes() <= most / 16 * 15 {
                break;
            }
        }
        Ok(())
    }

    /// The work after each change: segments that failed are left, and a checkpoint is made when one is due.
    pub(crate) fn after_change(&mut self) -> Result<()> {
        if !self.log.heads.failing().is_empty() || self.log.waiting.has_doomed() {
            self.commit()?;
        }
        self.map.count_off_some(&mut self.log)?;
        self.pace_map()?;
        if self.log.recorded.opened.count() >= self.opened_most() && self.has_room_for_checkpoint() {
            self.checkpoint()?;
        }
        debug_assert!(self.log.status.mode() != Mode::Dirty || self.is_covered(), "no room for a checkpoint");
        Ok(())
    }
}
