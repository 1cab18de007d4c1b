//! Reads of a chip with faults: which bits are wrong, and what the caller gets.

use super::SimChip;
use super::bits::WrongBits;
use crate::faults;
use crate::store::{PageState, Store};
use crate::{NandError, PageId, ReadOutcome};

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
        if !data.is_empty() && self.memory.faults.read_disturb.is_some() {
            let reads = self.disturb.entry(block).or_insert(0);
            *reads = reads.saturating_add(1);
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
        if self.memory.faults.unreadable.contains(&page) {
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

    pub(super) fn uncorrectable<T>(&mut self, page: PageId) -> Result<T, NandError> {
        self.counts.uncorrectable_reads += 1;
        Err(NandError::Uncorrectable(page))
    }

    pub(super) fn wrong_bits(&mut self, page: PageId) -> Result<WrongBits, NandError> {
        let geometry = self.spec.geometry;
        let block = geometry.block_of(page);
        let page_bits = (geometry.page_bytes + geometry.free_spare_bytes).saturating_mul(8);
        let erases = self.store.wear(block)?.erase_count;
        // One life of the page from erase to erase: what has changed in it stays changed.
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
        if let Some(rate) = faults.retention_flip_rate {
            let mut rng = faults::random(rate.seed, life);
            let count = rate.draw(&mut rng, page_bits);
            bits.scatter(&mut rng, count, page_bits);
        }
        if let Some(disturb) = faults.read_disturb {
            let reads = self.disturb.get(&block).copied().unwrap_or(0);
            let count = reads.saturating_sub(disturb.harmless_reads) / disturb.reads_per_flip.max(1);
            bits.scatter(&mut faults::random(disturb.seed, life), count, page_bits);
        }
        Ok(bits)
    }
}
