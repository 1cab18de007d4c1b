//! A chip that remembers which pages were programmed last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pumice_media::{Layer, Nand, NandError, PageId};

/// The pages that were programmed last, oldest first.
pub type Last = Arc<Mutex<VecDeque<PageId>>>;

/// The chip pages of the log page that was programmed last, of `gang` chip pages.
pub fn log_page(last: &Last, gang: u32) -> Vec<PageId> {
    let last = last.lock().unwrap();
    last.iter().flat_map(|page| page.0 / gang * gang..=page.0).map(PageId).collect()
}

/// A chip before which this stands tells its last programs.
pub struct Newest<N> {
    pub chip: N,
    last: Last,
    /// The number of pages remembered.
    count: usize,
}

impl<N: Nand> Newest<N> {
    pub fn new(chip: N, count: usize) -> (Newest<N>, Last) {
        let last = Last::default();
        (Newest { chip, last: Arc::clone(&last), count }, last)
    }
}

impl<N: Nand> Layer for Newest<N> {
    type Chip = N;
    fn behind(&self) -> &N {
        &self.chip
    }
    fn behind_mut(&mut self) -> &mut N {
        &mut self.chip
    }
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        let mut last = self.last.lock().unwrap();
        last.push_back(page);
        if last.len() > self.count {
            last.pop_front();
        }
        self.chip.program(page, data, spare)
    }
}
