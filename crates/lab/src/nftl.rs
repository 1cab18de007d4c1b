//! NFTL, a block-mapped translation layer, as far as its cleaning goes: the layer that CFFS was compared with (CFFS
//! paper, table 4).
//! It follows the published description of M-Systems' layer: each virtual block is a chain of erase blocks, in which a
//! page may only lie at its own offset.
//!
//! A page is written to the first block of its chain in which its offset is free; if there is none, an erase block is
//! added. When no more than one is free, the longest chain is folded: its live pages are copied to an erase block of
//! their own, and the chain is erased.

use std::collections::VecDeque;

/// Writes, copies and erases so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Did {
    /// Pages programmed, copies included.
    pub programs: u64,
    /// Pages copied while chains were folded.
    pub copied: u64,
    /// Chains folded.
    pub folds: u64,
    /// Erase blocks erased.
    pub erases: u64,
}

/// An erase block in a chain: which of its pages are programmed.
type Written = Vec<bool>;

/// The layer on a chip.
pub struct Nftl {
    pages_per_block: usize,
    /// Chains of the virtual blocks, oldest block first.
    chains: Vec<VecDeque<Written>>,
    free: usize,
    did: Did,
}

/// Erase blocks that are free at all times, one for a fold.
const KEPT: usize = 1;

impl Nftl {
    /// A chip of so many erase blocks, of which a share of fifty in fifty-one is the disk's; nothing is written.
    pub fn new(pages_per_block: usize, blocks: usize) -> Nftl {
        let spare = (blocks / 51).max(KEPT + 1);
        let chains = vec![VecDeque::new(); blocks.saturating_sub(spare)];
        Nftl { pages_per_block, chains, free: blocks, did: Did::default() }
    }

    /// Pages of the disk.
    pub fn pages(&self) -> usize {
        self.chains.len() * self.pages_per_block
    }

    /// The counters so far.
    pub fn did(&self) -> Did {
        self.did
    }

    /// Writes a page; false if the disk does not have it.
    pub fn write(&mut self, page: usize) -> bool {
        let (chain, offset) = (page / self.pages_per_block, page % self.pages_per_block);
        if chain >= self.chains.len() {
            return false;
        }
        if !self.program(chain, offset) {
            while self.free <= KEPT {
                self.fold();
            }
            self.free -= 1;
            let block = vec![false; self.pages_per_block];
            self.chains.get_mut(chain).into_iter().for_each(|blocks| blocks.push_back(block.clone()));
            let done = self.program(chain, offset);
            debug_assert!(done, "an erased block has room");
        }
        true
    }

    /// Programs a page in the first block of a chain that has room for it.
    fn program(&mut self, chain: usize, offset: usize) -> bool {
        let Some(blocks) = self.chains.get_mut(chain) else { return false };
        // Behind the newest copy: an older block must not get a newer page.
        let newest = blocks.iter().rposition(|block| block.get(offset).copied().unwrap_or(false));
        let from = newest.map_or(0, |newest| newest + 1);
        let Some(place) = blocks.iter_mut().skip(from).find_map(|block| block.get_mut(offset)) else {
            return false;
        };
        *place = true;
        self.did.programs += 1;
        true
    }

    /// Folds the longest chain; of several the first.
    fn fold(&mut self) {
        let longest = self.chains.iter_mut().rev().max_by_key(|blocks| blocks.len());
        let Some(blocks) = longest else { return };
        debug_assert!(blocks.len() > 1, "a disk that is smaller than its chip has a chain to fold");
        let mut kept = vec![false; self.pages_per_block];
        for block in blocks.iter() {
            kept.iter_mut().zip(block).for_each(|(kept, written)| *kept |= written);
        }
        let copies = kept.iter().filter(|kept| **kept).count() as u64;
        let erased = blocks.len();
        blocks.clear();
        blocks.push_back(kept);
        self.free += erased - 1;
        self.did.programs += copies;
        self.did.copied += copies;
        self.did.folds += 1;
        self.did.erases += erased as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lie_at_their_offset_and_chains_are_folded_when_space_is_out() {
        // Four blocks of four pages: two virtual blocks, two spare.
        let mut nftl = Nftl::new(4, 4);
        assert_eq!(nftl.pages(), 8);
        assert!((0..8).all(|page| nftl.write(page)));
        assert_eq!(nftl.did(), Did { programs: 8, ..Did::default() });
        // One replacement block takes each page of its chain once.
        assert!((0..4).all(|page| nftl.write(page)));
        assert_eq!(nftl.did(), Did { programs: 12, ..Did::default() });
        // The next needs a block: the chain of two is folded, four pages are copied.
        assert!(nftl.write(4));
        assert_eq!(nftl.did(), Did { programs: 17, copied: 4, folds: 1, erases: 2 });
        assert!(!nftl.write(99));
        assert_eq!(nftl.did().programs, 17);
    }

    #[test]
    fn a_page_that_is_written_alone_makes_chains_long() {
        let mut nftl = Nftl::new(32, 51 * 4);
        assert!((0..nftl.pages()).all(|page| nftl.write(page)));
        assert!((0..100).all(|_| nftl.write(7)));
        let did = nftl.did();
        assert!(did.folds > 30 && did.copied == did.folds * 32, "{did:?}");
    }
}
