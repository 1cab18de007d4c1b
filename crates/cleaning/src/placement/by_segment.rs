//! Cold segments apart.

use super::{Class, Cleaned, Old, Placement};

/// A head for users and for survivors of segments that are not cold, and one for those of cold segments. Cold are
/// segments less utilized than all on average (M4, CAT paper, section 6.1.1; Kawaguchi, Nishioka and Motoda, USENIX
/// 1995).
///
/// A segment counts as less utilized if it is so by more than one page: with one page less than the mean it is the
/// average segment of a store in whole pages. Nothing is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BySegment;

impl Placement for BySegment {
    fn classes(&self) -> u8 {
        2
    }

    fn user_write(&mut self, _now: u32, _page: u32, _old: Option<Old>) -> Class {
        Class(0)
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, from: &Cleaned) -> Class {
        let Cleaned { segment, live, room } = from;
        let own = (u128::from(segment.valid) + 1) * u128::from(*room);
        Class(u8::from(own < u128::from(*live) * u128::from(segment.capacity)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    #[test]
    fn cold_is_below_the_mean() {
        let class = |valid| {
            let segment = SegmentView { valid, capacity: 31, ..Default::default() };
            // A mean of 27.9 pages.
            BySegment.cleaner_copy(0, 0, &Cleaned { segment, live: 5356, room: 5952 }).0
        };
        assert_eq!([0, 26, 27, 28].map(class), [1, 1, 0, 0]);
    }
}
