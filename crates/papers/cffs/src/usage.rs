//! Section 2.2: `BlockInformation` and `PageBitmap`, the state of each block and the use of each page. Neither is stored:
//! the scan at mounting finds both.

use std::collections::BTreeMap;

use crate::layout::{Addr, Layout};

/// The use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// An inode-stored block.
    Inode,
    /// A data block.
    Data,
}

/// The state of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Free,
    Used(Role),
    Bad,
    /// The `InodeMapBlock`, or the volume's record.
    Kept,
}

/// The health of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Health {
    Good,
    /// A program failed in it: it is bad once it is empty.
    Suspect,
    /// It holds pages that cannot be moved, and is not collected.
    Stuck,
}

/// `BlockInformation`.
#[derive(Clone, Copy, Debug)]
struct Block {
    state: State,
    live: u32,
    /// The weight (2.4): its last use.
    last: Option<Role>,
    /// Known to be erased; a block that a mount finds free may be half erased.
    erased: bool,
    health: Health,
    /// It is being filled.
    open: bool,
}

/// All blocks, and the live pages among theirs.
pub(crate) struct Usage {
    layout: Layout,
    blocks: Vec<Block>,
    /// `PageBitmap`: a bit for each live page.
    bitmap: Vec<u64>,
    live: u32,
    free: u32,
    /// The place where the search for a free block goes on, so that all take their turn.
    next: u32,
    /// The weight counts (2.4).
    weighs: bool,
    /// The inodes of the pages of each inode-stored block, in order.
    residents: BTreeMap<u32, Vec<u32>>,
    /// The number of those pages of each inode.
    copies: BTreeMap<u32, u32>,
}

impl Usage {
    /// All blocks free, not known to be erased.
    pub(crate) fn new(layout: Layout) -> Usage {
        let block = Block {
            state: State::Free,
            live: 0,
            last: None,
            erased: false,
            health: Health::Good,
            open: false,
        };
        let words = (layout.blocks() as usize * layout.pages() as usize).div_ceil(64);
        Usage {
            layout,
            blocks: vec![block; layout.blocks() as usize],
            bitmap: vec![0; words],
            live: 0,
            free: layout.blocks(),
            next: 0,
            weighs: true,
            residents: BTreeMap::new(),
            copies: BTreeMap::new(),
        }
    }

    /// From now on a free block takes either role.
    pub(crate) fn ignore_weight(&mut self) {
        self.weighs = false;
    }

    fn block(&self, block: u32) -> Option<&Block> {
        self.blocks.get(block as usize)
    }

    fn change(&mut self, block: u32, change: impl FnOnce(&mut Block)) {
        debug_assert!((block as usize) < self.blocks.len(), "block {block} of {}", self.blocks.len());
        let Some(found) = self.blocks.get_mut(block as usize) else { return };
        let was = found.state == State::Free;
        change(found);
        match (was, found.state == State::Free) {
            (true, false) => self.free -= 1,
            (false, true) => self.free += 1,
            _ => {}
        }
    }

    pub(crate) fn state(&self, block: u32) -> State {
        self.block(block).map_or(State::Bad, |found| found.state)
    }

    pub(crate) fn set_state(&mut self, block: u32, state: State) {
        self.change(block, |found| found.state = state);
    }

    /// Blocks that are of use to files: all but bad ones, the map and the record.
    pub(crate) fn usable(&self) -> u32 {
        let usable = |block: &&Block| {
            !matches!(block.state, State::Bad | State::Kept) && block.health != Health::Stuck
        };
        u32::try_from(self.blocks.iter().filter(usable).count()).unwrap_or(u32::MAX)
    }

    /// Blocks in a state.
    pub(crate) fn count(&self, state: State) -> u32 {
        u32::try_from(self.blocks.iter().filter(|block| block.state == state).count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Live pages.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    pub(crate) fn is_live(&self, at: Addr) -> bool {
        self.bitmap.get(at.0 as usize / 64).is_some_and(|word| word >> (at.0 % 64) & 1 == 1)
    }

    /// Live pages of a block.
    pub(crate) fn live_in(&self, block: u32) -> u32 {
        let found = self.block(block);
        debug_assert!(found.is_some(), "block {block} of {}", self.blocks.len());
        found.map_or(0, |found| found.live)
    }

    /// Marks a page as live; false if it was already, or cannot be.
    pub(crate) fn mark(&mut self, at: Addr) -> bool {
        let Some(word) = self.bitmap.get_mut(at.0 as usize / 64) else { return false };
        if !self.layout.has(at) || *word >> (at.0 % 64) & 1 == 1 {
            return false;
        }
        *word |= 1 << (at.0 % 64);
        self.live += 1;
        self.change(self.layout.block_of(at), |found| found.live += 1);
        true
    }

    /// A page is dead. Pages that no mark reached, as a damaged index may name them, stay as they are.
    pub(crate) fn kill(&mut self, at: Addr) {
        if !self.is_live(at) {
            return;
        }
        if let Some(word) = self.bitmap.get_mut(at.0 as usize / 64) {
            *word &= !(1 << (at.0 % 64));
        }
        self.live -= 1;
        self.change(self.layout.block_of(at), |found| found.live -= 1);
    }

    /// A free block for a role: one that had the other role last, if there is one (2.4). It is open now. Tells whether
    /// it is erased.
    pub(crate) fn take(&mut self, role: Role) -> Option<(u32, bool)> {
        let count = self.layout.blocks();
        let turn = |step: u32| (self.next + step) % count;
        let free = |block: &u32| self.state(*block) == State::Free;
        let prefers =
            |block: &u32| !self.weighs || self.block(*block).is_some_and(|found| found.last != Some(role));
        let block =
            (0..count).map(turn).filter(free).find(prefers).or_else(|| (0..count).map(turn).find(free))?;
        self.next = (block + 1) % count;
        let erased = self.block(block).is_some_and(|found| found.erased);
        self.change(block, |found| {
            (found.state, found.last, found.open, found.erased) =
                (State::Used(role), Some(role), true, false);
        });
        if role == Role::Inode {
            self.residents.insert(block, Vec::new());
        }
        Some((block, erased))
    }

    /// A block is not filled any more.
    pub(crate) fn close(&mut self, block: u32) {
        self.change(block, |found| found.open = false);
    }

    /// A program failed in it: it is bad once it is empty.
    pub(crate) fn suspect(&mut self, block: u32) {
        self.change(block, |found| found.health = Health::Suspect);
    }

    pub(crate) fn is_suspect(&self, block: u32) -> bool {
        self.block(block).is_some_and(|found| found.health == Health::Suspect)
    }

    /// A block holds unreadable pages or pages without an owner: it is not collected.
    pub(crate) fn stick(&mut self, block: u32) {
        self.change(block, |found| found.health = Health::Stuck);
    }

    /// A block that was reclaimed.
    pub(crate) fn reclaimed(&mut self, block: u32, is_good: bool) {
        self.change(block, |found| {
            debug_assert!(found.live == 0 && !found.open, "block {block} is in use");
            found.state = if is_good { State::Free } else { State::Bad };
            (found.erased, found.health) = (is_good, Health::Good);
        });
    }

    /// A used block without live pages that is not being filled.
    pub(crate) fn is_empty(&self, block: u32) -> bool {
        self.block(block)
            .is_some_and(|found| matches!(found.state, State::Used(_)) && found.live == 0 && !found.open)
    }

    /// Section 2.4: the block with the fewest live pages that is not being filled, of one role or any, if it has a dead
    /// one.
    pub(crate) fn victim(&self, only: Option<Role>) -> Option<u32> {
        let fits = |block: &&(u32, &Block)| {
            let (_, found) = block;
            let State::Used(role) = found.state else { return false };
            !found.open
                && found.health != Health::Stuck
                && found.live < self.layout.pages()
                && only.is_none_or(|only| only == role)
        };
        let numbered: Vec<(u32, &Block)> = (0..).zip(&self.blocks).collect();
        numbered.iter().filter(fits).min_by_key(|(_, found)| found.live).map(|(block, _)| *block)
    }

    /// An inode page was written, or found.
    pub(crate) fn add_resident(&mut self, block: u32, ino: u32) {
        self.residents.entry(block).or_default().push(ino);
        *self.copies.entry(ino).or_insert(0) += 1;
    }

    /// Pages of an inode on the chip, dead ones too.
    pub(crate) fn copies(&self, ino: u32) -> u32 {
        self.copies.get(&ino).copied().unwrap_or_default()
    }

    /// A block's inode pages are gone; returns their owners.
    pub(crate) fn drop_residents(&mut self, block: u32) -> Vec<u32> {
        let gone = self.residents.remove(&block).unwrap_or_default();
        for ino in &gone {
            if let Some(copies) = self.copies.get_mut(ino) {
                *copies -= 1;
                if *copies == 0 {
                    self.copies.remove(ino);
                }
            }
        }
        gone
    }
}
