//! Zipf's law, drawn in constant time and little memory.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, weighted::WeightedAliasIndex};

/// Ranks of the head: its table stays in the processor's cache.
const HEAD: u32 = 4096;

/// Draws ranks from 0 in proportion to (rank + 1)^-exponent.
///
/// The first ranks come out of an alias table, exactly. For the rest the continuous law is inverted and its surplus is
/// rejected, which happens once in thousands of draws (after Hormann and Derflinger, ACM TOMACS 6(3), 1996). A table of
/// all ranks would be a cache miss for each draw.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    head: WeightedAliasIndex<f64>,
    /// The part of the draws that goes to the head.
    head_part: f64,
    tail: Tail,
}

/// The ranks after the head.
#[derive(Clone, Copy, Debug)]
struct Tail {
    exponent: f64,
    last: u32,
    /// Integral of the law up to the end of the head, and from there to the last rank.
    before: f64,
    area: f64,
}

impl Zipf {
    /// The law over `ranks` ranks; `None` if there is none. `exponent` is above 0.
    pub(super) fn new(ranks: u32, exponent: f64) -> Option<Self> {
        let head = HEAD.min(ranks);
        let weights: Vec<f64> = (1..=head).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let sum: f64 = weights.iter().rev().sum();
        let tail = Tail::new(exponent, head, ranks);
        let head_part = sum / (sum + tail.weight(head));
        Some(Self { head: WeightedAliasIndex::new(weights).ok()?, head_part, tail })
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut impl Rng) -> u32 {
        if rng.random_bool(self.head_part) {
            return u32::try_from(self.head.sample(rng)).unwrap_or(0);
        }
        self.tail.draw(rng)
    }
}

impl Tail {
    /// The law from the rank after `head`, counted from 1, to rank `last`.
    fn new(exponent: f64, head: u32, last: u32) -> Self {
        let before = integral(f64::from(head), exponent);
        Self { exponent, last, before, area: integral(f64::from(last), exponent) - before }
    }

    /// The sum of the law over the ranks, by Euler and Maclaurin; its error is below 1e-14 of the whole.
    fn weight(&self, head: u32) -> f64 {
        let law = |rank: u32| f64::from(rank).powf(-self.exponent);
        let slope = |rank: u32| -self.exponent * f64::from(rank).powf(-self.exponent - 1.0);
        self.area + (law(self.last) - law(head)) / 2.0 + (slope(self.last) - slope(head)) / 12.0
    }

    /// A rank from 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is a u32")]
    fn draw(&self, rng: &mut impl Rng) -> u32 {
        loop {
            let at = inverse(self.before + rng.random::<f64>() * self.area, self.exponent);
            let rank = at.ceil();
            // The law at the rank is (at / rank)^exponent of the drawn value; mostly the tangent is enough to know.
            let over = rng.random::<f64>();
            let tangent = 1.0 - self.exponent.max(1.0) * (rank - at) / rank;
            if over <= tangent || over <= (at / rank).powf(self.exponent) {
                return (rank as u32).clamp(1, self.last) - 1;
            }
        }
    }
}

/// Integral of t^-s from 1 to x.
fn integral(x: f64, s: f64) -> f64 {
    match 1.0 - s {
        near if near.abs() < 1e-9 => x.ln(),
        power => (x.powf(power) - 1.0) / power,
    }
}

/// The x with that integral.
fn inverse(area: f64, s: f64) -> f64 {
    match 1.0 - s {
        near if near.abs() < 1e-9 => area.exp(),
        power => (1.0 + area * power).powf(1.0 / power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};

    /// Chi-square per degree of freedom of `draws` draws over bins of ranks, against exact sums.
    fn misfit(ranks: u32, exponent: f64, draws: u32) -> f64 {
        let zipf = Zipf::new(ranks, exponent).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let bin = |rank: u32| if rank < 50 { rank } else { 50 + (rank - 50) / 2000 };
        let bins = bin(ranks - 1) as usize + 1;
        let (mut got, mut want) = (vec![0.0; bins], vec![0.0; bins]);
        for _ in 0..draws {
            got[bin(zipf.draw(&mut rng)) as usize] += 1.0;
        }
        let law = |rank: u32| f64::from(rank + 1).powf(-exponent);
        let sum: f64 = (0..ranks).rev().map(law).sum();
        (0..ranks).for_each(|rank| want[bin(rank) as usize] += law(rank) / sum * f64::from(draws));
        let square = |(got, want): (&f64, &f64)| (got - want).powi(2) / want;
        got.iter().zip(&want).map(square).sum::<f64>() / (f64::from(u32::try_from(bins).unwrap()) - 1.0)
    }

    #[test]
    fn head_and_tail_follow_the_law() {
        for (ranks, exponent) in
            [(100_000, 0.99), (100_000, 1.0), (60_000, 0.5), (30_000, 1.3), (4097, 0.8), (100, 1.0)]
        {
            let misfit = misfit(ranks, exponent, 1_000_000);
            assert!((0.3..1.7).contains(&misfit), "{ranks} {exponent}: {misfit}");
        }
    }

    #[test]
    fn few_ranks_and_steep_laws_are_drawn_too() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert!(Zipf::new(0, 1.0).is_none());
        for (ranks, exponent) in [(1, 1.0), (2, 50.0), (100_000, 400.0), (100_000, 0.001), (u32::MAX, 0.99)] {
            let zipf = Zipf::new(ranks, exponent).unwrap();
            assert!((0..1000).all(|_| zipf.draw(&mut rng) < ranks), "{ranks} {exponent}");
        }
    }
}
