//! The default selection: where waiting saves the fewest copies for the room that it holds.
#![expect(
    clippy::cast_precision_loss,
    reason = "estimates; counts are far below 2^24 or may be off a little"
)]

use alloc::{vec, vec::Vec};
use core::{mem, ops::Range};

use super::Selector;
use crate::{
    SegmentView,
    placement::{MAX_CLASSES, Regime},
};

/// The default selector, for [`Adaptive`](crate::placement::Adaptive).
///
/// Rule. The segment with the lowest r u / (1 - u + u ln u) is cleaned, where its pages die at rate r each and a part u
/// of them lives. It is the price of room at which waiting longer no longer pays. With segments of a group cleaned at
/// age x, u = e^-rx. The price of copies saved by waiting, r u, is set against the room that cleaning reclaims now less
/// the room that it will take again. It is 2 r / (1 - u)^2 where u is near 1: the declining cost of Lomet and Luo (VLDB
/// 2021). With r estimated as -ln u / age it is the age (1 - u) / 2u of cost-benefit.
///
/// The rate r is measured for each class and octave of age: deaths over exposure, fading by half each eighth of a
/// turnover. While pages written together die together ([`Regime`]), a segment that has just lost some is about to lose
/// more. Then r is multiplied by the deaths measured at this time after the last one over those expected. The price is
/// multiplied by that of [`RootAge`](crate::RootAge), which falls with the time since the last change.
///
/// Up to 2048 segments all are compared, by prices that are renewed when a page dies and 256 times in a turnover. Of
/// more, 512 spread evenly from a place that moves on are priced for each choice. Of equal ones the older wins. 16
/// bytes a segment, 12 of more than 2048, and 4 a page of a segment; fewer than 2^28 pages a segment. A choice reads 4
/// bytes for each segment compared, or 12.
#[derive(Debug)]
pub struct DecliningCost {
    segments: Vec<Sealed>,
    /// Their prices, if all are compared; infinite where there is nothing to reclaim or the segment is not in.
    prices: Vec<f32>,
    /// u / (1 - u + u ln u) for each valid count.
    index: Vec<f32>,
    hazard: Vec<[Cell; AGES]>,
    /// While pages die together: deaths, those expected, and their ratio, by octave of the time since the last one.
    lulls: [Cell; AGES],
    /// Turnover in pages; ages count in octaves from a 16384th of it.
    turnover: u32,
    grain: u32,
    /// The times of the last sample of exposure and of the last measure of rates.
    sampled: u32,
    measured: u32,
    start: usize,
    regime: Regime,
}

/// Octaves of age.
const AGES: usize = 24;
/// Segments that are all compared.
const ALL: usize = 2048;
/// Segments compared of more.
const SOME: usize = 512;
/// Segments passed over at once if all are dearer.
const RUN: usize = 32;
/// Weight of the rate of younger segments in the measure of older ones, in deaths.
const PRIOR: f32 = 3.0;
/// Weight of the assumption that deaths come as expected, in deaths.
const EVEN: f32 = 30.0;

/// A segment, sealed or not in.
#[derive(Clone, Copy, Debug)]
struct Sealed {
    created: u32,
    changed: u32,
    /// The class in the upper four bits, then the valid pages; [`OUT`] if the segment is not in.
    holds: u32,
}

const OUT: u32 = u32::MAX;
const VALID: u32 = u32::MAX >> 4;

impl Sealed {
    fn is_in(self) -> bool {
        self.holds != OUT
    }

    fn valid(self) -> u32 {
        self.holds & VALID
    }

    fn class(self) -> usize {
        (self.holds >> 28) as usize
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    deaths: f32,
    /// Pages x user writes.
    exposure: f32,
    /// Deaths per page and user write.
    rate: f32,
}

impl Cell {
    fn fade(&mut self, keep: f32) {
        self.deaths *= keep;
        self.exposure *= keep;
    }
}

impl DecliningCost {
    /// A selector for the segments 0 to `segments - 1` of `capacity` pages, which hold `pages` logical pages.
    pub fn new(segments: u32, capacity: u32, pages: u32, regime: Regime) -> Self {
        let out = Sealed { created: 0, changed: 0, holds: OUT };
        let cell = Cell { rate: 1.0 / pages.max(1) as f32, ..Cell::default() };
        Self {
            segments: vec![out; segments as usize],
            prices: vec![f32::INFINITY; if segments as usize <= ALL { segments as usize } else { 0 }],
            index: (0..=capacity).map(|valid| index(valid, capacity)).collect(),
            hazard: vec![[cell; AGES]; usize::from(MAX_CLASSES)],
            lulls: [Cell { rate: 1.0, ..Cell::default() }; AGES],
            turnover: pages.max(1),
            grain: (pages >> 14).max(1).ilog2(),
            sampled: 0,
            measured: 0,
            start: 0,
            regime,
        }
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.index.len()).unwrap_or(1) - 1
    }

    #[inline]
    fn octave(&self, age: u32) -> usize {
        (age.max(1).ilog2().saturating_sub(self.grain) as usize).min(AGES - 1)
    }

    /// The segments to be compared now, adjacent ones together.
    fn window(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = self.segments.len();
        let (all, some) = if len <= ALL { (len, 0) } else { (0, SOME) };
        // An odd step that is no simple part of any length visits all in the course of time.
        let (first, step) = (self.start % len.max(1), (len / SOME) | 1);
        let apart = (0..some).map(move |turn| (first + turn * step) % len).map(|at| at..at + 1);
        (0..all).step_by(RUN).map(move |at| at..(at + RUN).min(all)).chain(apart)
    }

    /// Adds the time since the last sample to the exposure of the compared segments.
    fn sample(&mut self, now: u32) {
        let (all, some) = (self.segments.len().max(1), self.window().map(|run| run.len()).sum::<usize>());
        let time = now.wrapping_sub(self.sampled) as f32 * all as f32 / some.max(1) as f32;
        self.sampled = now;
        let is_temporal = self.regime.is_temporal();
        for at in self.window().flatten() {
            let Some(segment) = self.segments.get(at).copied().filter(|segment| segment.is_in()) else {
                continue;
            };
            let octave = self.octave(now.wrapping_sub(segment.created));
            let lull = self.octave(now.wrapping_sub(segment.changed));
            let Some(class) = self.hazard.get_mut(segment.class()) else { continue };
            let exposure = segment.valid() as f32 * time;
            class[octave].exposure += exposure;
            if is_temporal {
                self.lulls[lull].exposure += exposure * class[octave].rate;
            }
        }
    }

    fn measure(&mut self, now: u32) {
        let eighths = now.wrapping_sub(self.measured) as f32 * 8.0 / self.turnover as f32;
        let keep = libm::exp2f(-eighths);
        self.measured = now;
        for lull in &mut self.lulls {
            lull.rate = (lull.deaths + EVEN) / (lull.exposure + EVEN);
            lull.fade(keep);
        }
        for class in &mut self.hazard {
            let deaths: f32 = class.iter().map(|cell| cell.deaths).sum();
            let exposure: f32 = class.iter().map(|cell| cell.exposure).sum();
            let mut before = (deaths + 1.0) / (exposure + self.turnover as f32);
            for cell in class.iter_mut() {
                cell.rate = (cell.deaths + PRIOR) / (cell.exposure + PRIOR / before);
                before = cell.rate.min(2.0 * before);
                cell.fade(keep);
            }
        }
    }

    /// The price of a segment; the lowest is cleaned.
    #[inline]
    fn price(&self, segment: Sealed, now: u32) -> f32 {
        let valid = segment.valid();
        if valid >= self.capacity() {
            return f32::INFINITY;
        }
        let octave = self.octave(now.wrapping_sub(segment.created));
        let rate = self.hazard.get(segment.class()).map_or(0.0, |class| class[octave].rate);
        let price = rate * self.index.get(valid as usize).copied().unwrap_or(f32::INFINITY);
        if self.regime.is_temporal() { price * self.price_of_lull(segment, now) } else { price }
    }

    /// The factor that the time since the last death puts on a price: the measured ratio, and the inverse of root-age's
    /// benefit, squared.
    fn price_of_lull(&self, segment: Sealed, now: u32) -> f32 {
        let lull = now.wrapping_sub(segment.changed);
        let used = segment.valid() as f32 / self.capacity() as f32;
        let cost = used / (1.0 - used);
        self.lulls[self.octave(lull)].rate * cost * cost / lull.max(1) as f32
    }

    #[inline]
    fn put(&mut self, at: usize, segment: Sealed, now: u32) {
        if let Some(slot) = self.segments.get_mut(at) {
            *slot = segment;
        }
        if at < self.prices.len() {
            let price = self.price(segment, now);
            self.prices.iter_mut().skip(at).take(1).for_each(|priced| *priced = price);
        }
    }

    /// Prices all segments anew, if all are compared.
    fn renew(&mut self, now: u32) {
        let mut prices = mem::take(&mut self.prices);
        for run in self.window() {
            let segments = self.segments.get(run.clone()).unwrap_or_default();
            for (segment, price) in segments.iter().zip(prices.get_mut(run).unwrap_or_default()) {
                if segment.is_in() {
                    *price = self.price(*segment, now);
                }
            }
        }
        self.prices = prices;
    }

    fn best(&self, now: u32) -> Option<usize> {
        if self.prices.is_empty() {
            return self.best_of_some(now);
        }
        let mut best = (f32::MAX, 0, None);
        for run in self.window() {
            let (Some(prices), Some(segments)) =
                (self.prices.get(run.clone()), self.segments.get(run.clone()))
            else {
                continue;
            };
            if lowest(prices) > best.0 {
                continue;
            }
            for ((at, &price), segment) in run.zip(prices).zip(segments) {
                let age = now.wrapping_sub(segment.created);
                if price < best.0 || (price <= best.0 && age > best.1) {
                    best = (price, age, Some(at));
                }
            }
        }
        best.2
    }

    /// The best of those compared, of which no prices are kept.
    fn best_of_some(&self, now: u32) -> Option<usize> {
        let mut best = (f32::MAX, 0, None);
        for at in self.window().flatten() {
            let Some(segment) = self.segments.get(at).copied().filter(|segment| segment.is_in()) else {
                continue;
            };
            let (price, age) = (self.price(segment, now), now.wrapping_sub(segment.created));
            if price < best.0 || (price <= best.0 && age > best.1) {
                best = (price, age, Some(at));
            }
        }
        best.2
    }

    /// Any segment that has something to reclaim, where none compared has.
    fn any(&self) -> Option<usize> {
        self.segments.iter().position(|segment| segment.valid() < self.capacity())
    }
}

/// The lowest price, by eight at once.
#[inline]
fn lowest(prices: &[f32]) -> f32 {
    let lower = |a: f32, b: f32| if b < a { b } else { a };
    let mut lanes = [f32::INFINITY; 8];
    let eights = prices.chunks_exact(8);
    let rest = eights.remainder().iter().copied().fold(f32::INFINITY, lower);
    for eight in eights {
        lanes.iter_mut().zip(eight).for_each(|(lane, price)| *lane = lower(*lane, *price));
    }
    // As a tree, so that comparisons do not wait for each other.
    let four = |at: usize| lower(lower(lanes[at], lanes[at + 4]), lower(lanes[at + 2], lanes[at + 6]));
    lower(rest, lower(four(0), four(1)))
}

/// u / (1 - u + u ln u); 0 if nothing is valid.
fn index(valid: u32, capacity: u32) -> f32 {
    let used = valid as f32 / capacity.max(1) as f32;
    match valid {
        0 => 0.0,
        _ if valid >= capacity => f32::INFINITY,
        _ => used / (1.0 - used + used * libm::logf(used)),
    }
}

impl Selector for DecliningCost {
    fn sealed(&mut self, id: u32, view: &SegmentView, now: u32) {
        let created = now.wrapping_sub(view.created);
        let changed = now.wrapping_sub(view.invalidated);
        let holds = u32::from(view.class.0) << 28 | view.valid.min(VALID);
        self.put(id as usize, Sealed { created, changed, holds }, now);
    }

    fn invalidated(&mut self, id: u32, now: u32) {
        let segment = self.segments.get(id as usize).copied();
        let Some(mut segment) = segment.filter(|segment| segment.is_in() && segment.valid() > 0) else {
            return;
        };
        if self.regime.is_temporal() {
            let lull = self.octave(now.wrapping_sub(segment.changed));
            self.lulls[lull].deaths += 1.0;
        }
        segment.holds -= 1;
        segment.changed = now;
        let octave = self.octave(now.wrapping_sub(segment.created));
        if let Some(class) = self.hazard.get_mut(segment.class()) {
            class[octave].deaths += 1.0;
        }
        self.put(id as usize, segment, now);
    }

    fn take(&mut self, now: u32) -> Option<u32> {
        let is_due = now.wrapping_sub(self.sampled) >= self.turnover >> 8;
        if is_due {
            self.sample(now);
        }
        if now.wrapping_sub(self.measured) >= self.turnover >> 6 {
            self.measure(now);
        }
        if is_due || self.regime.is_temporal() {
            self.renew(now);
        }
        let id = self.best(now).or_else(|| self.any())?;
        self.start = self.start.wrapping_add(1);
        let id = u32::try_from(id).ok()?;
        self.remove(id);
        Some(id)
    }

    fn remove(&mut self, id: u32) -> bool {
        let Some(segment) = self.segments.get_mut(id as usize).filter(|segment| segment.is_in()) else {
            return false;
        };
        segment.holds = OUT;
        if let Some(price) = self.prices.get_mut(id as usize) {
            *price = f32::INFINITY;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn view(valid: u32, age: u32, class: u8) -> SegmentView {
        SegmentView {
            valid,
            capacity: 8,
            created: age,
            written: age,
            invalidated: age,
            class: Class(class),
            ..Default::default()
        }
    }

    #[test]
    fn only_what_has_something_to_reclaim_is_taken_and_once() {
        let mut selector = DecliningCost::new(4, 8, 24, Regime::default());
        assert_eq!(selector.take(0), None);
        selector.sealed(1, &view(8, 1, 0), 10);
        selector.sealed(9, &view(1, 1, 0), 10);
        assert_eq!(selector.take(10), None);
        selector.invalidated(1, 11);
        selector.invalidated(2, 11);
        assert_eq!((selector.take(12), selector.take(12)), (Some(1), None));
        assert!(!selector.remove(1));
    }

    #[test]
    fn of_one_class_and_age_the_emptiest_of_equal_ones_the_oldest() {
        let mut selector = DecliningCost::new(8, 8, 48, Regime::default());
        for (id, valid) in [(0, 5), (1, 3), (2, 6)] {
            selector.sealed(id, &view(valid, 16, 0), 100);
        }
        selector.sealed(3, &view(3, 17, 0), 100);
        assert_eq!([0; 4].map(|_| selector.take(100)), [Some(3), Some(1), Some(0), Some(2)]);
    }

    /// Class 0 loses pages all the time, class 1 never: a fuller segment of class 1 is cleaned first.
    #[test]
    fn what_dies_soon_waits() {
        let mut selector = DecliningCost::new(4, 100, 200, Regime::default());
        for (id, class) in [(0, 0), (1, 1)] {
            let full = SegmentView { capacity: 100, ..view(100, 0, class) };
            selector.sealed(id, &full, 0);
        }
        (0..60).for_each(|now| selector.invalidated(0, now));
        (0..20).for_each(|now| selector.invalidated(1, now));
        for now in (60..4000).step_by(4) {
            let hot = SegmentView { capacity: 100, ..view(50, 4, 0) };
            selector.sealed(2, &hot, now);
            (0..10).for_each(|_| selector.invalidated(2, now));
            selector.remove(2);
            selector.sample(now);
        }
        selector.sealed(2, &SegmentView { capacity: 100, ..view(40, 4, 0) }, 4000);
        selector.remove(0);
        assert_eq!(selector.take(4000), Some(1));
    }

    #[test]
    fn where_pages_die_together_what_lost_some_of_late_waits() {
        let regime = Regime::default();
        let mut selector = DecliningCost::new(4, 8, 24, regime.clone());
        for (id, created, changed) in [(0, 500, 1), (1, 400, 300), (2, 450, 20)] {
            selector.sealed(id, &SegmentView { invalidated: changed, ..view(4, created, 0) }, 1000);
        }
        let mut temporal = DecliningCost::new(4, 8, 24, regime.clone());
        temporal.segments.clone_from(&selector.segments);
        assert_eq!([0; 3].map(|_| selector.take(1000)), [Some(0), Some(2), Some(1)]);
        regime.set(true);
        assert_eq!([0; 3].map(|_| temporal.take(1000)), [Some(1), Some(2), Some(0)]);
    }

    /// Segments of any age lose half of their pages at a stretch, one after the other.
    #[test]
    fn what_dies_together_is_measured() {
        let regime = Regime::default();
        regime.set(true);
        let mut selector = DecliningCost::new(8, 64, 400, regime);
        for now in 0..40_000 {
            let id = now / 32 % 8;
            if now % 32 == 0 {
                let age = 1000 + now / 32 * 7919 % 1000;
                selector.sealed(id, &SegmentView { capacity: 64, ..view(64, age, 0) }, now);
            }
            selector.invalidated(id, now);
            selector.sample(now);
            if now % 50 == 0 {
                selector.measure(now);
            }
        }
        let [soon, late] = [1, 100].map(|lull| selector.lulls[selector.octave(lull)].rate);
        assert!(soon > 2.0 && late < 0.8, "{soon} {late}");
    }

    #[test]
    fn of_very_many_some_are_priced_and_all_are_found() {
        let mut selector = DecliningCost::new(5000, 8, 30_000, Regime::default());
        selector.sealed(4321, &view(3, 16, 0), 100);
        assert_eq!(selector.take(100), Some(4321));
        (0..5000).for_each(|id| selector.sealed(id, &view(1 + id % 7, 16, 0), 100));
        let valid: u32 = (0..100).map(|_| 1 + selector.take(100).unwrap() % 7).sum();
        assert!(valid <= 110, "{valid}");
    }
}
