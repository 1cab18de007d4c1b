//! `SepBIT` as published: the lifespan of each block.

use super::{Class, Cleaned, Old, Placement};
use crate::packed::{NONE, Packed};

/// Class-0 segments over which the lifespan is averaged.
const SAMPLES: u64 = 16;

/// `SepBIT` (Wang, Li, Lee, Ouyang, Shi and Huang, FAST 2022) with a clock for each page, where
/// [`SepBit`](super::SepBit) takes the age of the page's segment.
///
/// A user's page goes to class 0 if the copy that it replaces lived for less than l user writes, otherwise to class 1.
/// Here l is the mean lifespan of the last 16 class-0 segments cleaned. Survivors of class 0 go to class 2, others by the
/// time since a user wrote them: below 4 l to class 3, below 16 l to class 4, then to class 5.
///
/// Lifespans are known of the pages in a queue of the latest user writes, as many as l or as there are live pages. It
/// grows by one with each write, and shrinks by one at most. 4 bytes a page.
#[derive(Clone, Debug)]
pub struct SepBitPublished {
    /// The clock of each page's last write by a user.
    written: Packed,
    live: u64,
    queue: u64,
    samples: u64,
    sum: u64,
    /// l; none before the first sixteen segments.
    lifespan: Option<u64>,
}

impl SepBitPublished {
    /// A rule for the pages 0 to `pages - 1`.
    pub fn new(pages: u32) -> Self {
        Self { written: Packed::new(pages), live: 0, queue: 0, samples: 0, sum: 0, lifespan: None }
    }

    /// User writes since a page was written; none if it was not, or was trimmed.
    fn age(&self, now: u32, page: u32) -> Option<u64> {
        let written = self.written.get(page);
        (written != NONE).then(|| now.wrapping_sub(written).into())
    }

    /// One more page in the queue, and the oldest ones out of it.
    fn turn(&mut self) {
        self.queue += 1;
        let lifespan = self.lifespan.unwrap_or(u64::MAX);
        if self.queue > lifespan.min(self.live) {
            self.queue -= 1;
            self.queue -= u64::from(self.queue > lifespan);
        }
    }
}

impl Placement for SepBitPublished {
    fn classes(&self) -> u8 {
        6
    }

    fn user_write(&mut self, now: u32, page: u32, _old: Option<Old>) -> Class {
        let known = self.queue.min(self.lifespan.unwrap_or(u64::MAX));
        let age = self.age(now, page);
        let is_short = age.is_some_and(|age| age < known);
        self.live += u64::from(age.is_none());
        self.written.set(page, now);
        self.turn();
        Class(u8::from(!is_short))
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        let age = self.age(now, page).unwrap_or(u64::MAX);
        let younger = |times: u64| self.lifespan.is_none_or(|lifespan| age < times * lifespan);
        Class(match from.segment.class {
            Class(0) => 2,
            _ if younger(4) => 3,
            _ if younger(16) => 4,
            _ => 5,
        })
    }

    fn trimmed(&mut self, _now: u32, page: u32, _old: Old) {
        self.written.set(page, NONE);
        self.live = self.live.saturating_sub(1);
    }

    fn reclaimed(&mut self, _now: u32, from: &Cleaned) {
        if from.segment.class == Class(0) {
            self.sum += u64::from(from.segment.created);
            self.samples += 1;
        }
        if self.samples == SAMPLES {
            self.lifespan = Some(self.sum / SAMPLES);
            (self.sum, self.samples) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    fn cleaned(class: u8, created: u32) -> Cleaned {
        let segment = SegmentView { class: Class(class), created, ..Default::default() };
        Cleaned { segment, live: 0, room: 0 }
    }

    /// A rule for 1000 pages, all of them written at their number, that has seen sixteen segments with a mean lifespan of
    /// 100.
    fn taught() -> SepBitPublished {
        let mut rule = SepBitPublished::new(1000);
        (0..1000).for_each(|page| assert_eq!(rule.user_write(page, page, None), Class(1)));
        (93..109).for_each(|lifespan| rule.reclaimed(1000, &cleaned(0, lifespan)));
        rule.reclaimed(1000, &cleaned(1, 9999));
        rule
    }

    #[test]
    fn a_page_goes_by_its_own_lifespan() {
        let mut rule = taught();
        // Whatever segment they lie in.
        let mut write = |now, page| rule.user_write(now, page, Some(Old { class: Class(5), age: 9999 })).0;
        assert_eq!([write(1000, 999), write(1001, 902), write(1002, 902), write(1003, 900)], [0, 0, 0, 1]);
        let mut copy = |class, page| rule.cleaner_copy(2500, page, &cleaned(class, 0)).0;
        assert_eq!([copy(0, 0), copy(1, 999), copy(1, 0), copy(5, 901)], [2, 4, 5, 4]);
        rule.trimmed(1004, 999, Old { class: Class(0), age: 1 });
        assert_eq!(rule.user_write(1005, 999, None), Class(1));
    }

    #[test]
    fn the_queue_follows_the_lifespan_one_write_at_a_time() {
        let mut rule = taught();
        assert_eq!(rule.queue, 1000);
        for at in 0..100 {
            rule.user_write(1000 + at, at, None);
        }
        assert_eq!(rule.queue, 900);
        for at in 0..2000 {
            rule.user_write(1100 + at, 0, None);
        }
        assert_eq!(rule.queue, 100);
    }
}
