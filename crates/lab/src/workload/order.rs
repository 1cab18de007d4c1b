//! The ranks of pages, and their changes.

use rand::{Rng, RngExt, seq::SliceRandom};

use super::Drift;

/// A page for each rank; the ranks may move.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pages: u32,
    drift: Drift,
    /// The page of each rank before shifting; empty if it is the rank itself.
    ranked: Vec<u32>,
    /// Ranks that all pages have moved up.
    moved: u32,
    /// Writes until they move again.
    left: u32,
}

impl Order {
    /// Page n has rank n, for ever.
    pub(super) fn natural(pages: u32) -> Self {
        Self { pages, drift: Drift::None, ranked: Vec::new(), moved: 0, left: 0 }
    }

    /// Ranks are dealt at random. 4 bytes for each page.
    pub(super) fn shuffled(pages: u32, drift: Drift, rng: &mut impl Rng) -> Self {
        let mut ranked: Vec<u32> = (0..pages).collect();
        ranked.shuffle(rng);
        let left = if let Drift::Shift(writes) = drift { writes } else { 0 };
        Self { pages, drift, ranked, moved: 0, left }
    }

    /// The page of rank `rank`, which is written now.
    #[inline]
    pub(super) fn written(&mut self, rank: u32, rng: &mut impl Rng) -> u32 {
        match self.drift {
            Drift::None => self.page(rank),
            Drift::Churn(part) => {
                let page = self.page(rank);
                if rng.random_bool(part) {
                    let other = rng.random_range(0..self.pages);
                    self.ranked.swap(rank as usize, other as usize);
                }
                page
            }
            Drift::Shift(writes) => {
                let moved = u64::from(rank) + u64::from(self.moved);
                let page = self.page(u32::try_from(moved % u64::from(self.pages)).unwrap_or(0));
                self.left -= 1;
                if self.left == 0 {
                    self.left = writes;
                    self.moved = (self.moved + 1) % self.pages;
                }
                page
            }
        }
    }

    #[inline]
    fn page(&self, rank: u32) -> u32 {
        self.ranked.get(rank as usize).copied().unwrap_or(rank)
    }
}
