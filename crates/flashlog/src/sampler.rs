//! Erase blocks that are read too often, found without a count for each: one read in so many is told, drawn at random.
//!
//! A block of which `n` reads are told was read about `n` times as often; the deviation is the root of `n` in `n`.
//! Draws have random gaps, so that no pattern of reads slips between them.

use alloc::vec::Vec;

/// Blocks that wait to be asked for, at the most.
const TOLD_MOST: usize = 1024;

/// The draw.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// One read in so many is told; 0 none.
    every: u32,
    /// Reads until the next one that is told.
    left: u32,
    random: u64,
    told: Vec<u32>,
}

impl Sampler {
    /// Tells nothing until it is told how often.
    pub(crate) fn off() -> Sampler {
        Sampler { every: 0, left: 0, random: 0, told: Vec::new() }
    }

    /// One read in `every`, drawn from `seed`.
    pub(crate) fn new(every: u32, seed: u64) -> Sampler {
        let mut sampler = Sampler { every, left: 0, random: seed, told: Vec::new() };
        sampler.draw();
        sampler
    }

    /// Gaps from 1 to twice the mean: Knuth's linear congruence, of which the high bits are used.
    fn draw(&mut self) {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = u32::try_from(self.random >> 32).unwrap_or(u32::MAX);
        self.left = 1 + high % (2 * self.every);
    }

    /// A page or spare area of a block is read.
    pub(crate) fn read(&mut self, block: u32) {
        if self.every == 0 {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.draw();
            if self.told.len() < TOLD_MOST {
                self.told.push(block);
            }
        }
    }

    pub(crate) fn has_told(&self) -> bool {
        !self.told.is_empty()
    }

    /// The blocks told since it was asked last, one as often as it was drawn.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_as_often_as_they_are_read() {
        let mut sampler = Sampler::new(100, 7);
        let mut told = [0u32; 4];
        for round in 0..40_000 {
            // Two blocks in turn, a third now and then: the pattern has the period of the draw.
            sampler.read(round % 2);
            if round % 100 == 0 {
                sampler.read(2);
            }
            for block in sampler.take() {
                told[block as usize] += 1;
            }
        }
        let [one, two, rare, none] = told;
        assert!((150..250).contains(&one) && (150..250).contains(&two), "{told:?}");
        assert!(rare < 20 && none == 0, "{told:?}");
    }

    #[test]
    fn of_blocks_that_nobody_asks_for_few_wait() {
        let mut sampler = Sampler::new(1, 7);
        (0..4 * 1024).for_each(|block| sampler.read(block));
        assert_eq!(sampler.take().len(), TOLD_MOST);
    }
}
