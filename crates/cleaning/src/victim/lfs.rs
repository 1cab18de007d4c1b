//! Cost-benefit as on disks.

use super::{NEVER, Victim, cost_benefit::price};
use crate::{SegmentView, select::Grouped};

/// The segment with the highest benefit age x (1 - u) / (1 + u): a whole segment is read, and u of it written back.
/// Age runs from the last write (Rosenblum and Ousterhout, ACM TOCS 1992, section 3.5; CAT paper, section 3.1).
///
/// Computed as that of [`CostBenefit`](super::CostBenefit). Two 64-bit divisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lfs;

impl Victim for Lfs {
    fn cost(&self, s: &SegmentView) -> u64 {
        match (s.reclaimable(), s.valid) {
            (0, _) => NEVER,
            (_, 0) => 0,
            (gain, valid) => price(s.written, gain, u64::from(s.capacity) + u64::from(valid)),
        }
    }
}

impl Grouped for Lfs {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emptiness_counts_less_than_on_flash() {
        let cost =
            |valid, written| Lfs.cost(&SegmentView { valid, capacity: 64, written, ..Default::default() });
        assert!(cost(32, 99) > cost(32, 100));
        // 3/4 of 3/5 against 1/4 of 7/... : an age of three times makes up for a quarter more of live data.
        assert!(cost(16, 100) < cost(32, 179));
        assert!(cost(16, 100) > cost(32, 181));
        assert_eq!((cost(0, 0), cost(64, 9)), (0, NEVER));
    }
}
