//! The window of a checkpoint: the blocks that the log may fill until the next one.

use alloc::vec::Vec;

use pumice_vfs::Result;

use crate::blocks::State;
use crate::checkpoint_record::words_of;
use crate::codec::len32;
use crate::log::Log;
use crate::pages::Spare;
use crate::params::ANCHOR_BLOCKS;

/// Words of the window kept free for changes to it until the next checkpoint.
const WORDS_SLACK: usize = 12;

impl Log<'_> {
    /// Chooses the blocks that the coming checkpoint adds to the window: those that died, then free ones in
    /// the order of the chip, on from where the last search ended.
    pub(crate) fn choose_window(&mut self) -> Result<Vec<Spare>> {
        let room = self.reach.window_max.saturating_sub(self.pages.window().len());
        let mut fresh = Vec::new();
        let mut keep = Vec::new();
        for block in core::mem::take(&mut self.blocks.dying) {
            let usage = self.usage(block)?;
            if usage.valid > 0 || usage.state != State::Used {
                continue;
            }
            if self.is_in_use(block) || fresh.len() >= room {
                keep.push(block);
                continue;
            }
            self.update(block, |usage| usage.state = State::Dirty)?;
            fresh.push(Spare { block, erased: false });
        }
        self.blocks.dying.append(&mut keep);
        self.search_free(room, &mut fresh)?;
        self.fit_window(&mut fresh)?;
        Ok(fresh)
    }

    /// Leaves out blocks that the checkpoint has no room to name; the table knows that they are free. Some words
    /// stay unused: blocks erased ahead split runs.
    fn fit_window(&mut self, fresh: &mut Vec<Spare>) -> Result<()> {
        let limit = self.recorded.limits.window_words - WORDS_SLACK;
        loop {
            let over = words_of(&self.pages.named_window(fresh)).len().saturating_sub(limit);
            if over == 0 {
                return Ok(());
            }
            for _ in 0..over {
                if fresh.pop().is_none() {
                    self.leave_out()?;
                }
            }
        }
    }

    /// Leaves out the last block of the window that heads would take.
    pub(crate) fn leave_out(&mut self) -> Result<()> {
        let Some(Spare { block, erased: false }) = self.pages.take_last() else { return Ok(()) };
        // The power went after an erase of it had failed.
        let state = if self.pages.is_bad(block)? { State::Bad } else { State::Dirty };
        self.update(block, |usage| usage.state = state)?;
        Ok(())
    }

    fn search_free(&mut self, room: usize, fresh: &mut Vec<Spare>) -> Result<()> {
        let blocks = self.params.blocks;
        let known: hashbrown::HashSet<u32> =
            self.pages.window().iter().chain(fresh.iter()).map(|spare| spare.block).collect();
        let mut unknown = self.blocks.free.saturating_sub(len32(known.len()));
        for _ in ANCHOR_BLOCKS..blocks {
            if fresh.len() >= room || (unknown == 0 && !self.blocks.lost_dead) {
                return Ok(());
            }
            let block = self.blocks.cursor;
            self.blocks.cursor = if block + 1 < blocks { block + 1 } else { ANCHOR_BLOCKS };
            if known.contains(&block) {
                continue;
            }
            // Blocks on an unreadable page of the table wait for its repair.
            let Ok(usage) = self.usage(block) else { continue };
            match usage.state {
                State::Erased | State::Dirty => {
                    unknown = unknown.saturating_sub(1);
                    fresh.push(Spare { block, erased: usage.state == State::Erased });
                }
                State::Used
                    if usage.valid == 0 && !self.is_in_use(block) && !self.blocks.dying.contains(&block) =>
                {
                    self.update(block, |usage| usage.state = State::Dirty)?;
                    fresh.push(Spare { block, erased: false });
                }
                _ => {}
            }
        }
        self.blocks.lost_dead = false;
        Ok(())
    }
}
