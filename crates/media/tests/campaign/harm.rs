//! Harm to erase blocks that have parity: as much of each as that can bear.

use std::{collections::BTreeSet, ops::Range};

use pumice_media::{BitFlip, BlockId, Nand, PageId, SimChip};

/// Blocks of anchors, of which there are copies in place of parity.
pub const ANCHORS: u32 = 4;
/// Wrong bits of a page at the most.
const BITS: u32 = 1000;

/// What happens to each block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Harm {
    /// As many pages as have parity cannot be read.
    Pages,
    /// Some bits of one page are wrong.
    Bits,
}

/// The seeds that `PUMICE_PARITY=A..B` asks for, in place of the first so many.
pub fn seeds(usual: u64) -> Range<u64> {
    let Ok(text) = std::env::var("PUMICE_PARITY") else { return 0..usual };
    let (from, to) = text.split_once("..").unwrap_or((&text, ""));
    let from = from.parse().unwrap();
    from..if to.is_empty() { from + 1 } else { to.parse().unwrap() }
}

/// How often a chip is hurt in each: `PUMICE_PARITY_LIVES`, in place of so often.
pub fn lives(usual: u64) -> u64 {
    std::env::var("PUMICE_PARITY_LIVES").map_or(usual, |text| text.parse().unwrap())
}

/// How the blocks of a volume are made up, in log pages of so many chip pages.
#[derive(Clone, Copy)]
pub struct Layout {
    pub parity: u32,
    pub gang: u32,
}

impl Layout {
    /// Blocks that have all of their parity, but for these.
    pub fn protected(self, chip: &mut SimChip, but: &[BlockId]) -> Vec<BlockId> {
        let geometry = chip.geometry();
        let pages = geometry.pages_per_block / self.gang * self.gang;
        let mut is_written =
            |block: BlockId, index| chip.page_state(geometry.page(block, index)).unwrap().is_written();
        let blocks = (ANCHORS..geometry.blocks).map(BlockId).filter(|block| !but.contains(block));
        let mut has_parity =
            |block: &BlockId| (pages - self.parity * self.gang..pages).all(|at| is_written(*block, at));
        blocks.filter(|block| has_parity(block)).collect()
    }

    /// Hurts each of these blocks, whatever was wrong before; `below` draws a number below its argument.
    pub fn hurt(self, chip: &mut SimChip, blocks: &[BlockId], harm: Harm, below: &mut dyn FnMut(u32) -> u32) {
        let geometry = chip.geometry();
        let log_pages = geometry.pages_per_block / self.gang;
        for block in blocks {
            let mut places = BTreeSet::new();
            let count = if harm == Harm::Bits { 1 } else { self.parity };
            while places.len() < count as usize {
                places.insert(below(log_pages));
            }
            for place in places {
                let page = geometry.page(*block, place * self.gang + below(self.gang));
                match harm {
                    Harm::Pages => drop(chip.faults_mut().unreadable.insert(page)),
                    Harm::Bits => flip(chip, page, below),
                }
            }
        }
    }
}

fn flip(chip: &mut SimChip, page: PageId, below: &mut dyn FnMut(u32) -> u32) {
    let geometry = chip.geometry();
    let bits = (geometry.page_bytes + geometry.free_spare_bytes) * 8;
    for _ in 0..=below(BITS - 1) {
        let bit = below(bits);
        chip.faults_mut().flips.insert(BitFlip { page, bit });
    }
}
