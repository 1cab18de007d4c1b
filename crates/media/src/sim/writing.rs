//! Programs and erases that are done, fail, or are cut, and their effects on the store.

use super::SimChip;
use super::damage::{self, Half, Page};
use crate::faults::CutMode;
use crate::nand::{BlockId, Geometry, NandError, PageId};
use crate::store::{Hold, PageState, Store, Wear};

/// Draws for the other pages of a cell, apart from those for the page itself.
const SHARED_CELLS: u64 = 0x5EED_CE11;

impl<S: Store> SimChip<S> {
    pub(super) fn is_bad_block(&self, block: BlockId, wear: Wear) -> bool {
        wear.bad || (self.armed && self.memory.faults.is_factory_bad(block))
    }

    pub(super) fn program_fails(&self, page: PageId, wear: Wear) -> bool {
        let faults = &self.memory.faults;
        faults.program_fails.contains(&page)
            || faults.program_fail_rate.is_some_and(|rate| rate.hits(self.memory.operations))
            || faults.endurance.is_some_and(|limit| limit.programs_fail && wear.erase_count >= limit.erases)
    }

    pub(super) fn erase_fails(&self, block: BlockId, wear: Wear) -> bool {
        let faults = &self.memory.faults;
        faults.erase_fails.contains(&block)
            || faults.erase_fail_rate.is_some_and(|rate| rate.hits(self.memory.operations))
            || faults.endurance.is_some_and(|limit| wear.erase_count >= limit.erases)
    }

    pub(super) fn put(&mut self, block: BlockId, index: u32, page: &Page) -> Result<(), NandError> {
        self.store.write((block, index), page.state, self.memory.clock_s, &page.data, &page.spare)
    }

    /// Stores a page that is programmed in full, unless its cells were not erased in full.
    pub(super) fn complete_program(
        &mut self,
        block: BlockId,
        index: u32,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError> {
        let (state, hold) = (self.store.page_state(block, index)?, self.store.wear(block)?.hold);
        if state == PageState::Spoiled || hold == Hold::Weak {
            self.counts.spoiled_programs += 1;
            let noise = damage::garbage(&mut self.random(0), data.len(), spare.len(), false);
            return self.put(block, index, &noise);
        }
        if state == PageState::Frail || hold == Hold::Frail {
            self.counts.spoiled_programs += 1;
            self.fade((block, index), 0);
        }
        self.store.write((block, index), PageState::Programmed, self.memory.clock_s, data, spare)
    }

    /// Lets a page read right a few times more, at least once, and not again.
    fn fade(&mut self, (block, index): (BlockId, u32), seed: u64) {
        let mut rng = self.random(seed);
        let doublings = rng.u32(0..7);
        let reads = rng.u32(1..=1 << doublings);
        let page = self.spec.geometry.page(block, index);
        // A chip that was opened since the cut has no faults but this one.
        self.faults_mut().fading.insert(page, reads);
    }

    /// A program that lost power near its end or near its start; nobody can tell from the page.
    fn leave_unstable(
        &mut self,
        (block, index): (BlockId, u32),
        seed: u64,
        (data, spare): (&[u8], &[u8]),
    ) -> Result<(), NandError> {
        let mut rng = self.random(!seed);
        match rng.u8(..3) {
            0 => return self.store.write((block, index), PageState::Frail, 0, &[], &[]),
            1 => self.fade((block, index), seed),
            _ => {
                let page = self.spec.geometry.page(block, index);
                self.memory.faults.stuttering.insert(page, rng.u32(1..4));
            }
        }
        self.store.write((block, index), PageState::Programmed, self.memory.clock_s, data, spare)
    }

    pub(super) fn cut_program(
        &mut self,
        mode: CutMode,
        (block, index): (BlockId, u32),
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError> {
        match mode {
            CutMode::Nothing => Ok(()),
            CutMode::Complete => self.complete_program(block, index, data, spare),
            CutMode::Torn { seed } | CutMode::Half { seed } => {
                self.ruin_shared_cells((block, index), seed)?;
                let step = self.spec.ecc.step_bytes;
                self.put(block, index, &damage::torn(&mut self.random(seed), data, spare, step))
            }
            CutMode::Garbage { seed } => {
                self.ruin_shared_cells((block, index), seed)?;
                let mut rng = self.random(seed);
                let readable = rng.bool();
                self.put(block, index, &damage::garbage(&mut rng, data.len(), spare.len(), readable))
            }
            CutMode::Unstable { seed } => {
                self.ruin_shared_cells((block, index), seed)?;
                self.leave_unstable((block, index), seed, (data, spare))
            }
        }
    }

    /// Destroys the bits of earlier programs in the cells of a page, in three of four cuts.
    fn ruin_shared_cells(&mut self, (block, index): (BlockId, u32), seed: u64) -> Result<(), NandError> {
        let Geometry { page_bytes, free_spare_bytes, pages_per_block, .. } = self.spec.geometry;
        let mut rng = self.random(seed ^ SHARED_CELLS);
        if rng.u8(..4) == 0 {
            return Ok(());
        }
        for other in self.spec.pairing.endangers(index, pages_per_block) {
            if self.store.page_state(block, other)?.is_written() {
                self.counts.paired_losses += 1;
                let noise = damage::garbage(&mut rng, page_bytes as usize, free_spare_bytes as usize, false);
                self.put(block, other, &noise)?;
            }
        }
        Ok(())
    }

    pub(super) fn fail_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        let (block, index) = self.place(page)?;
        self.counts.program_failures += 1;
        let mut left = damage::torn(&mut self.random(1), data, spare, self.spec.ecc.step_bytes);
        left.state = PageState::Garbage;
        self.put(block, index, &left)?;
        Err(NandError::ProgramFailed(page))
    }

    /// Erases a block in full; the faults of its pages are cured.
    pub(super) fn complete_erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        self.store.erase(
            block,
            Wear { erase_count: wear.erase_count.saturating_add(1), hold: Hold::Sound, ..wear },
        )?;
        if self.armed {
            let geometry = self.spec.geometry;
            let faults = &mut self.memory.faults;
            faults.unreadable.retain(|page| geometry.block_of(*page) != block);
            faults.dead_codewords.retain(|codeword| geometry.block_of(codeword.page) != block);
            faults.flips.retain(|flip| geometry.block_of(flip.page) != block);
            faults.fading.retain(|page, _| geometry.block_of(*page) != block);
            faults.stuttering.retain(|page, _| geometry.block_of(*page) != block);
        }
        Ok(())
    }

    pub(super) fn half_erase(&mut self, block: BlockId, wear: Wear, seed: u64) -> Result<(), NandError> {
        let Geometry { page_bytes, free_spare_bytes, pages_per_block, .. } = self.spec.geometry;
        let mut rng = self.random(seed);
        let mut noise = self.random(!seed);
        for (index, half) in (0..).zip(damage::halves(&mut rng, pages_per_block)) {
            match half {
                Half::Kept => {}
                Half::LooksErased => self.store.write((block, index), PageState::Erased, 0, &[], &[])?,
                Half::Noise => {
                    let page =
                        damage::garbage(&mut noise, page_bytes as usize, free_spare_bytes as usize, false);
                    self.put(block, index, &page)?;
                }
            }
        }
        let erase_count = wear.erase_count.saturating_add(1);
        self.store.set_wear(block, Wear { erase_count, hold: Hold::Weak, ..wear })
    }

    /// An erase that lost power just before its end.
    pub(super) fn erase_frail(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        self.complete_erase(block, wear)?;
        let wear = self.store.wear(block)?;
        self.store.set_wear(block, Wear { hold: Hold::Frail, ..wear })
    }
}
