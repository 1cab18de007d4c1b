//! Room for a call: erase blocks are cleaned for their dead space, and checkpoints made in time.

use pumice_vfs::{Errno, Result};

use crate::codec::len32;
use crate::moving::Supply;
use crate::room::LEAN_BLOCKS;
use crate::volume::Volume;

/// Checkpoints in a row that may leave no more free blocks than there were, each after cleaning.
const IDLE_ROUNDS: u32 = 64;

/// Pages of an erase block with so many tags that a look at all of them is enough for one call.
const LONG_BLOCK: u32 = 32;

impl Volume<'_> {
    /// Makes sure that the blocks of the window suffice for all waiting writes, and for `extra` bytes of files more.
    pub(crate) fn make_room(&mut self, extra: usize) -> Result<()> {
        self.files.nodes.measure();
        let checkpoints = self.log.recorded.checkpoints();
        if self.log.reach.is_over(&self.log.pages) {
            self.checkpoint(false)?;
        }
        if self.files.is_laden(&self.log)
            && self.files.cache.dirty_bytes() > self.files.memory.budget() / 8 * 5
        {
            self.spill_cache()?;
        }
        if self.files.is_laden(&self.log) {
            self.checkpoint(false)?;
        }
        if !self.room().has_room(extra) {
            // Changes in memory have to be written anyway: perhaps the checkpoint can wait then.
            self.files.write_back_all(&mut self.log)?;
        }
        self.log.cleaner.count(self.log.pages.taken().pages);
        let waits = self.log.recorded.checkpoints() != checkpoints || self.log.cleaner.take_rest();
        if !waits && !self.prepare_checkpoint(extra)? {
            self.clean_beside(extra)?;
            self.tend(extra)?;
        }
        self.log.cleaner.skip(self.log.pages.taken().pages);
        if self.room().blocks_needed(extra) - self.room().blocks_needed(0) > len32(self.log.window_most()) / 2
        {
            return Err(Errno::NoSpace.into());
        }
        let (mut most, mut idle) = (0, 0);
        while !self.room().has_room(extra) {
            self.checkpoint(false)?;
            if self.room().has_room(extra) {
                break;
            }
            self.clean_for(extra)?;
            self.clean_lean(extra)?;
            if self.room().supply() > most {
                (most, idle) = (self.room().supply(), 0);
            } else {
                idle += 1;
            }
            if idle > IDLE_ROUNDS && !self.room().has_room(extra) {
                return Err(self.room().out_of_room(extra));
            }
        }
        Ok(())
    }

    /// Writes changed blocks of files to the log before memory runs out.
    fn spill_cache(&mut self) -> Result<()> {
        let target = self.files.memory.budget() / 2;
        self.files.write_back_from(
            &mut self.log,
            (0, 0),
            |files, _| files.cache.dirty_bytes() <= target,
            false,
        )
    }

    /// Cleans beside a call: as long as few blocks will be free at the next checkpoint, as much moves out of the next
    /// victim as the pages written since the last call pay for.
    fn clean_beside(&mut self, extra: usize) -> Result<()> {
        let (supply, stock) = (self.room().supply(), self.room().stock());
        if supply >= stock && self.log.cleaner.moving().is_none() {
            self.log.cleaner.waive();
            return Ok(());
        }
        let goes_on = self.log.cleaner.moving().is_some();
        if !self.room().has_room(extra) {
            return Ok(());
        }
        if !goes_on && !self.room().may_clean(extra) && !self.log.blocks.dying().is_empty() {
            // Its survivors have room of their own, but another victim's would not: emptied blocks are freed first.
            self.checkpoint(false)?;
            self.log.cleaner.count(self.log.pages.taken().pages);
            return Ok(());
        }
        if !self.log.begin_move(&mut self.files, Supply::Ample)? {
            self.log.cleaner.waive();
            return Ok(());
        }
        if !goes_on && self.log.params.pages_per_block >= LONG_BLOCK {
            return Ok(());
        }
        let own = extra.div_ceil(self.log.params.payload as usize) as u64;
        let paid = self.log.cleaner.pay(own);
        let Some(mut moving) = self.log.cleaner.take() else { return Ok(()) };
        let mut due = moving.due(own, paid, self.log.params.payload, self.room().is_short());
        let mut is_left = true;
        while is_left && due > 0 {
            let moved = self.log.move_next(&mut self.files, &mut moving, Supply::Ample)?;
            is_left = moved.is_some();
            due = due.saturating_sub(moved.unwrap_or(0));
        }
        if is_left {
            self.log.cleaner.begin(moving);
        } else {
            self.log.end_move(&moving);
        }
        Ok(())
    }

    /// Cleans until a call that writes so many bytes has its blocks at the next checkpoint, while the window has room for
    /// survivors.
    fn clean_for(&mut self, extra: usize) -> Result<()> {
        let enough = self.room().stock().min(self.room().blocks_needed(extra) + LEAN_BLOCKS);
        // Wrong counts in the block table must not keep it here forever.
        for _ in 0..self.log.params.blocks {
            if self.room().supply() >= enough
                || !self.room().may_clean(extra)
                || !self.log.clean_one(&mut self.files, Supply::Ample)?
            {
                break;
            }
        }
        self.tend(extra)
    }

    /// Begins to empty a block that has to be, or else to level wear, if no other block is being emptied. Others wait for
    /// the next call, or for idle time.
    fn tend(&mut self, extra: usize) -> Result<()> {
        if self.log.cleaner.moving().is_some() || !self.room().may_clean(extra) {
            return Ok(());
        }
        if self.log.has_urgent()
            && let Some(moving) = self.log.start_relief(&mut self.files)?
        {
            self.log.cleaner.begin(moving);
        }
        if self.log.cleaner.moving().is_none() && !self.room().is_short() {
            self.log.level_wear(&mut self.files)?;
        }
        Ok(())
    }

    /// Cleans with fewer blocks in the window than calls need: power cuts close open blocks half full, and recoveries
    /// take new ones. All survivors share a head, and the next checkpoint frees the reclaimed blocks.
    fn clean_lean(&mut self, extra: usize) -> Result<()> {
        while !self.room().has_room(extra)
            && self.room().supply() < self.room().blocks_needed(extra) + LEAN_BLOCKS
            && self.log.pages.spares() >= self.room().checkpoint_blocks(0) + LEAN_BLOCKS
        {
            if !self.log.clean_one(&mut self.files, Supply::Lean)? {
                break;
            }
        }
        Ok(())
    }
}
