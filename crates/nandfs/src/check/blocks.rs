//! Erase blocks: the block table against the reachable chunks, and against the chip.

use alloc::{collections::BTreeMap, format};

use pumice_flashlog::Peek;

use super::Check;
use crate::blocks::{State, Usage};
use crate::codec::size;
use crate::params::ANCHOR_BLOCKS;

/// The checkpoint's notes on single blocks, and sums over all.
#[derive(Default)]
pub(super) struct Tally {
    /// The window; true for blocks that will not be erased before use.
    window: BTreeMap<u32, bool>,
    pub(super) free: u32,
    pub(super) bad: u32,
}

impl Check<'_, '_> {
    /// Returns the sums if the whole table could be read.
    pub(super) fn blocks(&mut self) -> Option<Tally> {
        self.block_table();
        let mut tally = Tally { window: self.window(), ..Tally::default() };
        let mut whole = true;
        for block in 0..self.params.blocks {
            self.step(1);
            if block % 256 == 0 {
                self.files.trim(&mut self.log);
            }
            // A page of the table that cannot be read has been told.
            match self.log.usage(block) {
                Ok(usage) => self.block(block, usage, &mut tally),
                Err(_) => whole = false,
            }
        }
        self.heads();
        whole.then_some(tally)
    }

    /// The window; doubted blocks, which a cut may have touched, are erased again before use.
    fn window(&self) -> BTreeMap<u32, bool> {
        self.log.pages.window().iter().map(|spare| (spare.block, spare.erased)).collect()
    }

    fn block(&mut self, block: u32, usage: Usage, tally: &mut Tally) {
        tally.free += u32::from(usage.is_free());
        tally.bad += u32::from(usage.state == State::Bad);
        self.valid(block, usage);
        self.place(block, usage, tally);
        self.mark(block, usage, tally);
        if usage.state == State::Used && usage.valid == 0 {
            self.empty(block);
        }
        let listed = self.log.blocks.failing().contains(&block);
        let full = self.log.blocks.failing().len() >= self.log.recorded.limits().failing;
        if usage.state == State::Failing && !listed && !full {
            self.found.add("block-failing", format!("block {block} failed but is not to be retired"));
        }
    }

    fn valid(&mut self, block: u32, usage: Usage) {
        let live = self.live.get(size(block.into())).copied().unwrap_or(0);
        // Unreadable pages may have led to more.
        if usage.valid < live || (self.complete && usage.valid != live) {
            let text = format!("block {block} counts {} valid bytes, {live} are reachable", usage.valid);
            self.found.add("block-valid-count", text);
        }
        if live > 0 && !matches!(usage.state, State::Used | State::Failing) {
            let text = format!("block {block} is {:?}, but holds {live} reachable bytes", usage.state);
            self.found.add("block-state", text);
        }
    }

    /// Checks that blocks with a part to play are in the state for it, and no others.
    fn place(&mut self, block: u32, usage: Usage, tally: &Tally) {
        let state = usage.state;
        let is_anchor = block < ANCHOR_BLOCKS;
        if is_anchor != (state == State::Anchor) && !(is_anchor && state == State::Bad) {
            let wanted = if is_anchor { "an anchor block" } else { "no anchor block" };
            self.found.add("block-anchor", format!("block {block} is {state:?}, wanted {wanted}"));
        }
        if self.log.roots.holds(block) && state != State::Used {
            self.found
                .add("block-checkpoint", format!("block {block} holds the checkpoints, but is {state:?}"));
        }
        match tally.window.get(&block) {
            Some(_) if !usage.is_free() => {
                self.found
                    .add("window-state", format!("block {block} of the window is {state:?}, wanted free"));
            }
            Some(true) if state == State::Dirty => {
                let text = format!("block {block} of the window counts as erased, the table says it is not");
                self.found.add("window-erased", text);
            }
            Some(false) => {}
            _ if state == State::Erased => self.erased(block),
            _ => {}
        }
    }

    /// Checks that a block known to be erased looks like it.
    fn erased(&mut self, block: u32) {
        let peek = self.log.pages.peek(self.params.page(block, 0));
        if !matches!(peek, Ok(Peek::Erased)) {
            self.found
                .add("block-not-erased", format!("block {block} counts as erased, its first page is not"));
        }
    }

    /// Checks that a written block without data is about to be used again.
    fn empty(&mut self, block: u32) {
        let known = self.log.blocks.has_unlisted() || self.log.blocks.dying().contains(&block);
        if !known && !self.log.is_in_use(block) {
            self.found.add("block-lost", format!("block {block} holds nothing, but is not free"));
        }
    }

    /// Compares bad-block marks. A block may be marked before a checkpoint can tell: one of the window that could not
    /// be erased, or a failed one that is empty. Anchor blocks are kept track of by their marks alone.
    fn mark(&mut self, block: u32, usage: Usage, tally: &Tally) {
        let Ok(marked) = self.log.pages.is_bad(block) else { return };
        let early = match usage.state {
            State::Bad | State::Anchor => true,
            State::Failing => usage.valid == 0,
            _ => tally.window.contains_key(&block),
        };
        if marked && !early {
            self.found.add(
                "block-marked",
                format!("block {block} is marked bad, the table says {:?}", usage.state),
            );
        }
        if !marked && usage.state == State::Bad {
            self.found
                .add("block-unmarked", format!("block {block} is bad by the table, but carries no mark"));
        }
    }

    /// Checks that blocks being filled are in use, and blank behind their end.
    fn heads(&mut self) {
        let places: alloc::vec::Vec<(u32, u32)> = self.log.pages.places().flatten().collect();
        for (block, index) in places {
            if let Ok(usage) = self.log.usage(block)
                && usage.state != State::Used
            {
                self.found
                    .add("head-state", format!("block {block} is being filled, but is {:?}", usage.state));
            }
            let peek = self.log.pages.peek(self.params.page(block, index));
            if !matches!(peek, Ok(Peek::Erased)) {
                let text = format!("block {block} is to be filled from page {index} on, which is not erased");
                self.found.add("head-page", text);
            }
        }
    }
}
