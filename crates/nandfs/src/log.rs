//! The log: erase blocks and their pages, the roots that lead to them, and what cleans and guards them.

use pumice_cleaning::Old;
use pumice_flashlog::{Patrol, Roots, Rounds};
use pumice_vfs::Result;

use crate::addr::Addr;
use crate::blocks::{Blocks, State, Usage, is_in_use};
use crate::error::device;
use crate::leveler::Leveler;
use crate::moving::{Cleaner, Move};
use crate::pages::{DATA, META, Pages};
use crate::params::Params;
use crate::placing::{Placer, PolicyNames};
use crate::reach::Reach;
use crate::recorded::Recorded;
use crate::status::Status;
use crate::superblock::Superblock;

/// The log.
pub(crate) struct Log<'c> {
    pub(crate) params: Params,
    pub(crate) pages: Pages<'c>,
    pub(crate) blocks: Blocks,
    pub(crate) roots: Roots,
    pub(crate) recorded: Recorded,
    pub(crate) reach: Reach,
    pub(crate) status: Status,
    pub(crate) placer: Placer,
    pub(crate) cleaner: Cleaner,
    pub(crate) leveler: Leveler,
    pub(crate) patrol: Patrol,
}

impl<'c> Log<'c> {
    /// A log with nothing in it.
    pub(crate) fn new(
        pages: Pages<'c>,
        params: Params,
        superblock: Superblock,
        roots: Roots,
    ) -> Result<Log<'c>> {
        let policies = superblock.policies;
        let store = PolicyNames::store(&params);
        Ok(Log {
            params,
            blocks: Blocks::new(params, policies.candidates(&params, &store)),
            leveler: Leveler::new(policies.swap(superblock.endurance)?),
            roots,
            recorded: Recorded::new(superblock, &params),
            reach: Reach::of(&pages),
            status: Status::default(),
            placer: Placer::new(&policies, &params, &store),
            cleaner: Cleaner::default(),
            patrol: Patrol::resume(Rounds::default()),
            pages,
        })
    }
}

impl Log<'_> {
    /// Most blocks of the window: recovery takes a look at each, and the checkpoint names them.
    pub(crate) fn window_most(&self) -> usize {
        self.reach.window_most().min(self.recorded.limits().window_words)
    }

    /// The use of a block.
    pub(crate) fn usage(&mut self, block: u32) -> Result<Usage> {
        self.blocks.get(&mut self.pages, block)
    }

    /// Changes the use of a block.
    pub(crate) fn update(&mut self, block: u32, change: impl FnOnce(&mut Usage)) -> Result<Usage> {
        self.blocks.update(&mut self.pages, block, change)
    }

    /// Counts a chunk off that is needed no more.
    pub(crate) fn release(&mut self, addr: Addr) -> Result<()> {
        self.blocks.release(&mut self.pages, addr)
    }

    /// Placement's view of a chunk of file data; nothing if there is none.
    fn old(&mut self, addr: Addr) -> Result<Option<Old>> {
        if !addr.is_stored() {
            return Ok(None);
        }
        let usage = self.usage(self.params.block_of(addr.page))?;
        let age = self.blocks.clock().wrapping_sub(usage.stamp);
        Ok(Some(Old { class: usage.class(), age }).filter(|_| usize::from(usage.head) != META))
    }

    /// The head for a block of a file that replaces the chunk at `old`.
    pub(crate) fn user_head(&mut self, ino: u32, index: u32, old: Addr) -> Result<usize> {
        let old = self.old(old)?;
        Ok(DATA + self.placer.user_write(self.blocks.clock(), (ino, index), old))
    }

    /// Gives up a block of a file or directory, and the chunk with it.
    pub(crate) fn discard_block(&mut self, ino: u32, index: u32, addr: Addr) -> Result<()> {
        if let Some(old) = self.old(addr)? {
            self.placer.trimmed(self.blocks.clock(), (ino, index), old);
        }
        self.release(addr)
    }

    /// Has blocks erased again that a cut write of roots may have touched; the next write of roots does so, too.
    ///
    /// On a clean volume that is any mount's write: an earlier mount may have found the roots torn, taken blocks for them
    /// and been cut, and this one reads the torn page right.
    pub(crate) fn doubt_torn(&mut self) -> Result<()> {
        if self.roots.find_ends(self.pages.medium_mut()).map_err(device)? || self.recorded.is_clean() {
            self.pages.doubt()?;
        }
        Ok(())
    }

    /// True if a block is open, or holds the checkpoints or copies of parity.
    pub(crate) fn is_in_use(&self, block: u32) -> bool {
        is_in_use(&self.pages, &self.roots, block)
    }

    /// Gives up copies of parity for blocks that have moved, with this checkpoint.
    pub(crate) fn release_copies(&mut self) {
        for block in self.pages.guarded() {
            // One of which nobody knows keeps them.
            if self.usage(block).is_ok_and(|usage| usage.valid == 0) {
                self.pages.release(block);
            }
        }
        self.pages.leave_kept();
    }

    /// Ends the move of a block that others have emptied meanwhile: it may be written again from the next checkpoint on.
    pub(crate) fn forget_empty_move(&mut self) -> Result<()> {
        let Some(block) = self.cleaner.moving().map(Move::block) else { return Ok(()) };
        let usage = self.usage(block)?;
        if !matches!(usage.state, State::Used | State::Failing) || usage.valid == 0 {
            self.cleaner.take();
        }
        Ok(())
    }
}
