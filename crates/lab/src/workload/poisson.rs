//! The arrival times of requests.

use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};
use rand_distr::{Distribution, Exp1};

/// Arrival times of a Poisson process, in nanoseconds from the start (CAT paper, section 6.1.2).
#[derive(Clone, Debug)]
pub struct Poisson {
    rng: Xoshiro256PlusPlus,
    mean_ns: f64,
    now_ns: f64,
}

impl Poisson {
    /// A process with `rate` arrivals a second on average; above 0.
    pub fn new(rate: f64, seed: u64) -> Self {
        Self { rng: Xoshiro256PlusPlus::seed_from_u64(seed), mean_ns: 1e9 / rate, now_ns: 0.0 }
    }
}

impl Iterator for Poisson {
    type Item = u64;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates after 584 years")]
    fn next(&mut self) -> Option<u64> {
        let gap: f64 = Exp1.sample(&mut self.rng);
        self.now_ns += gap * self.mean_ns;
        Some(self.now_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_a_poisson_process() {
        let times: Vec<_> = Poisson::new(1000.0, 7).take(100_001).collect();
        let gaps = times.windows(2).map(|pair| f64::from(u32::try_from(pair[1] - pair[0]).unwrap()));
        let mean = gaps.clone().sum::<f64>() / 1e5;
        let deviation = (gaps.map(|gap| (gap - mean).powi(2)).sum::<f64>() / 1e5).sqrt();
        assert!(
            (mean / 1e6 - 1.0).abs() < 0.01 && (deviation / mean - 1.0).abs() < 0.01,
            "{mean} {deviation}"
        );
    }
}
