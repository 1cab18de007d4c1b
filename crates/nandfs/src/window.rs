//! The window of a checkpoint: the blocks that the log may fill until the next one.

use alloc::vec::Vec;

use pumice_vfs::Result;

use crate::blocks::State;
use crate::checkpoint_record::words_of;
use crate::log::Log;
use crate::pages::Spare;

/// Words of the window kept free for changes to it until the next checkpoint.
const WORDS_SLACK: usize = 12;

impl Log<'_> {
    /// Chooses the blocks that the coming checkpoint adds to the window: those that died, then free ones in the order of the
    /// chip, on from where the last search ended. The wear rule may have the least worn of them go first.
    pub(crate) fn choose_window(&mut self) -> Result<Vec<Spare>> {
        let room = self.reach.window_most().saturating_sub(self.pages.window().len());
        let mut fresh = self.blocks.take_dying(&mut self.pages, &self.roots, room)?;
        self.blocks.search_free(&mut self.pages, &self.roots, room, &mut fresh)?;
        if self.recorded.superblock().policies.wear.takes_least_worn() {
            fresh = self.least_worn_first(fresh)?;
        }
        self.fit_window(&mut fresh)?;
        Ok(fresh)
    }

    fn least_worn_first(&mut self, spares: Vec<Spare>) -> Result<Vec<Spare>> {
        let mut worn = Vec::with_capacity(spares.len());
        for spare in spares {
            worn.push((self.usage(spare.block)?.erases, spare));
        }
        worn.sort_by_key(|(erases, _)| *erases);
        Ok(worn.into_iter().map(|(_, spare)| spare).collect())
    }

    /// Leaves out blocks that the checkpoint has no room to name; the table knows that they are free. Some words
    /// stay unused: blocks erased ahead split runs.
    fn fit_window(&mut self, fresh: &mut Vec<Spare>) -> Result<()> {
        let limit = self.recorded.limits().window_words - WORDS_SLACK;
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
}
