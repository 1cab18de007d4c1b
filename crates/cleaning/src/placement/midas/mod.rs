//! MiDAS: a chain of groups, their number and sizes following from a model.

mod groups;
mod hot;
mod intervals;
mod model;
mod plan;
mod search;
mod watch;

use super::{Class, Cleaned, Old, Placement};
pub use groups::Groups;
use hot::{HotFilter, Measured, Young};
use intervals::Intervals;
use model::{Model, Room};
pub use plan::Plan;
use watch::Watch;

/// Levels of the last group after a merge, and in the beginning.
const LEVELS: u8 = 4;
/// Cleanings without a user write between them, after which there is no sense in the division.
const STUCK: u32 = 25;
/// Irregular divisions in a row after which windows become longer.
const WRONG: u32 = 2;
/// Hot groups that keep more than this, with one segment or with more, are not understood yet.
const UNCLEAR: [f64; 2] = [0.3, 0.18];
/// Untouched segments count as long as they are this part of the store or more.
const UNTOUCHED: f64 = 0.2;

/// MiDAS (Oh, Kim, Han, Kim, Lee and Noh, FAST 2024): a chain of groups. Users write to the hot group or the one after
/// it, survivors of a group go to the next, those of the last stay there. With its selector [`Groups`] each group but
/// the last is a queue of fixed size.
///
/// Hot pages are those that were updated three times more often than copied, while young.
///
/// Sizes. The distribution of update intervals in a window of four times the store's size tells the part of the writes
/// that outlives each queue. A closed form for hot and cold pages tells the valid ratio of the last group. A Markov
/// chain of these makes the write amplification. Sizes and number of groups are searched after each window; a division
/// is taken if it is expected to write less than the store did lately.
///
/// Irregularities. If a group keeps a tenth more valid pages than expected, or cleaning does not get on, it and all
/// groups behind it are merged into the last. That has four levels then, as in the beginning: survivors go one level
/// down, and victims are taken out of all levels alike.
///
/// The authors' simulator decides what the paper leaves open. Divisions apply at once here, and there when a thread is
/// done.
///
/// Memory: 1.2 bytes a page and 128 a segment, more where windows are longer. Time: tens of nanoseconds a write, and a
/// search of tens of milliseconds for each window of a store of 512 segments.
#[derive(Clone, Debug)]
pub struct Midas {
    plan: Plan,
    store: Store,
    hot: HotFilter,
    intervals: Intervals,
    watch: Watch,
    period: Period,
    /// The clock of the last cleaning, and cleanings at it.
    last_cleaned: (u32, u32),
    /// Whether the division was irregular, and divisions in a row that were.
    is_wrong: bool,
    wrong: u32,
    second: Second,
}

/// The store around the groups, in segments and pages.
#[derive(Clone, Copy, Debug)]
struct Store {
    segments: u32,
    reserve: u32,
    /// Pages of a segment.
    pages: u32,
    /// Live pages.
    live: u32,
    /// User writes until it is filled.
    filling: u32,
}

/// The open segment of the group after the hot one.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    /// The clock at which the last one was sealed, and the user writes that filled it.
    sealed: u32,
    filled_in: u32,
}

/// The write amplification of as many user writes as the store has pages.
#[derive(Clone, Debug)]
struct Period {
    length: f64,
    writes: f64,
    copies: f64,
    waf: f64,
}

impl Period {
    fn written(&mut self) {
        self.writes += 1.0;
        if self.writes >= self.length {
            self.waf = 1.0 + self.copies / self.writes;
            (self.writes, self.copies) = (0.0, 0.0);
        }
    }
}

impl Midas {
    /// A placement for `segments` segments of `pages` pages, `reserve` of them kept free, and `logical` pages; and the plan
    /// for its selector.
    pub fn new(segments: u32, pages: u32, logical: u32, reserve: u32) -> (Self, Plan) {
        let plan = Plan::undivided(LEVELS);
        let length = f64::from(segments) * f64::from(pages);
        let midas = Self {
            plan: plan.clone(),
            store: Store { segments, reserve, pages, live: 0, filling: logical },
            hot: HotFilter::new(logical),
            intervals: Intervals::new(segments, pages, logical),
            watch: Watch::default(),
            period: Period { length, writes: 0.0, copies: 0.0, waf: 1.0 },
            last_cleaned: (0, 0),
            is_wrong: false,
            wrong: 0,
            second: Second::default(),
        };
        (midas, plan)
    }

    /// The level of a segment that is being cleaned.
    fn level(&self, class: Class) -> u8 {
        self.plan.victim().unwrap_or(class.0).min(self.plan.last() + LEVELS - 1)
    }

    fn below(&self, level: u8) -> u8 {
        (level + 1).min(self.classes() - 1)
    }

    /// Looks for a division after a window.
    fn divide(&mut self) {
        let none = Measured { traffic: 0.01, valid: 0.05, segments: 0.0 };
        let measured = self.hot.mean().unwrap_or(none);
        let is_large = measured.segments >= 0.5;
        if measured.valid > UNCLEAR[usize::from(is_large)] {
            self.intervals.restart(true);
            return;
        }
        let model = Model::new(self.room(), self.intervals.unit(), &self.intervals.distribution());
        let mut is_longer = false;
        if let Some(division) = search::division(model, measured) {
            self.watch.forget();
            let is_taken = self.period.waf >= division.waf;
            self.wrong = match self.is_wrong {
                true => self.wrong + 1,
                false if is_taken => 0,
                false => self.wrong,
            };
            is_longer = is_taken && self.wrong >= WRONG;
            if is_taken {
                self.plan.divide(&queues(&division.sizes));
                self.watch.begin(division.ratios);
            }
        }
        self.is_wrong = false;
        self.intervals.restart(is_longer);
    }

    fn room(&self) -> Room {
        let Store { segments, reserve, pages, live, .. } = self.store;
        let pages = f64::from(pages);
        let untouched = f64::from(self.plan.untouched());
        let counts = untouched >= UNTOUCHED * f64::from(segments);
        let live = f64::from(live) - if counts { untouched * pages } else { 0.0 };
        Room { segments: segments.saturating_sub(reserve), pages, live }
    }

    /// Merges all groups from this one on into the last.
    fn merge(&mut self, group: u8) {
        self.plan.merge(group, LEVELS);
        if self.plan.queues() == 0 {
            self.watch.end();
        }
    }

    /// Cleaning makes no room; the last survivors went to level `to`.
    fn stuck(&mut self, to: u8) {
        self.is_wrong |= self.watch.groups().is_some_and(|groups| usize::from(to) <= groups / 2);
        if self.plan.queues() == 0 {
            return;
        }
        let last = self.plan.last();
        let from = if self.watch.is_filling() { last - 1 } else { to.min(last) };
        if self.watch.is_filling() {
            self.watch.settle();
        }
        self.merge(from.saturating_sub(1));
    }
}

/// Sizes for queues: those of all groups but the last, the open segment of users in the second not counted.
fn queues(sizes: &[u32]) -> alloc::vec::Vec<u32> {
    let queues = sizes.split_last().map_or(&[][..], |(_, queues)| queues);
    (0..).zip(queues).map(|(at, size): (u32, _)| size.saturating_sub(u32::from(at == 1)).max(1)).collect()
}

impl Placement for Midas {
    fn classes(&self) -> u8 {
        self.plan.last() + self.plan.levels()
    }

    fn user_write(&mut self, _now: u32, page: u32, old: Option<Old>) -> Class {
        let is_full = self.store.filling == 0;
        self.store.filling = self.store.filling.saturating_sub(1);
        match old {
            None => self.store.live += 1,
            Some(Old { class, age }) if is_full => {
                let copy = match class {
                    Class(0) => Some(Young::Hot),
                    Class(1) => Some(Young::Next),
                    _ => None,
                };
                let age = age.saturating_sub(self.second.filled_in);
                self.hot.updated(page, copy.map(|copy| (copy, age)), self.plan.hot());
            }
            Some(_) => {}
        }
        let is_hot = is_full && self.hot.is_hot(page);
        self.period.written();
        if self.intervals.written(page) {
            self.divide();
        }
        let last = self.plan.last();
        let groups = last + u8::from(self.plan.levels() == 1);
        if let Some(group) = self.watch.written(last, groups, self.intervals.window()) {
            self.is_wrong |= self.watch.groups().is_some_and(|groups| usize::from(group) <= groups / 2);
            self.merge(group);
        }
        Class(u8::from(!is_hot))
    }

    fn cleaner_copy(&mut self, _now: u32, page: u32, from: &Cleaned) -> Class {
        let level = self.level(from.segment.class);
        let young = [Young::Hot, Young::Next].get(usize::from(level));
        if let Some(young) = young.filter(|_| self.store.filling == 0) {
            self.hot.copied(page, *young, self.plan.hot());
        }
        self.period.copies += 1.0;
        Class(self.below(level))
    }

    fn trimmed(&mut self, _now: u32, page: u32, _old: Old) {
        self.store.live = self.store.live.saturating_sub(1);
        self.intervals.trimmed(page);
    }

    fn sealed(&mut self, now: u32, class: Class) {
        if class == Class(1) {
            self.second = Second { sealed: now, filled_in: now.wrapping_sub(self.second.sealed) };
        }
    }

    fn reclaimed(&mut self, now: u32, from: &Cleaned) {
        let level = self.level(from.segment.class);
        let valid = f64::from(from.segment.valid) / f64::from(from.segment.capacity.max(1));
        if level == 0 && self.store.filling == 0 {
            self.hot.reclaimed(from.segment.written, valid);
        }
        self.watch.cleaned(level, self.plan.last(), valid);
        let (clock, times) = &mut self.last_cleaned;
        *times = if *clock == now { *times + 1 } else { 1 };
        *clock = now;
        if times.is_multiple_of(STUCK) {
            self.stuck(self.below(level));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentView;

    fn midas() -> (Midas, Plan) {
        Midas::new(64, 16, 800, 1)
    }

    fn from(class: u8) -> Cleaned {
        let segment = SegmentView { class: Class(class), ..Default::default() };
        Cleaned { segment, ..Default::default() }
    }

    #[test]
    fn survivors_go_down_to_the_last_level() {
        let (mut midas, plan) = midas();
        let mut copy = |class| midas.cleaner_copy(0, 0, &from(class)).0;
        assert_eq!([0, 1, 3, 4, 255].map(&mut copy), [1, 2, 4, 4, 4]);
        plan.divide(&[2, 4, 5]);
        assert_eq!([0, 1, 2, 3, 255].map(&mut copy), [1, 2, 3, 3, 3]);
        plan.merge(2, LEVELS);
        assert_eq!([1, 2, 4, 5, 255].map(&mut copy), [2, 3, 5, 5, 5]);
    }

    #[test]
    fn a_division_with_which_cleaning_does_not_get_on_is_given_up() {
        let (mut midas, plan) = midas();
        plan.divide(&[2, 4, 5]);
        midas.watch.begin(alloc::vec![0.0, 0.5, 0.6, 0.7]);
        (0..STUCK - 1).for_each(|_| midas.reclaimed(7, &from(3)));
        assert_eq!((plan.last(), plan.levels()), (3, 1));
        midas.reclaimed(7, &from(3));
        assert_eq!((plan.queues(), plan.last(), plan.levels()), (0, 1, LEVELS));
    }

    #[test]
    fn queues_leave_room_for_open_segments() {
        assert_eq!(queues(&[1, 20, 30, 400]), [1, 19, 30]);
        assert_eq!(queues(&[1, 1, 400]), [1, 1]);
    }
}
