//! Greedy: least utilization first.

use super::{NEVER, Victim};
use crate::SegmentView;

/// The segment with the lowest utilization u = valid / capacity (CAT paper, section 3.1).
///
/// Best possible when all data is equally likely to be overwritten. The price is u with 32 bits after the point,
/// which at equal capacity orders segments exactly by `valid`. One 64-bit division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Greedy;

impl Victim for Greedy {
    fn minds_age(&self) -> bool {
        false
    }

    fn cost(&self, s: &SegmentView) -> u64 {
        if s.reclaimable() == 0 {
            return NEVER;
        }
        (u64::from(s.valid) << 32) / u64::from(s.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(valid: u32, capacity: u32) -> u64 {
        Greedy.cost(&SegmentView { valid, capacity, ..Default::default() })
    }

    #[test]
    fn orders_by_utilization() {
        assert_eq!(cost(0, 64), 0);
        assert!(cost(1, 64) < cost(2, 64));
        assert!(cost(31, 64) < cost(31, 62));
        assert!(cost(u32::MAX - 2, u32::MAX) < cost(u32::MAX - 1, u32::MAX));
    }

    #[test]
    fn nothing_to_gain_is_never() {
        assert_eq!(cost(64, 64), NEVER);
        assert_eq!(cost(65, 64), NEVER);
        assert_eq!(cost(0, 0), NEVER);
    }
}
