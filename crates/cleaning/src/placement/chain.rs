//! A chain of groups: each cleaning a page survives takes it one group down.

use super::{Class, Cleaned, MAX_CLASSES, Old, Placement};

/// The chain of MiDAS (Oh, Kim, Han, Kim, Lee and Noh, FAST 2024) with any victim rule. Users write to the first group;
/// survivors of a group go to the next, those of the last stay there.
///
/// The victim rule chooses the sizes of groups; [`Midas`](super::Midas) has a model of them. Nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    groups: u8,
}

impl Chain {
    /// A chain of `groups` groups, 2 to 16; others count as the nearest.
    pub fn new(groups: u8) -> Self {
        Self { groups: groups.clamp(2, MAX_CLASSES) }
    }
}

impl Placement for Chain {
    fn classes(&self) -> u8 {
        self.groups
    }

    fn user_write(&mut self, _now: u32, _page: u32, _old: Option<Old>) -> Class {
        Class(0)
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, from: &Cleaned) -> Class {
        Class(from.segment.class.0.saturating_add(1).min(self.groups - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    #[test]
    fn survivors_go_down_to_the_last_group() {
        let mut chain = Chain::new(3);
        let copy = |chain: &mut Chain, class| {
            let segment = SegmentView { class: Class(class), ..Default::default() };
            chain.cleaner_copy(0, 0, &Cleaned { segment, ..Default::default() }).0
        };
        assert_eq!(chain.user_write(0, 0, None), Class(0));
        assert_eq!([0, 1, 2, 255].map(|class| copy(&mut chain, class)), [1, 2, 2, 2]);
    }
}
