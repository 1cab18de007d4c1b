//! Harm to erase blocks that have parity: as much of each as that can bear.

use std::collections::BTreeSet;

use pumice_media::{BitFlip, BlockId, Codeword, Nand, PageId, SimChip};

/// Blocks of anchors, of which there are copies in place of parity.
pub const ANCHORS: u32 = 4;
/// Wrong bits of a page at the most.
const BITS: u32 = 1000;

/// The harm to each block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Harm {
    /// As many pages as have parity cannot be read.
    Pages,
    /// Each codeword of a page is lost in as many pages as have parity.
    Codewords,
    /// Some bits of one page are wrong.
    Bits,
}

/// The make-up of a volume's blocks, in log pages of so many chip pages.
#[derive(Clone, Copy)]
pub struct Layout {
    pub parity: u32,
    pub gang: u32,
}

impl Layout {
    /// Blocks that have all of their parity, but for these, and for the second of two that end with the same page: a copy
    /// stands in place of parity.
    pub fn protected(self, chip: &mut SimChip, but: &[BlockId]) -> Vec<BlockId> {
        let geometry = chip.geometry();
        let pages = geometry.pages_per_block / self.gang * self.gang;
        let mut is_written =
            |block: BlockId, index| chip.page_state(geometry.page(block, index)).unwrap().is_written();
        let blocks = (ANCHORS..geometry.blocks).map(BlockId).filter(|block| !but.contains(block));
        let mut has_parity =
            |block: &BlockId| (pages - self.parity * self.gang..pages).all(|at| is_written(*block, at));
        let mut blocks: Vec<BlockId> = blocks.filter(|block| has_parity(block)).collect();
        let mut ends = BTreeSet::new();
        blocks.retain(|block| {
            let (mut data, mut spare) =
                (vec![0; geometry.page_bytes as usize], vec![0; geometry.free_spare_bytes as usize]);
            let read = chip.read(geometry.page(*block, pages - 1), &mut data, &mut spare);
            // The end of a page may tell its place.
            data.truncate(data.len() / 2);
            read.is_err() || ends.insert(data)
        });
        blocks
    }

    /// Hurts each of these blocks, whatever was wrong before; `below` draws a number below its argument.
    pub fn hurt(self, chip: &mut SimChip, blocks: &[BlockId], harm: Harm, below: &mut dyn FnMut(u32) -> u32) {
        let geometry = chip.geometry();
        let log_pages = geometry.pages_per_block / self.gang;
        // A spare area without a code is wrong without a word, and with it the page.
        let codewords = chip.spec().codewords() - u32::from(!chip.spec().ecc().covers_spare);
        for block in blocks {
            let mut pick = |count: u32| {
                let mut places = BTreeSet::new();
                while places.len() < count as usize {
                    places.insert(below(log_pages));
                }
                let pages = places.into_iter().map(|place| place * self.gang + below(self.gang));
                pages.map(|index| geometry.page(*block, index)).collect::<Vec<_>>()
            };
            match harm {
                Harm::Pages => chip.faults_mut().unreadable.extend(pick(self.parity)),
                Harm::Codewords => {
                    for number in 0..codewords {
                        let lost = pick(self.parity).into_iter().map(|page| Codeword { page, number });
                        chip.faults_mut().dead_codewords.extend(lost);
                    }
                }
                Harm::Bits => pick(1).into_iter().for_each(|page| flip(chip, page, below)),
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
