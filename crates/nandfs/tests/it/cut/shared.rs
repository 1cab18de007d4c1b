//! A chip that its owner keeps a hand on while it is mounted: a failed unmount would take it along.

use std::sync::{Arc, Mutex};

use pumice_media::{
    BlockId, Geometry, Nand, NandError, NandStats, PageId, Pairing, ReadOutcome, SimChip, Timing,
};

/// The chip; clones are the same chip.
#[derive(Clone)]
pub struct Shared(pub Arc<Mutex<SimChip>>);

impl Shared {
    pub fn new(chip: SimChip) -> Shared {
        Shared(Arc::new(Mutex::new(chip)))
    }

    /// A chip of its own with the same contents.
    pub fn copy(&self) -> SimChip {
        self.0.lock().unwrap().clone()
    }

    pub fn is_powered(&self) -> bool {
        self.0.lock().unwrap().is_powered()
    }

    /// Gives it its power back, for good.
    pub fn power_on(&self) {
        let mut chip = self.0.lock().unwrap();
        chip.power_on();
        chip.faults_mut().power_cut = None;
    }
}

impl Nand for Shared {
    fn geometry(&self) -> Geometry {
        self.0.lock().unwrap().geometry()
    }

    fn timing(&self) -> Timing {
        self.0.lock().unwrap().timing()
    }

    fn pairing(&self) -> Pairing {
        self.0.lock().unwrap().pairing()
    }

    fn read(&mut self, page: PageId, data: &mut [u8], spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        self.0.lock().unwrap().read(page, data, spare)
    }

    fn read_by_codeword(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<Vec<std::ops::Range<usize>>, NandError> {
        self.0.lock().unwrap().read_by_codeword(page, data, spare)
    }

    fn read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        self.0.lock().unwrap().read_spare(page, spare)
    }

    fn program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        self.0.lock().unwrap().program(page, data, spare)
    }

    fn erase(&mut self, block: BlockId) -> Result<(), NandError> {
        self.0.lock().unwrap().erase(block)
    }

    fn is_bad(&mut self, block: BlockId) -> Result<bool, NandError> {
        self.0.lock().unwrap().is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.0.lock().unwrap().mark_bad(block)
    }

    fn stats(&self) -> NandStats {
        self.0.lock().unwrap().stats()
    }

    fn flush(&mut self) -> Result<(), NandError> {
        self.0.lock().unwrap().flush()
    }
}
