//! The translation table: the place of each logical block (CAT paper, section 4 and figure 10).
//!
//! It lies on flash in leaves, a page each. In memory are the places of the leaves, their changes since they were
//! written, and as many whole ones as the cache has room for. A checkpoint holds the first two.

use alloc::{boxed::Box, vec::Vec};

use crate::layout::{RawChange, count32};
use crate::leaf::{Change, Changes, Leaf};
use crate::shape::{Addr, Shape};
use crate::stream::leaves;

/// The table.
#[derive(Debug)]
pub(crate) struct Table {
    blocks: u32,
    /// Entries of a leaf; the last may have fewer.
    each: u32,
    leaves: Vec<Leaf>,
    /// Blocks that are stored.
    live: u64,
    /// Bytes that all changes take in a checkpoint, and the leaves that have some.
    changes_bytes: usize,
    changed: u32,
    /// Changes with an old address on flash that is still counted.
    unsettled: u32,
    /// Leaves that are in memory whole, how many of them have to be, and how many may be.
    held: usize,
    pinned: usize,
    held_most: usize,
    /// The leaf that the cache looks at next, and the one that may be written next.
    hand: usize,
    /// The leaf to be counted off next.
    unsettled_hand: usize,
    turn: usize,
}

impl Table {
    /// A table with nothing stored. Whole leaves take `cache_bytes` at the most, or those of one.
    pub(crate) fn new(shape: &Shape, logical_blocks: u32, cache_bytes: usize) -> Table {
        let each = shape.leaf_entries();
        let mut table = Table {
            blocks: logical_blocks,
            each,
            leaves: Vec::new(),
            live: 0,
            changes_bytes: 0,
            changed: 0,
            unsettled: 0,
            held: 0,
            pinned: 0,
            held_most: (cache_bytes / (each as usize * size_of::<u32>())).max(1),
            hand: 0,
            unsettled_hand: 0,
            turn: 0,
        };
        table.leaves.resize_with(leaves(shape, logical_blocks) as usize, || Leaf::EMPTY);
        table
    }

    /// Logical blocks of the disk.
    pub(crate) fn len(&self) -> u32 {
        self.blocks
    }

    /// Leaves of the table.
    pub(crate) fn leaves(&self) -> u32 {
        count32(self.leaves.len())
    }

    /// The leaf of a block, and its place there.
    pub(crate) fn slot(&self, lba: u32) -> (u32, u16) {
        let [low, high, ..] = (lba % self.each).to_le_bytes();
        debug_assert!(self.each <= 1 << 16, "a leaf of {} entries", self.each);
        (lba / self.each, u16::from_le_bytes([low, high]))
    }

    /// The first block of a leaf.
    pub(crate) fn first(&self, leaf: u32) -> u32 {
        leaf * self.each
    }

    /// Entries of a leaf.
    pub(crate) fn entries(&self, leaf: u32) -> usize {
        (self.blocks - self.first(leaf)).min(self.each) as usize
    }

    /// The place of a block, if its leaf is in memory, which does not count as a use of it.
    pub(crate) fn peek(&self, lba: u32) -> Option<Addr> {
        let (leaf, slot) = self.slot(lba);
        self.leaves.get(leaf as usize)?.find(slot).map(Addr)
    }

    /// The place of a block, nowhere if it lies outside the disk; `None` if its leaf has to be read first.
    pub(crate) fn find(&mut self, lba: u32) -> Option<Addr> {
        if lba >= self.blocks {
            return Some(Addr::NONE);
        }
        let (leaf, slot) = self.slot(lba);
        let leaf = self.leaves.get_mut(leaf as usize)?;
        leaf.is_used = true;
        leaf.find(slot).map(Addr)
    }

    /// Forgets all places.
    pub(crate) fn clear(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| *leaf = Leaf::EMPTY);
        (self.live, self.changes_bytes, self.changed, self.unsettled) = (0, 0, 0, 0);
        (self.held, self.pinned) = (0, 0);
    }

    /// Changes a block's place; nothing if it lies outside the disk. The old place must be counted off, too
    /// ([`Table::count`]).
    pub(crate) fn set(&mut self, lba: u32, addr: Addr) {
        self.change(lba, addr, false);
    }

    /// The same for a block with an old place that memory does not have. That is counted off when its leaf is read.
    pub(crate) fn set_unsettled(&mut self, lba: u32, addr: Addr) {
        self.change(lba, addr, true);
        self.unsettled += 1;
    }

    fn change(&mut self, lba: u32, addr: Addr, is_unsettled: bool) {
        if lba >= self.blocks {
            return;
        }
        let (at, slot) = self.slot(lba);
        let entries = self.entries(at);
        let Some(leaf) = self.leaves.get_mut(at as usize) else { return };
        let before = leaf.bytes(entries);
        leaf.set(slot, addr.0, is_unsettled);
        let Changes::Few(few) = &leaf.changes else { return };
        let is_many = few.len() * size_of::<RawChange>() > entries * size_of::<u32>();
        if is_many && let Some(words) = leaf.content(entries) {
            debug_assert!(leaf.unsettled() == 0, "leaf {at} was read and still counts old addresses");
            self.held += usize::from(leaf.words.is_none());
            self.pinned += 1;
            (leaf.words, leaf.changes) = (Some(words), Changes::All);
        }
        self.changes_bytes = self.changes_bytes + leaf.bytes(entries) - before;
        self.changed += u32::from(before == 0);
        self.forget_some();
    }

    /// Counts stored blocks: a block was, or is, there.
    pub(crate) fn count(&mut self, lba: u32, was: Addr, is: Addr) {
        if lba >= self.blocks {
            return;
        }
        // The entries of a lost leaf are not known.
        self.live = (self.live + u64::from(!is.is_none())).saturating_sub(u64::from(!was.is_none()));
    }

    /// Takes in a leaf as it is on flash.
    pub(crate) fn insert(&mut self, at: u32, mut words: Box<[u32]>) {
        let Some(leaf) = self.leaves.get_mut(at as usize) else { return };
        debug_assert!(leaf.words.is_none(), "leaf {at} is there");
        leaf.put_over(&mut words);
        leaf.words = Some(words);
        leaf.is_used = true;
        self.held += 1;
        self.forget_some();
    }

    /// Has whole leaves forgotten that were not asked for of late, while there are more than there may be.
    fn forget_some(&mut self) {
        while self.held > self.held_most && self.held > self.pinned {
            let Some(leaf) = self.leaves.get_mut(self.hand) else {
                self.hand = 0;
                continue;
            };
            self.hand += 1;
            let is_needed = leaf.is_used || matches!(leaf.changes, Changes::All);
            leaf.is_used = false;
            if !is_needed && leaf.words.take().is_some() {
                self.held -= 1;
            }
        }
    }

    /// All entries of a leaf, if memory has them.
    pub(crate) fn content(&self, leaf: u32) -> Option<Box<[u32]>> {
        let entries = self.entries(leaf);
        self.leaves.get(leaf as usize)?.content(entries)
    }

    /// Puts the changes of a leaf over its entries on flash.
    pub(crate) fn put_over(&self, leaf: u32, words: &mut [u32]) {
        if let Some(leaf) = self.leaves.get(leaf as usize) {
            leaf.put_over(words);
        }
    }

    /// The log page of each leaf, in order.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Option<u32>> {
        self.leaves.iter().map(|leaf| leaf.page)
    }

    /// The log page of a leaf.
    pub(crate) fn page(&self, leaf: u32) -> Option<u32> {
        self.leaves.get(leaf as usize).and_then(|leaf| leaf.page)
    }

    /// A leaf lies in this page, as the newest checkpoint says.
    pub(crate) fn place(&mut self, leaf: u32, page: Option<u32>) {
        if let Some(leaf) = self.leaves.get_mut(leaf as usize) {
            leaf.page = page;
        }
    }

    /// A leaf was written to this page with all its changes, or holds nothing and needs none.
    pub(crate) fn written(&mut self, at: u32, page: Option<u32>) {
        let entries = self.entries(at);
        let Some(leaf) = self.leaves.get_mut(at as usize) else { return };
        let bytes = leaf.bytes(entries);
        self.pinned -= usize::from(matches!(leaf.changes, Changes::All));
        (leaf.page, leaf.changes) = (page, Changes::Few(Vec::new()));
        self.changes_bytes -= bytes;
        self.changed -= u32::from(bytes > 0);
        self.forget_some();
    }

    /// True if blocks replaced by some changes are still counted.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled > 0
    }

    /// Slots of a leaf with an address on flash that is still counted; the caller counts it off.
    pub(crate) fn take_unsettled(&mut self, leaf: u32) -> Vec<u16> {
        let Some(leaf) = self.leaves.get_mut(leaf as usize).filter(|_| self.unsettled > 0) else {
            return Vec::new();
        };
        let taken = leaf.take_unsettled();
        self.unsettled -= count32(taken.len());
        taken
    }

    /// A leaf with such changes, in turn.
    pub(crate) fn next_unsettled(&mut self) -> Option<u32> {
        if self.unsettled == 0 {
            return None;
        }
        let turns = (self.unsettled_hand..self.leaves.len()).chain(0..self.unsettled_hand);
        let is_unsettled = |at: &usize| self.leaves.get(*at).is_some_and(|leaf| leaf.unsettled() > 0);
        let next = turns.into_iter().find(is_unsettled);
        debug_assert!(next.is_some(), "{} changes are unsettled, and no leaf has one", self.unsettled);
        self.unsettled_hand = next?;
        Some(count32(self.unsettled_hand))
    }

    /// Leaves to be written next, `count` at the most: in turn those that have at least as many changes as others.
    pub(crate) fn pick(&mut self, count: usize) -> Vec<u32> {
        let mut picked = Vec::new();
        if self.changed == 0 {
            return picked;
        }
        let mean = self.changes_bytes / self.changed as usize;
        for _ in 0..self.leaves.len() {
            if picked.len() >= count {
                break;
            }
            self.turn = if self.turn + 1 < self.leaves.len() { self.turn + 1 } else { 0 };
            let at = count32(self.turn);
            let bytes = self.leaves.get(self.turn).map_or(0, |leaf| leaf.bytes(self.entries(at)));
            if bytes > 0 && bytes >= mean {
                picked.push(at);
            }
        }
        picked
    }

    /// Bytes that the changes take in a checkpoint.
    pub(crate) fn changes_bytes(&self) -> usize {
        self.changes_bytes
    }

    /// Leaves with changes.
    pub(crate) fn changed(&self) -> u32 {
        self.changed
    }

    /// The changes of each leaf that has some, as a checkpoint keeps them.
    pub(crate) fn encode_changes(&self) -> impl Iterator<Item = Vec<u8>> {
        (0..).zip(&self.leaves).filter_map(|(at, leaf)| leaf.encode(at))
    }

    /// Takes in changes that a checkpoint holds; false if they make no sense.
    pub(crate) fn take_changes(&mut self, at: u32, few: Vec<Change>) -> bool {
        let is_new = self.take(at, |entries, leaf| {
            let ascending = few.windows(2).all(|pair| matches!(pair, [one, other] if one.slot < other.slot));
            let fits = few.last().is_some_and(|change| usize::from(change.slot) < entries);
            leaf.changes = Changes::Few(few);
            ascending && fits
        });
        is_new == Some(true)
    }

    /// Takes in all entries of a leaf, which a checkpoint holds; false if they make no sense.
    pub(crate) fn take_all(&mut self, at: u32, words: Box<[u32]>) -> bool {
        let is_new = self.take(at, |entries, leaf| {
            let fits = words.len() == entries;
            (leaf.words, leaf.changes) = (Some(words), Changes::All);
            fits
        });
        (self.held, self.pinned) = (self.held + 1, self.pinned + 1);
        is_new == Some(true)
    }

    /// Changes a leaf that has no changes yet, and counts those that it has then.
    fn take(&mut self, at: u32, change: impl FnOnce(usize, &mut Leaf) -> bool) -> Option<bool> {
        let leaf = self.leaves.get_mut(at as usize)?;
        let entries = (self.blocks - at * self.each).min(self.each) as usize;
        if leaf.bytes(entries) > 0 {
            return Some(false);
        }
        let is_sound = change(entries, leaf);
        self.unsettled += leaf.unsettled();
        self.changes_bytes += leaf.bytes(entries);
        self.changed += 1;
        Some(is_sound)
    }

    /// The addresses among the changes.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Addr> {
        self.leaves.iter().flat_map(|leaf| {
            let all: &[u32] = match (&leaf.changes, &leaf.words) {
                (Changes::Few(_), _) => &[],
                (Changes::All, Some(words)) => words,
                (Changes::All, None) => {
                    debug_assert!(false, "a leaf that changed as a whole is not in memory");
                    &[]
                }
            };
            leaf.few().iter().map(|change| change.addr).chain(all.iter().copied()).map(Addr)
        })
    }

    /// Logical blocks that are stored.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// Sets their number by the newest checkpoint.
    pub(crate) fn set_live(&mut self, live: u64) {
        self.live = live;
    }

    /// Bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let changes = |leaf: &Leaf| match &leaf.changes {
            Changes::Few(few) => few.capacity() * size_of::<Change>(),
            Changes::All => 0,
        };
        self.leaves.capacity() * size_of::<Leaf>()
            + self.leaves.iter().map(changes).sum::<usize>()
            + self.held * self.each as usize * size_of::<u32>()
    }
}
