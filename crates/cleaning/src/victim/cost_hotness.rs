//! Cost-hotness: cold segments wait less.

use super::{NEVER, Victim};
use crate::{SegmentView, placement::MAX_CLASSES, select::Grouped};

/// The segment with the highest (1 - u) / (2u x hotness) (SFS: Min, Kim, Cho, Lee and Eom, FAST 2012, section 3.3).
///
/// SFS takes a segment's hotness from its blocks: mean write count over mean age. Without counts of blocks, the write
/// count here is that which the class stands for, halving from one class to the next, and the age is that since the
/// last write: hotness = 2^-class / age. The price is the bit pattern of a double. One division.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostHotness;

impl Victim for CostHotness {
    fn cost(&self, s: &SegmentView) -> u64 {
        match s.reclaimable() {
            0 => NEVER,
            gain => {
                let rare = u64::from(gain) << s.class.0.min(MAX_CLASSES);
                #[expect(clippy::cast_precision_loss, reason = "48 bits")]
                let benefit = rare as f64 * (f64::from(s.written) + 1.0);
                (2.0 * f64::from(s.valid) / benefit).to_bits()
            }
        }
    }
}

impl Grouped for CostHotness {
    fn groups(&self) -> u32 {
        MAX_CLASSES.into()
    }

    fn group(&self, view: &SegmentView) -> u32 {
        view.class.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn cold_classes_are_cleaned_fuller() {
        let cost = |valid, written, class| {
            CostHotness.cost(&SegmentView {
                valid,
                capacity: 64,
                written,
                class: Class(class),
                ..Default::default()
            })
        };
        assert!(cost(32, 9, 0) == cost(32, 4, 1));
        assert!(cost(32, 9, 1) < cost(32, 9, 0));
        assert!(cost(40, 9, 1) < cost(32, 9, 0));
        assert_eq!((cost(0, 0, 9), cost(64, 9999, 0)), (0, NEVER));
    }
}
