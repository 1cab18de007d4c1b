//! The filter of hot pages.

use alloc::{collections::VecDeque, vec, vec::Vec};

/// Updates in the young groups, less copies, that make a page hot.
const HOT: u8 = 3;
/// Measurements that are averaged.
const KEPT: usize = 10;

/// Counters, one for each page, of the updates that came while the page was young; and measurements of the group of hot
/// pages.
///
/// An update counts if the old copy is in the hot group, or in the next and no older than segments of the hot group
/// become. It counts against the page if the copy there is older, and so does a copy by the cleaner. Pages at the highest
/// count are hot.
#[derive(Clone, Debug)]
pub(super) struct HotFilter {
    counts: Vec<u8>,
    /// Events before counting begins.
    wait: u32,
    /// The age to which hot segments live, in user writes, and what is left of it until that is measured anew.
    lifetime: f64,
    left: f64,
    writes: f64,
    hot_writes: f64,
    /// Hot segments cleaned, the sums of their ages and of their valid ratios.
    victims: f64,
    ages: f64,
    valid: f64,
    measured: VecDeque<Measured>,
}

/// The group of hot pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// The part of user writes that go to it.
    pub(super) traffic: f64,
    /// The valid part of its victims.
    pub(super) valid: f64,
    /// Segments, without the open one.
    pub(super) segments: f64,
}

impl HotFilter {
    pub(super) fn new(logical: u32) -> Self {
        let lifetime = f64::from(logical);
        Self {
            counts: vec![0; logical as usize],
            wait: logical,
            lifetime,
            left: lifetime,
            writes: 0.0,
            hot_writes: 0.0,
            victims: 0.0,
            ages: 0.0,
            valid: 0.0,
            measured: VecDeque::new(),
        }
    }

    /// A user replaces a copy: of this age in the hot group or the next, or elsewhere. `hot` segments are hot.
    pub(super) fn updated(&mut self, page: u32, copy: Option<(Young, u32)>, hot: u32) {
        if !self.counts_now(hot) {
            return;
        }
        self.left -= 1.0;
        let lifetime = self.lifetime;
        let Some(count) = self.counts.get_mut(page as usize) else { return };
        match copy {
            Some((Young::Next, age)) if f64::from(age) > lifetime => *count = count.saturating_sub(1),
            Some(_) => *count = (*count + 1).min(HOT),
            None => {}
        }
    }

    /// The cleaner copies a page of the hot group or the next.
    pub(super) fn copied(&mut self, page: u32, from: Young, hot: u32) {
        let counts_now = self.counts_now(hot);
        if let Some(count) = self.counts.get_mut(page as usize).filter(|_| counts_now) {
            *count = count.saturating_sub(if from == Young::Hot { 2 } else { 1 });
        }
    }

    /// True for a page that is written to the hot group.
    pub(super) fn is_hot(&mut self, page: u32) -> bool {
        let is_hot = self.counts.get(page as usize).is_some_and(|count| *count == HOT);
        self.writes += 1.0;
        self.hot_writes += f64::from(u8::from(is_hot));
        is_hot
    }

    /// A segment of hot pages was cleaned, so long after it was sealed.
    pub(super) fn reclaimed(&mut self, age: u32, valid: f64) {
        self.victims += 1.0;
        self.ages += f64::from(age);
        self.valid += valid;
    }

    fn counts_now(&mut self, hot: u32) -> bool {
        if self.wait > 0 {
            self.wait -= 1;
            return false;
        }
        if self.left <= 0.0 && self.victims > 0.0 {
            self.measure(hot);
        }
        true
    }

    fn measure(&mut self, hot: u32) {
        if self.hot_writes > 0.0 {
            self.measured.truncate(KEPT - 1);
            self.measured.push_front(Measured {
                traffic: self.hot_writes / self.writes,
                valid: self.valid / self.victims,
                segments: hot.into(),
            });
        }
        let age = self.ages / self.victims;
        let is_jump = age >= 2.0 * self.lifetime;
        self.lifetime = if is_jump { 1.5 * self.lifetime } else { 0.5 * (age + self.lifetime) };
        self.left = self.lifetime - 1.0;
        (self.victims, self.ages, self.valid) = (0.0, 0.0, 0.0);
        (self.writes, self.hot_writes) = (0.0, 0.0);
    }

    /// The mean of the measurements since the last call.
    pub(super) fn mean(&mut self) -> Option<Measured> {
        let count = f64::from(u32::try_from(self.measured.len()).ok().filter(|count| *count > 0)?);
        let mut sum = Measured { traffic: 0.0, valid: 0.0, segments: 0.0 };
        for one in self.measured.drain(..) {
            sum.traffic += one.traffic / count;
            sum.valid += one.valid / count;
            sum.segments += one.segments / count;
        }
        Some(sum)
    }
}

/// The two groups whose pages the filter looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Young {
    Hot,
    Next,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter() -> HotFilter {
        let mut filter = HotFilter::new(100);
        (0..100).for_each(|page| filter.updated(page, Some((Young::Hot, 0)), 0));
        assert!((0..100).all(|page| !filter.is_hot(page)), "nothing counts in the beginning");
        filter
    }

    #[test]
    fn three_updates_in_time_make_a_page_hot() {
        let mut filter = filter();
        for age in [7, 100] {
            filter.updated(1, Some((Young::Next, age)), 0);
        }
        filter.updated(1, Some((Young::Next, 101)), 0);
        filter.updated(1, None, 0);
        filter.updated(1, Some((Young::Hot, 999)), 0);
        assert!(!filter.is_hot(1));
        filter.updated(1, Some((Young::Hot, 999)), 0);
        filter.updated(1, Some((Young::Hot, 999)), 0);
        assert!(filter.is_hot(1));
        filter.copied(1, Young::Hot, 0);
        filter.updated(1, Some((Young::Next, 1)), 0);
        assert!(!filter.is_hot(1));
    }

    #[test]
    fn the_lifetime_follows_that_of_hot_segments() {
        let mut filter = filter();
        (0..3).for_each(|_| filter.updated(1, Some((Young::Next, 0)), 0));
        assert!(filter.is_hot(1));
        filter.reclaimed(40, 0.25);
        filter.reclaimed(60, 0.75);
        (0..98).for_each(|_| filter.updated(2, None, 5));
        let one = filter.mean().unwrap();
        assert_eq!((one.valid, one.segments, filter.lifetime), (0.5, 5.0, 75.0));
        assert!((one.traffic - 1.0 / 101.0).abs() < 1e-9 && filter.mean().is_none());
    }
}
