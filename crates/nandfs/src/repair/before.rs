//! The volume as it was before its repair. It must be there until the repair is done, or the next one would find less
//! if the power goes.

use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

use pumice_flashlog::DOUBTED;
use pumice_vfs::Result;

use crate::checkpoint_record::Fence;
use crate::pages::Spare;
use crate::params::ANCHOR_BLOCKS;

/// The erase blocks of a volume as its checkpoint tells them.
#[derive(Default)]
pub(super) struct Before {
    /// The sequence number of the checkpoint, if there is one.
    pub(super) seq: Option<u64>,
    /// Those that it needs.
    needed: BTreeSet<u32>,
    /// Its window in the order in which a mount would take it: recovery looks there, so a repair begins there.
    window: Vec<u32>,
}

impl Before {
    /// The state of a volume with so many erase blocks; asks of a block whether anything on it is in use.
    pub(super) fn of(
        fence: Fence<'_>,
        blocks: u32,
        mut is_needed: impl FnMut(u32) -> Result<bool>,
    ) -> Result<Before> {
        let mut needed: BTreeSet<u32> = fence.heads.iter().flatten().map(|(block, _)| *block).collect();
        for block in ANCHOR_BLOCKS..blocks {
            if is_needed(block)? {
                needed.insert(block);
            }
        }
        let window = fence.window.iter().map(|spare| spare.block).collect();
        Ok(Before { seq: Some(fence.seq), needed, window })
    }

    /// Recovery has found the order of the window: blocks that the log passed over come late. One that a cut erase spoils
    /// looks like a loss in front of those that were written to.
    pub(super) fn follow(&mut self, window: &VecDeque<Spare>) {
        self.window = window.iter().map(|spare| spare.block).collect();
    }

    /// A block is needed, too.
    pub(super) fn need(&mut self, block: u32) {
        self.needed.insert(block);
    }

    /// Free blocks that a repair may take, in the order in which it does, `most` of them; it reads others.
    pub(super) fn order(&self, free: &[u32], read: &BTreeSet<u32>, most: usize) -> Vec<u32> {
        let may = |block: &&u32| !self.needed.contains(*block) && !read.contains(*block);
        let window: Vec<&u32> = self.window.iter().filter(|block| free.contains(block)).filter(may).collect();
        // Those left to roots are the last here, too.
        let (first, last) = window.split_at(window.len().saturating_sub(DOUBTED));
        let rest = free.iter().filter(|block| !self.window.contains(block)).filter(may);
        let first = first.iter().copied().chain(rest).take(most.saturating_sub(last.len()));
        first.chain(last.iter().copied()).copied().collect()
    }
}
