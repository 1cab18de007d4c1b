//! Charge that leaks away: which bits of a page have gone wrong since it was programmed.

use super::bits::WrongBits;
use crate::faults::{self, Retention};

/// Seconds of a month, the twelfth part of 365.25 days.
const MONTH_S: f64 = 2_629_800.0;

/// Adds the bits that a page lost at an age of `age_s` seconds. `life` tells the page and the erase before it from all
/// others. Bits go one after the other at random times (Poisson's law), so that those of an age are there at every later
/// one.
pub(super) fn leak(bits: &mut WrongBits, law: Retention, life: u64, age_s: u32, page_bits: u32) {
    let per_second = f64::from(law.millibits_per_month) / 1000.0 / MONTH_S;
    if per_second <= 0.0 || age_s == 0 {
        return;
    }
    let mut rng = faults::random(law.seed, life);
    let mut at = 0.0;
    // Past all bits of the page there is nothing more to lose.
    for _ in 0..page_bits {
        // From (0, 1]: its logarithm is finite.
        at -= libm::log(1.0 - rng.f64()) / per_second;
        if at > f64::from(age_s) {
            return;
        }
        bits.lose(rng.u32(..page_bits));
    }
}
