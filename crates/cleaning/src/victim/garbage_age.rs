//! Cost-benefit among segments with garbage enough.

use super::{NEVER, RootAge, Victim};
use crate::{SegmentView, select::Grouped};

/// The segment with the highest benefit sqrt(age) x (1 - u) / u, age since the last write into it. Segments with less than
/// a share of garbage come after all others. The authors of SepBIT collect by it (FAST 2022).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GarbageAge {
    percent: u32,
}

impl GarbageAge {
    /// A rule for segments of which `percent` of the pages or more are dead.
    pub const fn new(percent: u32) -> Self {
        Self { percent }
    }
}

impl Victim for GarbageAge {
    fn cost(&self, s: &SegmentView) -> u64 {
        let cost = RootAge.cost(&SegmentView { invalidated: s.written, ..*s });
        let has_enough = u64::from(s.reclaimable()) * 100 >= u64::from(s.capacity) * u64::from(self.percent);
        match cost {
            0 | NEVER => cost,
            // The lower half of all prices, and the upper one.
            cost if has_enough => (cost >> 1).max(1),
            cost => ((cost >> 1) | (1 << 63)).min(NEVER - 1),
        }
    }
}

impl Grouped for GarbageAge {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_full_segments_come_last_however_old() {
        let cost = |valid, written| {
            GarbageAge::new(15).cost(&SegmentView { valid, capacity: 100, written, ..Default::default() })
        };
        assert_eq!([cost(100, u32::MAX), cost(0, 0)], [NEVER, 0]);
        assert!(cost(85, 1) < cost(86, u32::MAX) && cost(86, u32::MAX) < cost(86, 1) && cost(99, 0) < NEVER);
        assert!(cost(50, 9) < cost(85, 9) && cost(85, 10_000) < cost(85, 9));
    }
}
