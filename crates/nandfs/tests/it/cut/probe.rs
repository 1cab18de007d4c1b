//! A chip that crashes at every operation without ending. At each program, erase and bad-block mark, clones of it lose
//! their power in each mode and are handed to a hook, while the chip itself goes on.

use std::sync::{Arc, Mutex};

use pumice_media::{BlockId, CutMode, Layer, Nand, NandError, PageId, SimChip};

/// A judge of the crashed clones.
pub trait Hook {
    /// The modes in which operation `n` is to be cut.
    fn modes(&mut self, n: u64) -> Vec<CutMode>;
    /// A chip that lost its power in operation `n`, and has it back.
    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip);
}

/// The chip.
pub struct Probe {
    pub chip: SimChip,
    hook: Arc<Mutex<dyn Hook + Send>>,
    base: u64,
}

impl Probe {
    pub fn new(chip: SimChip, hook: Arc<Mutex<dyn Hook + Send>>) -> Probe {
        let base = chip.operations();
        Probe { chip, hook, base }
    }

    /// Each operation has a second of its own on the chip's clock, so that pages tell the order of their programs.
    fn branch(&mut self, work: impl Fn(&mut SimChip)) {
        self.chip.pass(1);
        let n = self.chip.operations() - self.base;
        let modes = self.hook.lock().unwrap().modes(n);
        for mode in modes {
            let mut chip = self.chip.clone();
            chip.cut_after(0, mode);
            work(&mut chip);
            assert!(!chip.is_powered(), "operation {n} breaks a rule of the chip");
            chip.power_on();
            chip.faults_mut().power_cut = None;
            self.hook.lock().unwrap().crashed(n, mode, chip);
        }
    }
}

impl Layer for Probe {
    type Chip = SimChip;
    fn behind(&self) -> &SimChip {
        &self.chip
    }
    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.chip
    }
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        self.branch(|chip| {
            let _ = chip.program(page, data, spare);
        });
        self.chip.program(page, data, spare)
    }
    fn pass_erase(&mut self, block: BlockId) -> Result<(), NandError> {
        self.branch(|chip| {
            let _ = chip.erase(block);
        });
        self.chip.erase(block)
    }
    fn pass_mark_bad(&mut self, block: BlockId) -> Result<(), NandError> {
        self.branch(|chip| {
            let _ = chip.mark_bad(block);
        });
        self.chip.mark_bad(block)
    }
}
