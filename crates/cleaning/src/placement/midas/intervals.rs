//! The distribution of update intervals.

use alloc::{collections::BTreeSet, vec, vec::Vec};

/// One page in so many is sampled.
const SAMPLE: u32 = 100;
/// Intervals to a segment.
const FINENESS: u32 = 4;
/// Stretches of one interval in which all pages are watched.
const WATCHED: u64 = 10;
/// A window lasts for so many times the store's size.
const TIMES: u64 = 4;
/// It does not grow beyond so many times its first size.
const LONGEST: u64 = 16;

/// Sampled updates of one window, counted by the user writes since the page's write before.
///
/// A window of `w` intervals sees long intervals more rarely than short ones: only in its part that is longer than they
/// are. Counts are scaled up for it. The shortest intervals are too rare among the sampled pages; they are the repeats
/// within a few stretches of which every page is watched.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    /// User writes to an interval.
    unit: u64,
    /// Intervals to a window, now and in the beginning.
    window: u64,
    first: u64,
    /// User writes before the first window begins.
    wait: u64,
    /// User writes in this window.
    time: u64,
    stamps: Vec<Stamp>,
    counts: Vec<u64>,
    stretch: BTreeSet<u32>,
    repeats: u64,
}

/// The last write of a sampled page in this window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamp {
    None,
    Trimmed,
    First(u64),
    Later(u64),
}

impl Intervals {
    /// Intervals for a store of so many segments of so many pages, of which `logical` are filled first.
    pub(super) fn new(segments: u32, pages: u32, logical: u32) -> Self {
        let unit = u64::from((pages / FINENESS).max(1));
        let window = (TIMES * u64::from(segments) * u64::from(pages) / unit).max(1);
        Self {
            unit,
            window,
            first: window,
            wait: 2 * u64::from(logical),
            time: 0,
            stamps: vec![Stamp::None; (logical / SAMPLE) as usize + 1],
            counts: Vec::new(),
            stretch: BTreeSet::new(),
            repeats: 0,
        }
    }

    /// User writes to an interval.
    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    /// User writes to a window.
    pub(super) fn window(&self) -> u64 {
        self.window * self.unit
    }

    /// A user writes a page; true if that ends the window.
    pub(super) fn written(&mut self, page: u32) -> bool {
        if self.wait > 0 {
            self.wait -= 1;
            return false;
        }
        self.time += 1;
        if self.time >= self.window() {
            return true;
        }
        self.watch(page);
        if let Some(stamp) = self.stamp(page) {
            let next = if *stamp == Stamp::None { Stamp::First } else { Stamp::Later };
            self.count(page, next);
        }
        false
    }

    /// A user trims a page.
    pub(super) fn trimmed(&mut self, page: u32) {
        if self.wait == 0 && self.stamp(page).is_some_and(|stamp| *stamp != Stamp::None) {
            self.count(page, |_| Stamp::Trimmed);
        }
    }

    fn stamp(&mut self, page: u32) -> Option<&mut Stamp> {
        let is_sampled = page.is_multiple_of(SAMPLE);
        self.stamps.get_mut((page / SAMPLE) as usize).filter(|_| is_sampled)
    }

    /// Counts what has gone since a page was written, and replaces that.
    fn count(&mut self, page: u32, next: impl FnOnce(u64) -> Stamp) {
        let time = self.time;
        let Some(stamp) = self.stamp(page) else { return };
        let before = core::mem::replace(stamp, next(time));
        if let Stamp::First(then) | Stamp::Later(then) = before {
            let at = usize::try_from((time - then) / self.unit).unwrap_or(usize::MAX);
            if at >= self.counts.len() {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] += 1;
        }
    }

    fn watch(&mut self, page: u32) {
        let step = self.first / (WATCHED + 1);
        let at = self.time / self.unit;
        if step == 0 || !at.is_multiple_of(step) || !(1..=WATCHED).contains(&(at / step)) {
            return;
        }
        self.repeats += u64::from(!self.stretch.insert(page));
        if self.time % self.unit == self.unit - 1 {
            self.stretch.clear();
        }
    }

    /// Updates by interval, as many as a long window would have seen; pages written once in it come last.
    pub(super) fn distribution(&self) -> Vec<u64> {
        let last = usize::try_from(self.window).unwrap_or(1);
        let mut counts = self.counts.clone();
        counts.resize(last, 0);
        let once = self.stamps.iter().filter(|stamp| matches!(stamp, Stamp::First(_)));
        counts[last - 1] += once.count() as u64;
        counts[0] = self.repeats * self.window / WATCHED / u64::from(SAMPLE);
        for (at, count) in (1..).zip(counts.iter_mut().skip(1)) {
            // The rest of the window, in which an interval begun does not end.
            *count += *count * (2 * (self.window % at) + at) / (2 * self.window);
        }
        counts
    }

    /// Begins a window, twice as long as the last one or not.
    pub(super) fn restart(&mut self, is_longer: bool) {
        if is_longer && self.window < LONGEST * self.first {
            self.window *= 2;
        }
        self.time = 0;
        self.repeats = 0;
        self.stretch.clear();
        self.counts.clear();
        self.stamps.fill(Stamp::None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages 0 to 399 in turn, on a store of 10 segments of 40 pages.
    fn cycled() -> Intervals {
        let mut intervals = Intervals::new(10, 40, 400);
        let mut pages = (0..400).cycle();
        assert!(pages.by_ref().take(800 + 1599).all(|page| !intervals.written(page)));
        assert!(pages.take(1).all(|page| intervals.written(page)));
        intervals
    }

    #[test]
    fn a_cycle_has_one_interval() {
        let mut intervals = cycled();
        let counts = intervals.distribution();
        // Four pages are sampled, each written four times; of 160 intervals the last 40 see no end.
        assert_eq!((counts.len(), counts[40], counts.iter().sum::<u64>()), (160, 13, 13));
        intervals.restart(true);
        assert_eq!((intervals.window(), intervals.distribution().iter().sum::<u64>()), (3200, 0));
    }

    #[test]
    fn repeats_within_an_interval_are_watched_in_full() {
        let mut intervals = Intervals::new(10, 40, 400);
        (0..800 + 1599).for_each(|at| assert!(!intervals.written(1 + at % 2)));
        // Ten stretches of ten writes with eight repeats each, one page in a hundred, over 160 intervals.
        assert_eq!(intervals.distribution()[0], 80 * 160 / 10 / 100);
    }

    #[test]
    fn a_trim_ends_an_interval() {
        let mut intervals = Intervals::new(10, 40, 400);
        (0..800).for_each(|_| assert!(!intervals.written(1)));
        intervals.trimmed(100);
        intervals.written(100);
        (0..25).for_each(|_| assert!(!intervals.written(1)));
        intervals.trimmed(100);
        intervals.written(100);
        let counts = intervals.distribution();
        assert_eq!((counts[2], counts[159]), (1, 0));
    }
}
