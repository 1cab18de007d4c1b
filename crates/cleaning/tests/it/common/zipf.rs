//! Zipf's law, and popularity that changes.

use fastrand::Rng;

/// Pages drawn with probability in proportion to rank^-s; which page has which rank is drawn first.
///
/// With churn c, after each write, with probability c, the written page swaps its rank with that of a page drawn evenly
/// from all.
pub(crate) struct Zipf {
    rng: Rng,
    churn: f64,
    /// Vose's alias method: rank r is kept with this probability, otherwise it is its alias.
    keep: Vec<f64>,
    alias: Vec<usize>,
    page: Vec<u32>,
}

impl Zipf {
    pub(crate) fn new(pages: u32, s: f64, churn: f64, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let weights: Vec<f64> = (1..=pages).map(|rank| f64::from(rank).powf(-s)).collect();
        let mean = weights.iter().sum::<f64>() / f64::from(pages);
        let mut keep: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut alias: Vec<usize> = (0..keep.len()).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            alias.iter().partition(|&&rank| keep[rank] < 1.0);
        while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
            alias[low] = high;
            keep[high] -= 1.0 - keep[low];
            if keep[high] < 1.0 {
                small.extend(large.pop());
            }
        }
        let mut page: Vec<u32> = (0..pages).collect();
        rng.shuffle(&mut page);
        Self { rng, churn, keep, alias, page }
    }
}

impl Iterator for Zipf {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let drawn = self.rng.usize(0..self.page.len());
        let rank = if self.rng.f64() < self.keep[drawn] { drawn } else { self.alias[drawn] };
        let page = self.page[rank];
        if self.churn > 0.0 && self.rng.f64() < self.churn {
            let other = self.rng.usize(0..self.page.len());
            self.page.swap(rank, other);
        }
        Some(page)
    }
}
