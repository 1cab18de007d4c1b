//! Reads of a chip with faults: the wrong bits, and the caller's result.

use super::SimChip;
use super::bits::WrongBits;
use super::charge;
use crate::faults;
use crate::nand::{NandError, PageId, ReadOutcome};
use crate::store::{PageState, Store};

impl<S: Store> SimChip<S> {
    /// Reads with faults set: collects the wrong bits and lets ECC judge them.
    pub(super) fn read_faulty(
        &mut self,
        page: PageId,
        state: PageState,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<ReadOutcome, NandError> {
        let block = self.spec.geometry.block_of(page);
        if self.memory.faults.is_factory_bad(block) {
            data.fill(0);
            spare.fill(0);
            return self.uncorrectable(page);
        }
        if self.memory.faults.read_disturb.is_some() {
            self.store.count_read(block)?;
        }
        if !state.is_written() {
            return Ok(ReadOutcome::Clean);
        }
        let bits = self.wrong_bits(page)?;
        self.counts.flipped_bits += bits.count();
        let judged = bits.judge(self.spec.ecc, self.spec.geometry.page_bytes, data, spare);
        if state == PageState::Garbage {
            return self.uncorrectable(page);
        }
        if self.memory.faults.unreadable.contains(&page) || self.varies(page) {
            // More than any code corrects, so that nobody gets the data through by luck.
            data.iter_mut().chain(spare).step_by(8).for_each(|byte| *byte ^= 1);
            return self.uncorrectable(page);
        }
        match judged {
            None => self.uncorrectable(page),
            Some(outcome) => {
                self.counts.corrected_reads += u64::from(outcome != ReadOutcome::Clean);
                Ok(outcome)
            }
        }
    }

    /// True if the page cannot be read this time, though at other times it can.
    fn varies(&mut self, page: PageId) -> bool {
        let case = self.memory.stats.page_reads + self.memory.stats.spare_reads;
        let faults = &mut self.memory.faults;
        if let Some(left) = faults.fading.get_mut(&page) {
            let faded = *left == 0;
            *left = left.saturating_sub(1);
            return faded;
        }
        let stutters = faults.stuttering.get(&page).is_some_and(|left| *left > 0);
        if stutters {
            faults.stuttering.entry(page).and_modify(|left| *left -= 1);
        }
        let fails = stutters || faults.read_fail_rate.is_some_and(|rate| rate.hits(case));
        self.counts.passing_failures += u64::from(fails);
        fails
    }

    pub(super) fn uncorrectable<T>(&mut self, page: PageId) -> Result<T, NandError> {
        self.counts.uncorrectable_reads += 1;
        Err(NandError::Uncorrectable(page))
    }

    pub(super) fn wrong_bits(&mut self, page: PageId) -> Result<WrongBits, NandError> {
        let geometry = self.spec.geometry;
        let (block, index) = (geometry.block_of(page), geometry.index_in_block(page));
        let page_bits = (geometry.page_bytes + geometry.free_spare_bytes).saturating_mul(8);
        let erases = self.store.wear(block)?.erase_count;
        // One life of the page from erase to erase: changed bits stay changed.
        let life = u64::from(page.0) | u64::from(erases) << 32;
        let faults = &self.memory.faults;
        let mut bits = WrongBits::default();
        let first = faults::BitFlip { page, bit: 0 };
        let last = faults::BitFlip { page, bit: u32::MAX };
        let placed = faults.flips.range(first..=last).filter(|flip| flip.bit < page_bits);
        placed.for_each(|flip| bits.flip(flip.bit));
        if let Some(rate) = faults.read_flip_rate {
            let mut rng =
                faults::random(rate.seed, self.memory.stats.page_reads + self.memory.stats.spare_reads);
            let count = rate.draw(&mut rng, page_bits);
            bits.scatter(&mut rng, count, page_bits);
        }
        if let Some(law) = faults.retention {
            let age_s = self.memory.clock_s.saturating_sub(self.store.programmed_s(block, index)?);
            charge::leak(&mut bits, law, life, age_s, page_bits);
        }
        if let Some(disturb) = faults.read_disturb {
            let reads = self.store.reads(block)?;
            let count = reads.saturating_sub(disturb.harmless_reads) / disturb.reads_per_flip.max(1);
            bits.scatter(&mut faults::random(disturb.seed, life), count, page_bits);
        }
        Ok(bits)
    }
}
