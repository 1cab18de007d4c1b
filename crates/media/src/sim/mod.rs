//! A simulated NAND chip.
//!
//! # The fault model
//!
//! A chip without [`Faults`] never fails: each bit reads as it was programmed. All faults are data, set and lifted at
//! any time, drawn from seeds, so that a run can be repeated, and counted in [`FaultCounts`].
//!
//! - **Bad blocks.** Those of the factory are marked, cannot be read, and fail every program and erase. A block marked
//!   later still reads, and fails every program and erase.
//! - **Failed programs and erases** strike listed places, a share of all calls, or blocks past their endurance. A failed
//!   program leaves a torn page beyond correction and no other, a failed erase a half-erased block.
//! - **Wrong bits** come from listed places, from noise that differs at each read, from the charge that each page loses
//!   since it was programmed, and from reading pages of its block. ECC is modelled by counting: a codeword with no more
//!   wrong bits than the code corrects reads right, one with more reads wrong and the page is uncorrectable. Real codes
//!   may also miscorrect; here only the noise of [`CutMode::Garbage`] may read clean, so that file systems check their
//!   reads. If the code leaves the spare area out, wrong bits there are neither corrected nor noticed.
//! - **Dead codewords** are listed, or have too many wrong bits. The others of their pages read right
//!   ([`Nand::read_by_codeword`]), those of listed unreadable pages and of pages after a cut do not.
//! - **Reads that vary.** Listed pages fail at first and read at another try, or read at first and fade for good; and a
//!   share of all reads fails.
//! - **Power cuts** hit the n-th program, erase or bad-block mark; see [`CutMode`] for their effects. A page that looks
//!   erased after a cut erase or an early cut program does not keep new data. The program reports success, and the page
//!   reads as noise or, worse, reads right a few times before it fades. On chips with several bits a cell a cut program
//!   takes the pages with it that share its cells, however long ago they were programmed; see [`Pairing`].
//!
//! Not modelled are wrong bits in erased pages: controllers hide a few, and nothing is read from them. Nor are chips
//! that keep the pages of a word line in latches and program them at once with the last: their drivers hand over whole
//! word lines. Nor are failed programs that take pages of the same cells along, or several operations in flight, and a
//! cut of all of them. Left out, too, are program disturb, temperature, wear that speeds up the loss of charge, and
//! factory bad blocks without a mark.
//!
//! # Time
//!
//! There are two clocks, and neither is the host's. [`device_ns`](NandStats::device_ns) adds up how long the chip was
//! busy: each call takes the time of the chip's table, failed and cut ones too. [`SimChip::pass`] moves the years: pages
//! age by it and by nothing else. A container keeps both, and the reads of each block.

mod bits;
mod charge;
mod damage;
mod reading;
mod writing;

use alloc::vec::Vec;
use core::ops::Range;

use reading::Judged;

use crate::faults::{self, CutMode, FaultCounts, Faults, PowerCut};
use crate::mem_store::MemStore;
use crate::memory::Memory;
use crate::nand::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};
use crate::pairing::Pairing;
use crate::spec::ChipSpec;
use crate::store::{PageState, Store, Wear};

/// A simulated chip over pages kept in `S`; see the [module](self) for its fault model.
///
/// A clone is a second chip with the same contents that goes its own way.
#[derive(Clone, Debug)]
pub struct SimChip<S: Store = MemStore> {
    spec: ChipSpec,
    store: S,
    memory: Memory,
    /// Work of earlier openings.
    stats_before: NandStats,
    counts: FaultCounts,
    /// False as long as nobody has asked for a fault: one test in each call, then none.
    armed: bool,
    powered: bool,
}

impl SimChip<MemStore> {
    /// A fresh chip in memory.
    pub fn new(spec: &ChipSpec) -> SimChip<MemStore> {
        SimChip::over(spec.clone(), MemStore::new(&spec.geometry()), Memory::default())
    }
}

impl<S: Store> SimChip<S> {
    pub(crate) fn over(spec: ChipSpec, store: S, memory: Memory) -> SimChip<S> {
        SimChip {
            spec,
            store,
            armed: !memory.faults.is_none(),
            stats_before: memory.stats,
            memory,
            counts: FaultCounts::default(),
            powered: true,
        }
    }

    /// The chip's description.
    pub fn spec(&self) -> &ChipSpec {
        &self.spec
    }

    /// The pages under the chip.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The faults that are set.
    pub fn faults(&self) -> &Faults {
        &self.memory.faults
    }

    /// The faults, to set and to lift.
    pub fn faults_mut(&mut self) -> &mut Faults {
        self.armed = true;
        &mut self.memory.faults
    }

    /// The number of faults that have struck since the chip was opened.
    pub fn fault_counts(&self) -> FaultCounts {
        self.counts
    }

    /// Work done since the chip was made, over all openings of its container.
    pub fn lifetime_stats(&self) -> NandStats {
        self.memory.stats
    }

    /// Programs, erases and bad-block marks begun since the chip was made: the points where
    /// [`SimChip::cut_after`] can strike. Calls that break a rule or find the power gone do not count.
    pub fn operations(&self) -> u64 {
        self.memory.operations
    }

    /// Lets `operations` more operations through and cuts the power in the middle of the one after them.
    pub fn cut_after(&mut self, operations: u64, mode: CutMode) {
        let after_operations = self.memory.operations.saturating_add(operations);
        self.faults_mut().power_cut = Some(PowerCut { after_operations, mode });
    }

    /// False after a cut, until [`SimChip::power_on`].
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// Gives the chip its power back, as it was left.
    pub fn power_on(&mut self) {
        self.powered = true;
    }

    /// Takes the power away between two operations, as a cut with [`CutMode::Nothing`] does.
    pub fn power_off(&mut self) {
        self.powered = false;
    }

    /// Seconds that have passed since the chip was made, by the clock that [`SimChip::pass`] moves.
    pub fn clock_s(&self) -> u32 {
        self.memory.clock_s
    }

    /// Lets time pass: all that is programmed grows older. The clock stops at 136 years.
    pub fn pass(&mut self, seconds: u32) {
        self.memory.clock_s = self.memory.clock_s.saturating_add(seconds);
    }

    /// Reads of a block's pages since its erase, while [`Faults::read_disturb`] was set; 0 outside the chip.
    pub fn reads(&mut self, block: BlockId) -> Result<u32, NandError> {
        if block.0 >= self.spec.geometry.blocks { Ok(0) } else { self.store.reads(block) }
    }

    /// Makes a block as worn as so many erases do; nothing else about it changes. Outside the chip a violation.
    pub fn set_erase_count(&mut self, block: BlockId, erases: u32) -> Result<(), NandError> {
        self.admit_block(block)?;
        let wear = self.store.wear(block)?;
        self.store.set_wear(block, Wear { erase_count: erases, ..wear })
    }

    /// Erases of a block so far; 0 outside the chip and if the container cannot be read.
    pub fn erase_count(&mut self, block: BlockId) -> u32 {
        if block.0 >= self.spec.geometry.blocks {
            return 0;
        }
        self.store.wear(block).map_or(0, |wear| wear.erase_count)
    }

    /// The state of a page as the simulator knows it: no real chip tells it.
    pub fn page_state(&mut self, page: PageId) -> Result<PageState, NandError> {
        let (block, index) = self.place(page)?;
        self.store.page_state(block, index)
    }

    /// The time when a page was programmed, by [`SimChip::clock_s`]; 0 if it is not.
    pub fn programmed_s(&mut self, page: PageId) -> Result<u32, NandError> {
        let (block, index) = self.place(page)?;
        self.store.programmed_s(block, index)
    }

    #[cfg(feature = "std")]
    pub(crate) fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    fn violation<T>(&mut self, rule: &'static str, page: PageId) -> Result<T, NandError> {
        self.memory.stats.violations += 1;
        Err(NandError::Violation(rule, page))
    }

    fn place(&mut self, page: PageId) -> Result<(BlockId, u32), NandError> {
        let geometry = self.spec.geometry;
        let block = geometry.block_of(page);
        if block.0 >= geometry.blocks {
            return self.violation("the page is outside the chip", page);
        }
        Ok((block, geometry.index_in_block(page)))
    }

    /// Tests power, place and lengths for every call on a page.
    fn admit(
        &mut self,
        page: PageId,
        data: Option<usize>,
        spare: usize,
    ) -> Result<(BlockId, u32), NandError> {
        self.admit_power()?;
        let geometry = self.spec.geometry;
        if data.is_some_and(|bytes| bytes != geometry.page_bytes as usize) {
            return self.violation("the data buffer has not the length of a page", page);
        }
        if spare != geometry.free_spare_bytes as usize {
            return self.violation("the spare buffer has not the length of the free spare bytes", page);
        }
        self.place(page)
    }

    fn admit_power(&self) -> Result<(), NandError> {
        if self.powered { Ok(()) } else { Err(NandError::PowerLost) }
    }

    fn admit_block(&mut self, block: BlockId) -> Result<(), NandError> {
        self.admit_power()?;
        if block.0 >= self.spec.geometry.blocks {
            let page = PageId(block.0.saturating_mul(self.spec.geometry.pages_per_block));
            return self.violation("the block is outside the chip", page);
        }
        Ok(())
    }

    /// Counts an operation; returns the mode of the cut that hits it.
    fn begin_operation(&mut self) -> Option<CutMode> {
        let done = self.memory.operations;
        self.memory.operations += 1;
        if !self.armed {
            return None;
        }
        let cut = self.memory.faults.power_cut.filter(|cut| done >= cut.after_operations)?;
        self.memory.faults.power_cut = None;
        self.powered = false;
        self.counts.power_cuts += 1;
        Some(cut.mode)
    }

    /// Reads a page with its spare area.
    fn read_page(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<Judged, NandError> {
        let (block, index) = self.admit(page, Some(data.len()), spare.len())?;
        self.memory.stats.page_reads += 1;
        self.memory.stats.device_ns += self.spec.timing.read_page_ns;
        let state = self.store.read(block, index, data, spare)?;
        self.judge(page, state, data, spare)
    }

    fn judge(
        &mut self,
        page: PageId,
        state: PageState,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Judged, NandError> {
        if self.armed {
            return self.read_faulty(page, state, data, spare);
        }
        Ok(if state == PageState::Garbage { Judged::Lost } else { Judged::Right(ReadOutcome::Clean) })
    }

    /// A generator for this operation alone.
    fn random(&self, seed: u64) -> fastrand::Rng {
        faults::random(seed, self.memory.operations)
    }
}

impl<S: Store> Drop for SimChip<S> {
    /// Keeps faults and work done; an error has nobody to go to, and `flush` reports it to those who ask.
    fn drop(&mut self) {
        let _ = self.store.save(&self.memory);
    }
}

impl<S: Store> Nand for SimChip<S> {
    fn geometry(&self) -> Geometry {
        self.spec.geometry
    }

    fn timing(&self) -> Timing {
        self.spec.timing
    }

    fn pairing(&self) -> Pairing {
        self.spec.pairing
    }

    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        let judged = self.read_page(page, data, spare)?;
        self.outcome(page, &judged)
    }

    fn read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<Range<usize>>, NandError> {
        let (ecc, geometry) = (self.spec.ecc, self.spec.geometry);
        Ok(match self.read_page(page, data, spare)? {
            Judged::Right(_) => Vec::new(),
            Judged::Lost => core::iter::once(0..data.len() + spare.len()).collect(),
            Judged::LostCodewords(lost) => {
                lost.into_iter().map(|number| ecc.bytes_of(&geometry, number)).collect()
            }
        })
    }

    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        let (block, index) = self.admit(page, None, spare.len())?;
        self.memory.stats.spare_reads += 1;
        self.memory.stats.device_ns += self.spec.timing.read_spare_ns;
        let state = self.store.read(block, index, &mut [], spare)?;
        let judged = self.judge(page, state, &mut [], spare)?;
        self.outcome(page, &judged)
    }

    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        let (block, index) = self.admit(page, Some(data.len()), spare.len())?;
        if index < self.store.next_page(block)? {
            return if self.store.page_state(block, index)?.is_written() {
                self.violation("the page is programmed already; erase its block first", page)
            } else {
                self.violation("a later page of the block is programmed already", page)
            };
        }
        let cut = self.begin_operation();
        self.memory.stats.programs += 1;
        self.memory.stats.device_ns += self.spec.timing.program_ns;
        let wear = self.store.wear(block)?;
        if self.is_bad_block(block, wear) {
            self.counts.program_failures += 1;
            return Err(if cut.is_some() { NandError::PowerLost } else { NandError::ProgramFailed(page) });
        }
        if let Some(mode) = cut {
            self.cut_program(mode, (block, index), data, spare)?;
            return Err(NandError::PowerLost);
        }
        if self.armed && self.program_fails(page, wear) {
            return self.fail_program(page, data, spare);
        }
        self.complete_program(block, index, data, spare)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), NandError> {
        self.admit_block(block)?;
        let cut = self.begin_operation();
        self.memory.stats.erases += 1;
        self.memory.stats.device_ns += self.spec.timing.erase_ns;
        let wear = self.store.wear(block)?;
        if self.is_bad_block(block, wear) {
            self.counts.erase_failures += 1;
            return Err(if cut.is_some() { NandError::PowerLost } else { NandError::EraseFailed(block) });
        }
        if let Some(mode) = cut {
            match mode {
                CutMode::Nothing => {}
                CutMode::Complete => self.complete_erase(block, wear)?,
                CutMode::Torn { seed } | CutMode::Garbage { seed } | CutMode::Half { seed } => {
                    self.half_erase(block, wear, seed)?;
                }
                CutMode::Unstable { .. } => self.erase_frail(block, wear)?,
            }
            return Err(NandError::PowerLost);
        }
        if self.armed && self.erase_fails(block, wear) {
            self.counts.erase_failures += 1;
            self.half_erase(block, wear, 0)?;
            return Err(NandError::EraseFailed(block));
        }
        self.complete_erase(block, wear)
    }

    fn is_bad(&mut self, block: BlockId) -> Result<bool, NandError> {
        self.admit_block(block)?;
        self.memory.stats.spare_reads += 1;
        self.memory.stats.device_ns += self.spec.timing.read_spare_ns;
        let wear = self.store.wear(block)?;
        Ok(self.is_bad_block(block, wear))
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.admit_block(block)?;
        let cut = self.begin_operation();
        self.memory.stats.device_ns += self.spec.timing.program_ns;
        let kept = match cut {
            None | Some(CutMode::Complete) => true,
            Some(CutMode::Nothing) => false,
            Some(
                CutMode::Torn { seed }
                | CutMode::Garbage { seed }
                | CutMode::Half { seed }
                | CutMode::Unstable { seed },
            ) => self.random(seed).bool(),
        };
        if kept {
            let wear = self.store.wear(block)?;
            self.store.set_wear(block, Wear { bad: true, ..wear })?;
        }
        if cut.is_some() { Err(NandError::PowerLost) } else { Ok(()) }
    }

    fn stats(&self) -> NandStats {
        self.memory.stats - self.stats_before
    }

    fn flush(&mut self) -> Result<(), NandError> {
        self.admit_power()?;
        self.store.save(&self.memory)?;
        self.store.sync()
    }

    fn room(&self) -> Result<Option<u64>, NandError> {
        self.store.room()
    }
}
