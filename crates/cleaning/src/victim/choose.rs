//! The plain form of victim selection: look at every segment.

use super::{NEVER, Victim};
use crate::SegmentView;

/// Price, then erases, then id: a total order over segments.
pub(crate) type Rank = (u64, u32, u32);

/// The rank of a segment; of two at the same price the less worn comes first, then the lower id.
pub(crate) fn rank<V: Victim + ?Sized>(policy: &V, id: u32, view: &SegmentView) -> Rank {
    (policy.cost(view), view.erases, id)
}

/// The segment to clean next, or `None` if no segment has anything to reclaim.
///
/// The answer does not depend on the order of `segments`. One price for each.
pub fn choose<V, I>(policy: &V, segments: I) -> Option<u32>
where
    V: Victim + ?Sized,
    I: IntoIterator<Item = (u32, SegmentView)>,
{
    let ranks = segments.into_iter().map(|(id, view)| rank(policy, id, &view));
    ranks.filter(|rank| rank.0 != NEVER).min().map(|(_, _, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, CostBenefit, Greedy};

    const fn view(valid: u32, age: u32, erases: u32) -> SegmentView {
        SegmentView {
            valid,
            capacity: 64,
            created: age,
            written: age,
            invalidated: age,
            erases,
            class: Class(0),
        }
    }

    #[test]
    fn policies_differ_on_age() {
        let segments = [(4, view(40, 9000, 0)), (5, view(20, 10, 0)), (6, view(64, 99_000, 0))];
        assert_eq!(choose(&Greedy, segments), Some(5));
        assert_eq!(choose(&CostBenefit, segments), Some(4));
    }

    #[test]
    fn ties_go_to_the_less_worn_then_the_lower_id() {
        assert_eq!(choose(&Greedy, [(9, view(1, 0, 2)), (8, view(1, 0, 1))]), Some(8));
        assert_eq!(choose(&Greedy, [(9, view(1, 0, 1)), (8, view(1, 0, 1))]), Some(8));
    }

    #[test]
    fn full_segments_are_left_alone() {
        assert_eq!(choose(&CostBenefit, [(1, view(64, 5, 0))]), None);
    }
}
