//! The heat of pages, as the CAT paper counts it.

use alloc::{vec, vec::Vec};

use crate::victim::Cat;

/// Update counts and the clocks of last updates of all pages: 6 bytes a page.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    pages: Vec<Page>,
    ages: Cat,
    /// Updates of all pages.
    updates: u64,
    /// The next page that the sweep looks at, the degrees it has summed, and the mean that the last sweep found.
    hand: usize,
    sum: u64,
    mean: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Page {
    updates: [u8; 2],
    updated: [u8; 4],
}

impl Page {
    fn updates(self) -> u16 {
        u16::from_le_bytes(self.updates)
    }
}

/// Divisible by every age' of [`Cat`].
const SCALE: u64 = 60;

impl Heat {
    pub(super) fn new(pages: u32) -> Self {
        let list = vec![Page::default(); pages as usize];
        Self { pages: list, ages: Cat::new(pages), updates: 0, hand: 0, sum: 0, mean: 0 }
    }

    fn page(&self, page: u32) -> Page {
        self.pages.get(page as usize).copied().unwrap_or_default()
    }

    /// A user writes a page, over an old copy or for the first time.
    pub(super) fn write(&mut self, now: u32, page: u32, is_update: bool) {
        if let Some(slot) = self.pages.get_mut(page as usize) {
            slot.updated = now.to_le_bytes();
            let updates = slot.updates();
            if is_update && updates < u16::MAX {
                slot.updates = (updates + 1).to_le_bytes();
                self.updates += 1;
            }
        }
        self.sweep(now);
    }

    /// Looks at one page more; after the last the mean is known anew.
    fn sweep(&mut self, now: u32) {
        self.sum += self.degree(now, u32::try_from(self.hand).unwrap_or(u32::MAX));
        self.hand += 1;
        if self.hand >= self.pages.len() {
            self.mean = self.sum / (self.pages.len() as u64).max(1);
            (self.hand, self.sum) = (0, 0);
        }
    }

    /// User writes since the last write of a page.
    pub(super) fn age(&self, now: u32, page: u32) -> u32 {
        now.wrapping_sub(u32::from_le_bytes(self.page(page).updated))
    }

    /// The hot degree: updates over age', where age' is that of the CAT formula.
    pub(super) fn degree(&self, now: u32, page: u32) -> u64 {
        let updates = u64::from(self.page(page).updates());
        updates * SCALE / u64::from(self.ages.step(self.age(now, page)))
    }

    /// True if the hot degree exceeds the mean of all pages.
    pub(super) fn is_hot(&self, now: u32, page: u32) -> bool {
        self.degree(now, page) > self.mean
    }

    /// True if the page was updated more often than the mean of all pages.
    pub(super) fn is_often(&self, page: u32) -> bool {
        u64::from(self.page(page).updates()) * self.pages.len() as u64 > self.updates
    }
}
