//! A chip that leaves its figures behind when it goes, for `--stats`.

use std::sync::{Arc, Mutex, PoisonError};

use pumice_media::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};

/// Adds up what all chips of a run have done.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    total: Arc<Mutex<NandStats>>,
}

impl Meter {
    /// Takes in the figures of one chip.
    pub(crate) fn add(&self, stats: NandStats) {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.page_reads += stats.page_reads;
        total.spare_reads += stats.spare_reads;
        total.programs += stats.programs;
        total.erases += stats.erases;
        total.device_ns += stats.device_ns;
        total.violations += stats.violations;
    }

    /// One line with all figures.
    pub(crate) fn report(&self) -> String {
        let total = *self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = format!(
            "page reads {}, spare reads {}, programs {}, erases {}, device time {}.{:03} ms",
            total.page_reads,
            total.spare_reads,
            total.programs,
            total.erases,
            total.device_ns / 1_000_000,
            total.device_ns / 1000 % 1000
        );
        if total.violations > 0 {
            line = format!("{line}, broken rules {}", total.violations);
        }
        line
    }
}

/// The chip.
pub(crate) struct Metered {
    chip: Box<dyn Nand + Send>,
    meter: Meter,
}

impl Metered {
    pub(crate) fn new(chip: Box<dyn Nand + Send>, meter: Meter) -> Metered {
        Metered { chip, meter }
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.meter.add(self.chip.stats());
    }
}

impl Nand for Metered {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }
    fn timing(&self) -> Timing {
        self.chip.timing()
    }
    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        self.chip.read(page, data, spare)
    }
    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        self.chip.read_spare(page, spare)
    }
    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        self.chip.program(page, data, spare)
    }
    fn erase(&mut self, block: BlockId) -> Result<(), NandError> {
        self.chip.erase(block)
    }
    fn is_bad(&mut self, block: BlockId) -> Result<bool, NandError> {
        self.chip.is_bad(block)
    }
    fn mark_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.chip.mark_bad(block)
    }
    fn stats(&self) -> NandStats {
        self.chip.stats()
    }
    fn flush(&mut self) -> Result<(), NandError> {
        self.chip.flush()
    }
}
