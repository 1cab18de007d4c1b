//! A chip that adds its counts to a sum when it is dropped, for `--stats`.

use std::sync::{Arc, Mutex, PoisonError};

use pumice_media::{Layer, Nand, NandStats};

/// Sums the operations of all chips of a run.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    total: Arc<Mutex<NandStats>>,
    mended: Arc<Mutex<Option<Mended>>>,
}

/// The repairs of a mount.
#[derive(Clone, Copy)]
pub(crate) struct Mended {
    /// Erase blocks moved because of wrong bits or reads.
    pub(crate) blocks: u32,
    /// Wrong bits put right: of each read those of the worst codeword.
    pub(crate) bits: u64,
    /// Pages that parity brought back.
    pub(crate) rebuilt_pages: u32,
    /// Pages of nandfs, or blocks of a disk, moved to even out wear.
    pub(crate) levelled_pages: u64,
}

impl std::ops::Sub for Mended {
    type Output = Mended;

    fn sub(self, before: Mended) -> Mended {
        Mended {
            blocks: self.blocks - before.blocks,
            bits: self.bits - before.bits,
            rebuilt_pages: self.rebuilt_pages - before.rebuilt_pages,
            levelled_pages: self.levelled_pages - before.levelled_pages,
        }
    }
}

impl Meter {
    /// Adds the counts of one chip.
    pub(crate) fn add(&self, stats: NandStats) {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.page_reads += stats.page_reads;
        total.spare_reads += stats.spare_reads;
        total.programs += stats.programs;
        total.erases += stats.erases;
        total.device_ns += stats.device_ns;
        total.violations += stats.violations;
    }

    /// Sets the repairs of a mount.
    pub(crate) fn mend(&self, mended: Mended) {
        *self.mended.lock().unwrap_or_else(PoisonError::into_inner) = Some(mended);
    }

    /// All counts on one line.
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
        let mended = *self.mended.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Mended { blocks, bits, rebuilt_pages, levelled_pages }) = mended {
            line = format!("{line}, mended blocks {blocks}, corrected bits {bits}");
            if rebuilt_pages > 0 {
                line = format!("{line}, rebuilt pages {rebuilt_pages}");
            }
            line = format!("{line}, pages moved for wear {levelled_pages}");
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

impl Layer for Metered {
    type Chip = dyn Nand + Send;
    fn behind(&self) -> &(dyn Nand + Send + 'static) {
        &*self.chip
    }
    fn behind_mut(&mut self) -> &mut (dyn Nand + Send + 'static) {
        &mut *self.chip
    }
}
