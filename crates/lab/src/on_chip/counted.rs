//! A chip that counts the programs of each of its pages. Erases do not tell: some file systems erase blank blocks.

use pumice_media::{Layer, Nand, NandError, PageId, SimChip};

pub(super) struct Counted {
    chip: SimChip,
    programs: Vec<u32>,
}

impl Counted {
    pub(super) fn new(chip: SimChip) -> Counted {
        let pages = usize::try_from(chip.geometry().pages()).unwrap_or(usize::MAX);
        Counted { chip, programs: vec![0; pages] }
    }

    /// The chip, and how often each page was programmed since.
    pub(super) fn into_parts(self) -> (SimChip, Vec<u32>) {
        (self.chip, self.programs)
    }
}

impl Layer for Counted {
    type Chip = SimChip;

    fn behind(&self) -> &SimChip {
        &self.chip
    }

    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.chip
    }

    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        if let Some(count) = self.programs.get_mut(page.0 as usize) {
            *count += 1;
        }
        self.chip.program(page, data, spare)
    }
}
