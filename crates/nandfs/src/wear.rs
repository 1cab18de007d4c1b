//! Static wear levelling: cold data is moved into worn erase blocks, so that those under it wear, too.
//!
//! Blocks that come free are used in turn and wear alike; those of cold data stay behind. When the wear rule of the
//! volume says that one is too far behind the block that will be written next, its data moves.

use pumice_vfs::Result;

use crate::blocks::{State, Usage};
use crate::files::Files;
use crate::log::Log;
use crate::moving::Reason;
use crate::options::WearSpread;
use crate::pages::Spare;
use crate::params::ANCHOR_BLOCKS;
use crate::volume::Volume;

/// Entries of the block table looked at each time.
const LOOK: u32 = 16;

impl Log<'_> {
    /// Begins to move the data of the least worn block if the block that will be written next is worn far more.
    pub(crate) fn level_wear(&mut self, files: &mut Files) -> Result<()> {
        if !self.leveler.is_its_turn(self.pages.taken().blocks) {
            return Ok(());
        }
        let Some(Spare { block, erased }) = self.pages.window().front().copied() else { return Ok(()) };
        // One that was erased ahead counts as it was before.
        let worn = self.usage(block)?.erases.saturating_sub(erased.into());
        for _ in 0..LOOK {
            let block = self.leveler.next(self.params.blocks);
            // Blocks on an unreadable page of the table wait for its repair.
            let Ok(usage) = self.usage(block) else { continue };
            if self.is_sealed(block, &usage) {
                self.leveler.see(block, &usage);
            }
        }
        let Some(block) = self.leveler.least() else { return Ok(()) };
        let usage = self.usage(block)?;
        if !self.is_sealed(block, &usage) {
            self.leveler.forget();
            return Ok(());
        }
        if !self.leveler.is_due(&usage, worn) {
            return Ok(());
        }
        self.leveler.forget();
        self.blocks.withdraw(block);
        let view = self.blocks.view(&usage);
        let moving = self.start_move(files, block, Reason::Wear, view)?;
        self.cleaner.begin(moving);
        Ok(())
    }

    /// True if a block is written, holds something, and is not being filled.
    fn is_sealed(&self, block: u32, usage: &Usage) -> bool {
        usage.state == State::Used && usage.valid > 0 && !self.is_in_use(block)
    }
}

impl Volume<'_> {
    /// Erases of the blocks that are not bad.
    pub(crate) fn wear_spread(&mut self) -> Result<WearSpread> {
        let mut spread = WearSpread { least: u32::MAX, ..WearSpread::default() };
        let (mut sum, mut count) = (0, 0);
        for block in ANCHOR_BLOCKS..self.log.params.blocks {
            let usage = self.log.usage(block)?;
            if usage.state != State::Bad {
                spread.least = spread.least.min(usage.erases);
                spread.most = spread.most.max(usage.erases);
                (sum, count) = (sum + u64::from(usage.erases), count + 1);
            }
            if block % 4096 == 0 {
                self.files.trim(&mut self.log);
            }
        }
        let mean = sum.checked_div(count).and_then(|mean| u32::try_from(mean).ok());
        let Some(mean) = mean else { return Ok(WearSpread::default()) };
        Ok(WearSpread { mean, ..spread })
    }
}
