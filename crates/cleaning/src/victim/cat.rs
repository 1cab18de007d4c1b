//! CAT: cost, age and times erased.

use super::{NEVER, Victim};
use crate::{SegmentView, select::Grouped};

/// The segment with the lowest u / (1 - u) x 1 / age' x (erases + 1), where u = valid / capacity (CAT paper,
/// section 3.2).
///
/// age' is the paper's age transformation (figure 7); the paper leaves its steps open. Here, with age since the
/// segment's first write and the turnover as its unit:
///
/// | age from | 0 | 1/8 | 1/4 | 1/2 | 1 | 2 |
/// |---|---|---|---|---|---|---|
/// | age' | 1 | 2 | 3 | 4 | 5 | 6 |
///
/// The paper's product is 0 for segments that were never erased, which would be cleaned however full they are; hence
/// the one more. The price is the bit pattern of a double: bit patterns have the order of the numbers. One division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cat {
    turnover: u32,
}

/// Steps of the age transformation.
const STEPS: u32 = 6;

impl Cat {
    /// The rule for a store with `turnover` logical pages: so many user writes overwrite all pages once.
    pub fn new(turnover: u32) -> Self {
        Self { turnover: turnover.max(1) }
    }

    /// age', 1 to 6.
    pub fn step(self, age: u32) -> u32 {
        match u64::from(age) * 8 / u64::from(self.turnover) {
            0 => 1,
            1 => 2,
            2..4 => 3,
            4..8 => 4,
            8..16 => 5,
            _ => STEPS,
        }
    }

    /// The age at which the step after `step` begins; `None` after the last.
    fn end(self, step: u32) -> Option<u32> {
        let eighths = 1_u64 << step.saturating_sub(1);
        let age = (u64::from(self.turnover) * eighths).div_ceil(8);
        u32::try_from(age).ok().filter(|_| step < STEPS)
    }
}

impl Victim for Cat {
    fn cost(&self, s: &SegmentView) -> u64 {
        match s.reclaimable() {
            0 => NEVER,
            gain => {
                let cost = f64::from(s.valid) * (f64::from(s.erases) + 1.0);
                (cost / (f64::from(gain) * f64::from(self.step(s.created)))).to_bits()
            }
        }
    }
}

impl Grouped for Cat {
    fn groups(&self) -> u32 {
        STEPS
    }

    fn group(&self, view: &SegmentView) -> u32 {
        self.step(view.created) - 1
    }

    fn leaves_at(&self, view: &SegmentView) -> Option<u32> {
        self.end(self.step(view.created))
    }

    fn by_erases(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_where_the_next_begins() {
        for turnover in [1, 7, 8, 5356, u32::MAX] {
            let cat = Cat::new(turnover);
            for step in 1..STEPS {
                let Some(end) = cat.end(step) else { continue };
                assert!(end == 0 || cat.step(end - 1) <= step, "{turnover} {step}");
                assert!(cat.step(end) > step, "{turnover} {step}");
            }
            assert_eq!(cat.end(STEPS), None);
        }
    }

    #[test]
    fn wear_age_and_cost_multiply() {
        let cost = |valid, created, erases| {
            Cat::new(800).cost(&SegmentView { valid, capacity: 64, created, erases, ..Default::default() })
        };
        assert!(cost(32, 0, 1) == cost(32, 100, 3));
        assert!(cost(32, 0, 1) < cost(33, 0, 1));
        assert!(cost(32, 0, 1) < cost(32, 99, 2));
        assert!(cost(48, 0, 0) > cost(32, 0, 1));
        assert_eq!((cost(0, 0, 9), cost(64, 9999, 0)), (0, NEVER));
    }
}
