//! Cost-benefit: much space that will stay free long, for little copying.

use super::{NEVER, Victim};
use crate::SegmentView;

/// Bits after the point of the benefit.
const FRACTION: u32 = 24;

/// The segment with the highest benefit age x (1 - u) / 2u, where u = valid / capacity and age runs from the last
/// modification (Kawaguchi, Nishioka and Motoda, USENIX 1995; CAT paper, section 3.1).
///
/// The benefit is computed exactly, cut to 24 bits after the point, and ends at 2^40; the price is its distance from
/// the largest benefit. At equal `valid` and `capacity` the price never rises with age. Two 64-bit divisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostBenefit;

impl Victim for CostBenefit {
    fn cost(&self, s: &SegmentView) -> u64 {
        match (s.reclaimable(), s.valid) {
            (0, _) => NEVER,
            (_, 0) => 0,
            (gain, valid) => price(s.invalidated, gain, 2 * u64::from(valid)),
        }
    }
}

/// The price for a benefit of age x gain / divisor; the divisor is above 0 and below 2^33.
pub(super) fn price(age: u32, gain: u32, divisor: u64) -> u64 {
    (NEVER - 1) - benefit(age, gain, divisor).min(NEVER - 2)
}

/// age x gain / divisor, rounded down to the fraction.
fn benefit(age: u32, gain: u32, divisor: u64) -> u64 {
    let dividend = u64::from(age) * u64::from(gain);
    // Long division in two steps: the remainder is below 2^33, so shifting it loses nothing.
    let (whole, rest) = (dividend / divisor, dividend % divisor);
    if whole >> (u64::BITS - FRACTION) != 0 {
        return u64::MAX;
    }
    (whole << FRACTION) | ((rest << FRACTION) / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(valid: u32, capacity: u32, age: u32) -> u64 {
        CostBenefit.cost(&SegmentView { valid, capacity, invalidated: age, ..Default::default() })
    }

    #[test]
    fn agrees_with_wide_arithmetic() {
        let edge = [1, 2, 3, 63, 64, 4097, 1 << 22, u32::MAX - 1, u32::MAX];
        for age in edge {
            for gain in edge {
                for valid in edge {
                    let wide = ((u128::from(age) * u128::from(gain)) << FRACTION) / (2 * u128::from(valid));
                    let want = u64::try_from(wide).unwrap_or(u64::MAX);
                    assert_eq!(benefit(age, gain, 2 * u64::from(valid)), want, "{age} {gain} {valid}");
                }
            }
        }
    }

    #[test]
    fn older_and_emptier_is_cheaper() {
        assert!(cost(32, 64, 2) < cost(32, 64, 1));
        assert!(cost(31, 64, 9) < cost(32, 64, 9));
        // A fuller segment wins when it is old enough: 64 x 16/96 > 10 x 32/64.
        assert!(cost(48, 64, 64) < cost(32, 64, 10));
    }

    #[test]
    fn ends_are_fixed() {
        assert_eq!(cost(0, 64, 0), 0);
        assert_eq!(cost(64, 64, u32::MAX), NEVER);
        assert_eq!(cost(63, 64, 0), NEVER - 1);
        assert_eq!(cost(1, u32::MAX, u32::MAX), 1);
    }
}
