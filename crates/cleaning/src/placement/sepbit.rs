//! `SepBIT`: chunks that will die at the same time lie together.

use super::{Class, Cleaned, Old, Placement};

/// Class-0 segments over which the lifespan is averaged.
const SAMPLES: u8 = 16;

/// `SepBIT` (Wang, Li, Lee, Ouyang, Shi and Huang, FAST 2022): a chunk's time of death is inferred from its past.
///
/// With l the mean lifespan of the last 16 class-0 segments cleaned (unbounded before):
///
/// | class | holds |
/// |---|---|
/// | 0 | user writes over a chunk younger than l |
/// | 1 | other user writes |
/// | 2 | survivors of class 0 |
/// | 3 | other survivors younger than 4 l |
/// | 4 | other survivors younger than 16 l |
/// | 5 | other survivors |
///
/// With fewer heads the coldest classes share the last one; with three, class 2 joins class 1, which has similar data.
/// Needs a victim policy that sees age: under greedy it gains little or nothing over [`Static`](super::Static) with
/// fewer than six heads (tests/it/waf.rs). Its state is not kept over a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SepBit {
    coldest: u8,
    samples: u8,
    sum: u64,
    lifespan: Option<u64>,
}

impl SepBit {
    /// A rule with `classes` heads: 2 (hot user writes, all else) to 6 (as published); others count as the nearest.
    pub fn new(classes: u8) -> Self {
        Self { coldest: classes.clamp(2, 6) - 1, samples: 0, sum: 0, lifespan: None }
    }

    /// True if `age` is below `times` l.
    fn younger(&self, age: u32, times: u64) -> bool {
        self.lifespan.is_none_or(|lifespan| u64::from(age) < times * lifespan)
    }

    fn class(&self, published: u8) -> Class {
        Class(match (self.coldest, published) {
            (2, 2) => 1,
            (coldest, published) => published.min(coldest),
        })
    }
}

impl Placement for SepBit {
    fn classes(&self) -> u8 {
        self.coldest + 1
    }

    fn user_write(&mut self, _now: u32, _page: u32, old: Option<Old>) -> Class {
        let short = old.is_some_and(|old| self.younger(old.age, 1));
        self.class(u8::from(!short))
    }

    fn cleaner_copy(&mut self, _now: u32, _page: u32, from: &Cleaned) -> Class {
        let age = from.segment.created;
        self.class(match from.segment.class {
            Class(0) => 2,
            _ if self.younger(age, 4) => 3,
            _ if self.younger(age, 16) => 4,
            _ => 5,
        })
    }

    fn reclaimed(&mut self, _now: u32, from: &Cleaned) {
        if from.segment.class != Class(0) {
            return;
        }
        self.sum += u64::from(from.segment.created);
        self.samples += 1;
        if self.samples == SAMPLES {
            self.lifespan = Some(self.sum / u64::from(SAMPLES));
            (self.sum, self.samples) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    fn cleaned(class: u8, created: u32) -> Cleaned {
        Cleaned {
            segment: SegmentView { class: Class(class), created, ..Default::default() },
            live: 0,
            room: 0,
        }
    }

    fn write(p: &mut SepBit, age: Option<u32>) -> u8 {
        p.user_write(0, 0, age.map(|age| Old { class: Class(0), age })).0
    }

    fn copy(p: &mut SepBit, from: u8, age: u32) -> u8 {
        p.cleaner_copy(0, 0, &cleaned(from, age)).0
    }

    /// A placement that has seen 16 segments with a mean lifespan of 100.
    fn taught(classes: u8) -> SepBit {
        let mut placement = SepBit::new(classes);
        for lifespan in 93..109 {
            placement.reclaimed(0, &cleaned(0, lifespan));
            placement.reclaimed(0, &cleaned(1, 9999));
        }
        placement
    }

    #[test]
    fn places_as_published() {
        let mut p = taught(6);
        assert_eq!([Some(99), Some(100), None].map(|age| write(&mut p, age)), [0, 1, 1]);
        assert_eq!([0, 9999].map(|age| copy(&mut p, 0, age)), [2, 2]);
        let copies = [399, 400, 1599, 1600].map(|age| copy(&mut p, 1, age));
        assert_eq!(copies, [3, 4, 4, 5]);
    }

    #[test]
    fn fewer_heads_are_shared() {
        let shared = |heads| {
            let mut p = taught(heads);
            let user = [write(&mut p, Some(9)), write(&mut p, None), copy(&mut p, 0, 0)];
            let copies = [399, 1599, 1600].map(|age| copy(&mut p, 1, age));
            [user, copies].concat()
        };
        assert_eq!(shared(2), [0, 1, 1, 1, 1, 1]);
        assert_eq!(shared(3), [0, 1, 1, 2, 2, 2]);
        assert_eq!(shared(4), [0, 1, 2, 3, 3, 3]);
        assert_eq!(shared(5), [0, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn all_that_replaces_is_hot_before_the_first_lesson() {
        let mut p = SepBit::new(6);
        assert_eq!([Some(u32::MAX), None].map(|age| write(&mut p, age)), [0, 1]);
        assert_eq!(copy(&mut p, 5, u32::MAX), 3);
    }

    #[test]
    fn the_latest_sixteen_count() {
        let mut p = taught(6);
        (0..15).for_each(|_| p.reclaimed(0, &cleaned(0, 10)));
        assert_eq!(write(&mut p, Some(99)), 0);
        p.reclaimed(0, &cleaned(0, 10));
        assert_eq!(write(&mut p, Some(99)), 1);
        assert_eq!(write(&mut p, Some(9)), 0);
    }

    #[test]
    fn answers_stay_below_the_number_of_classes() {
        for asked in 0..=u8::MAX {
            let mut p = taught(asked);
            assert!((2..=6).contains(&p.classes()));
            assert!([Some(0), Some(u32::MAX), None].iter().all(|&age| write(&mut p, age) < p.classes()));
            assert!([0, 1, 5].iter().all(|&from| copy(&mut p, from, u32::MAX) < p.classes()));
        }
    }
}
