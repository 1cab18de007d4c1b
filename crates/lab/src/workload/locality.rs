//! Hot and cold: some of the writes go to some of the pages.

use rand::{Rng, RngExt};

/// Ranks below `hot` get `accesses` of the draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locality {
    accesses: f64,
    hot: u32,
    pages: u32,
}

impl Locality {
    /// Locality over `pages` pages, of which `data` are hot, at least one and not all.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a u32")]
    pub(super) fn new(pages: u32, accesses: f64, data: f64) -> Self {
        // A percentage is not exact in binary; an almost whole number is whole.
        let hot = (f64::from(pages) * data + 1e-6) as u32;
        Self { accesses, hot: hot.clamp(1, pages.max(2) - 1), pages: pages.max(2) }
    }

    pub(super) fn draw(&self, rng: &mut impl Rng) -> u32 {
        if rng.random_bool(self.accesses) {
            rng.random_range(0..self.hot)
        } else {
            rng.random_range(self.hot..self.pages)
        }
    }
}
