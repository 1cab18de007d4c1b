//! Reads of a chip with faults: the wrong bits, and the caller's result.

use alloc::vec::Vec;

use super::SimChip;
use super::bits::WrongBits;
use super::charge;
use crate::faults::{self, Codeword};
use crate::nand::{NandError, PageId, ReadOutcome};
use crate::store::{PageState, Store};

/// The bytes of a page that a read got right.
pub(super) enum Judged {
    /// All.
    Right(ReadOutcome),
    /// None is sure to be.
    Lost,
    /// All but these codewords.
    LostCodewords(Vec<u32>),
}

impl<S: Store> SimChip<S> {
    /// Reads with faults set: collects the wrong bits and lets ECC judge them.
    pub(super) fn read_faulty(
        &mut self,
        page: PageId,
        state: PageState,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Judged, NandError> {
        let geometry = self.spec.geometry;
        let block = geometry.block_of(page);
        if self.memory.faults.is_factory_bad(block) {
            data.fill(0);
            spare.fill(0);
            return Ok(Judged::Lost);
        }
        if self.memory.faults.read_disturb.is_some() {
            self.store.count_read(block)?;
        }
        if !state.is_written() {
            return Ok(Judged::Right(ReadOutcome::Clean));
        }
        let bits = self.wrong_bits(page)?;
        self.counts.flipped_bits += bits.count();
        let (worst, mut lost) = bits.judge(self.spec.ecc, geometry.page_bytes, data, spare);
        if state == PageState::Garbage {
            return Ok(Judged::Lost);
        }
        if self.memory.faults.unreadable.contains(&page) || self.varies(page) {
            spoil(data.iter_mut().chain(spare));
            return Ok(Judged::Lost);
        }
        for number in self.dead_codewords(page) {
            let bytes = self.spec.ecc.bytes_of(&geometry, number);
            let is_spare = bytes.start >= geometry.page_bytes as usize;
            if bytes.is_empty() {
                continue;
            }
            match data.get_mut(bytes) {
                Some(bytes) => spoil(bytes.iter_mut()),
                None if is_spare => spoil(spare.iter_mut()),
                // The spare area alone is read.
                None => continue,
            }
            if !is_spare || self.spec.ecc.covers_spare {
                lost.push(number);
            }
        }
        if lost.is_empty() {
            let outcome = match worst {
                0 => ReadOutcome::Clean,
                bits => ReadOutcome::Corrected { bits, refresh: self.spec.ecc.wants_refresh(bits) },
            };
            self.counts.corrected_reads += u64::from(outcome != ReadOutcome::Clean);
            return Ok(Judged::Right(outcome));
        }
        lost.sort_unstable();
        lost.dedup();
        Ok(Judged::LostCodewords(lost))
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

    /// The outcome of a read of a page.
    pub(super) fn outcome(&mut self, page: PageId, judged: &Judged) -> Result<ReadOutcome, NandError> {
        match judged {
            Judged::Right(outcome) => Ok(*outcome),
            Judged::Lost | Judged::LostCodewords(_) => {
                self.counts.uncorrectable_reads += 1;
                Err(NandError::Uncorrectable(page))
            }
        }
    }

    /// The dead codewords of a page, by number.
    fn dead_codewords(&self, page: PageId) -> Vec<u32> {
        let (first, last) = (Codeword { page, number: 0 }, Codeword { page, number: u32::MAX });
        self.memory.faults.dead_codewords.range(first..=last).map(|codeword| codeword.number).collect()
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

/// Spoils more bits than any code corrects, so that nobody gets the data through by luck.
fn spoil<'a>(bytes: impl Iterator<Item = &'a mut u8>) {
    bytes.step_by(8).for_each(|byte| *byte ^= 1);
}
