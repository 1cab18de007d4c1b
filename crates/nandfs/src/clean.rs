//! The choice of the erase block that is emptied next: for its dead space, or because it may not keep what it holds.

use alloc::vec::Vec;

use pumice_cleaning::SegmentView;
use pumice_vfs::Result;

use crate::blocks::{State, Usage};
use crate::files::Files;
use crate::log::Log;
use crate::moving::{Move, Reason, Supply};
use crate::room::Room;

impl Log<'_> {
    /// Cleans one block, the one that is begun first; false if there is none worth it.
    pub(crate) fn clean_one(&mut self, files: &mut Files, supply: Supply) -> Result<bool> {
        if !self.begin_move(files, supply)? {
            return Ok(false);
        }
        if let Some(mut moving) = self.cleaner.take() {
            while self.move_next(files, &mut moving, supply)?.is_some() {}
            self.end_move(&moving);
        }
        Ok(true)
    }

    /// Begins to empty the next victim, if none is begun; false if none is worth it.
    pub(crate) fn begin_move(&mut self, files: &mut Files, supply: Supply) -> Result<bool> {
        if Room::of(self, files).is_short() {
            self.drop_levelling()?;
        }
        if self.cleaner.moving().is_none() {
            self.feed_pool();
            if let Some((block, written)) = self.blocks.take_victim(supply == Supply::Lean) {
                let usage = self.usage(block)?;
                let view = SegmentView { written, ..self.blocks.view(&usage) };
                let moving = self.start_move(files, block, Reason::Space, view)?;
                self.cleaner.begin(moving);
            }
        }
        Ok(self.cleaner.moving().is_some())
    }

    /// Gives up levelling wear for now: what is left in the block stays there.
    fn drop_levelling(&mut self) -> Result<()> {
        let Some(block) = self.cleaner.take_for(Reason::Wear).map(|moving| moving.block()) else {
            return Ok(());
        };
        let usage = self.usage(block)?;
        if self.is_candidate(block, &usage) {
            self.blocks.offer(block, &usage);
        }
        Ok(())
    }

    /// True if there may be a block that must be emptied at any cost.
    pub(crate) fn has_urgent(&self) -> bool {
        self.pages.medium().has_tired() || self.blocks.has_unmoved()
    }

    /// True if such a block is being emptied.
    pub(crate) fn is_relieving(&self) -> bool {
        self.cleaner.moving().is_some_and(|moving| moving.reason() == Reason::Danger)
    }

    /// Empties such a block, the one that is begun first; false if there is none.
    pub(crate) fn relieve_one(&mut self, files: &mut Files) -> Result<bool> {
        let begun = self.cleaner.take_for(Reason::Danger);
        let moving = if begun.is_some() { begun } else { self.start_relief(files)? };
        let Some(mut moving) = moving else { return Ok(false) };
        while self.move_next(files, &mut moving, Supply::Ample)?.is_some() {}
        self.end_move(&moving);
        Ok(true)
    }

    /// The move of all live chunks out of such a block, if there is one.
    pub(crate) fn start_relief(&mut self, files: &mut Files) -> Result<Option<Move>> {
        let Some(block) = self.urgent(files)? else { return Ok(None) };
        let usage = self.usage(block)?;
        if usage.state == State::Used {
            self.patrol.count_moved();
        }
        self.start_move(files, block, Reason::Danger, self.blocks.view(&usage)).map(Some)
    }

    /// A block that must be emptied at any cost: a program failed in it, ECC is near its limit, or it was read too
    /// often.
    fn urgent(&mut self, files: &mut Files) -> Result<Option<u32>> {
        while let Some(block) = self.pages.medium_mut().take_tired() {
            let usage = self.usage(block)?;
            if usage.state != State::Used || usage.valid == 0 || self.roots.holds(block) {
                continue;
            }
            // On an idle volume a head may stand in the same block for years.
            self.pages.leave(block)?;
            self.apply_events(files)?;
            self.blocks.withdraw(block);
            return Ok(Some(block));
        }
        self.blocks.next_failing(&mut self.pages)
    }

    /// Lets the pool see blocks sealed before the mount, or dropped when it was full.
    fn feed_pool(&mut self) {
        // Rules that go by the order of writing take that of offers for it: the oldest goes first.
        // Pairs as the cache of nodes sorts them: firmware has one sort for both.
        let mut found: Vec<(u64, u32)> = Vec::new();
        for block in self.blocks.next_to_offer() {
            // Blocks on an unreadable page of the table wait for its repair.
            let Ok(usage) = self.usage(block) else { continue };
            if self.is_candidate(block, &usage) {
                found.push(((!self.blocks.view(&usage).created).into(), block));
            }
        }
        found.sort_unstable();
        for (_, block) in found {
            if let Ok(usage) = self.usage(block) {
                self.blocks.offer(block, &usage);
            }
        }
    }

    fn is_candidate(&self, block: u32, usage: &Usage) -> bool {
        usage.state == State::Used
            && usage.valid > 0
            && !self.is_in_use(block)
            && self.cleaner.moving().is_none_or(|moving| moving.block() != block)
            && !self.blocks.is_offered(block)
    }
}
