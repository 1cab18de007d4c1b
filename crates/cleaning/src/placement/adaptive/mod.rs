//! The default placement: as many heads as pay, over measured rates.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "estimates; counts and levels are far below the limits"
)]

#[cfg(test)]
mod bound;
mod partition;
mod rates;
mod sample;
#[cfg(test)]
mod sampled;
mod state;
#[cfg(test)]
#[path = "../../../tests/it/common/zipf.rs"]
mod zipf;

use alloc::{sync::Arc, vec, vec::Vec};
use core::sync::atomic::{AtomicBool, Ordering};

use super::{Class, Cleaned, Old, Placement};
use partition::{BINS, Bin, Division, Partition};
use rates::Rates;
use sample::Sample;
use state::{Octaves, State, Tempo};

/// The default placement's message to the default selector: whether pages die independently of each other.
///
/// They are taken to, until far fewer pages have to be copied than theory allows for independent pages. Then pages that
/// were written together die together (files deleted, logs that go round), and the time since the last death tells as
/// much as rates.
#[derive(Clone, Debug, Default)]
pub struct Regime(Arc<AtomicBool>);

impl Regime {
    /// True if pages written together die together.
    pub fn is_temporal(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, temporal: bool) {
        self.0.store(temporal, Ordering::Relaxed);
    }
}

/// The default: heads by measured rewrite rates, their number by their cost.
///
/// Rule. Of each page one byte is kept: the octave of its mean rewrite interval, and the octave of the time it survived
/// since. For each of the 256 histories the rewrite rate is measured, as deaths over exposure, so nothing is assumed
/// about the distribution of rates, or about their duration. Eight times in a turnover (64 times in the first two) the
/// rates are divided into contiguous groups. The division is the cheapest by the closed form for segments cleaned at a
/// fixed age, where a head costs half a segment. Alike pages and little spare room give one log, skewed ones up to
/// twelve heads. User writes and survivors of the same rate share a head; pages that a user writes in order share the
/// head of the first if their histories differ by no more than a rounding.
///
/// A rewrite that comes 64 times later than the mean shows a change of rate. Rates are steady, and means are long, if
/// fewer than 0.4 % of the rewrites of about half a turnover do. Above 0.5 % means are short, and forgotten when a
/// rewrite comes 32 times sooner or later.
///
/// Pages do not die independently if, over about half a turnover, less than 0.45 of the copies are made that the closed
/// form expects. Then [`Regime`] tells the selector to mind when segments lost pages last, until more than 0.7 of them
/// are made.
///
/// Sources. Rates as death over exposure are the life tables of actuaries. The closed form is that of Desnoyers (ACM
/// TOS 2014) and of Stoica and Ailamaki (VLDB 2013) for FIFO groups. The price of room that all groups share is
/// Lagrange's.
///
/// Of more than 2^20 pages the histories of so many at the most are kept, each for a region of 2, 4, 8 ... neighbours.
/// One page of the region, drawn by lot, is watched; the others have its history, and the rates are those of a smaller
/// store in slower time. Pages rewritten in order share a head as ever. Where neighbours differ, watched pages are hotter
/// than the regions that are written to. Then the others go by the age of their last copy alone. Write amplification
/// is within 6 % of that with all histories where heat lies in regions, and 15 % above where it is scattered.
///
/// Memory: 1 byte a page, 1 MiB at the most; 6 KiB whatever the size. Time: some 10 ns a write, 30 us for each division.
#[derive(Debug)]
pub struct Adaptive {
    /// The histories of pages or, in a large store, of regions.
    pages: Vec<u8>,
    sample: Sample,
    scale: Octaves,
    rates: Rates,
    partition: Partition,
    division: Division,
    /// The class of each state.
    class: [u8; 256],
    clock: Clock,
    watch: Watch,
    tempo: Tempo,
    regime: Regime,
    last: Rewrite,
}

/// A page that a user wrote anew: its history before and after, how long its copy had lain, and its head.
#[derive(Clone, Copy, Debug)]
struct Rewrite {
    page: u32,
    before: State,
    lay: u32,
    after: State,
    class: Class,
}

/// The schedule of divisions.
#[derive(Clone, Copy, Debug)]
struct Clock {
    turnover: u32,
    last: u32,
    /// Rewrites so far, up to the end of the youth.
    rewrites: u32,
}

impl Clock {
    fn is_due(&self, now: u32) -> bool {
        now.wrapping_sub(self.last) >= self.period()
    }

    fn period(&self) -> u32 {
        let parts = if self.rewrites / 2 < self.turnover { 64 } else { 8 };
        (self.turnover / parts).max(1)
    }

    /// The weight of older evidence: a half after five sixteenths of a turnover.
    fn keep(&self, now: u32) -> f32 {
        let eighths = now.wrapping_sub(self.last) as f32 * 8.0 / self.turnover as f32;
        libm::exp2f(-0.4 * eighths)
    }
}

/// User writes and copies of late, rewrites of pages that do not follow others, and those of them that show a change of
/// rate; all fade.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    writes: f32,
    copies: f32,
    alone: f32,
    changes: f32,
}

/// The most histories.
const MOST: u32 = 1 << 20;
/// Pages die together if copies are below this part of the expected number.
const TOGETHER: f32 = 0.45;
/// Copies above this part show that they do not: of independent pages 0.72 to 0.85 are made, for victims are chosen
/// better than by age.
const APART: f32 = 0.7;
/// Rates are steady if fewer rewrites than this show a change: chance alone shows one in five hundred.
const STEADY: f32 = 0.004;
/// Rates change if more rewrites than this show it.
const CHANGING: f32 = 0.005;

impl Adaptive {
    /// A placement for the pages 0 to `pages - 1` on `segments` segments of `capacity` pages, and the regime for its
    /// selector.
    pub fn new(segments: u32, capacity: u32, pages: u32) -> (Self, Regime) {
        Self::with_most(segments, capacity, pages, MOST)
    }

    /// The same with at most so many histories.
    fn with_most(segments: u32, capacity: u32, pages: u32, most: u32) -> (Self, Regime) {
        let sample = Sample::new(pages, most);
        let segment = capacity as f32 / sample.each() as f32;
        let pages = sample.regions(pages);
        let regime = Regime::default();
        let placement = Self {
            pages: vec![State::NEW.0; pages as usize],
            sample,
            scale: Octaves::new(pages),
            rates: Rates::new(),
            partition: Partition::new(segments as f32 * segment, segment),
            division: Division { group: [0; BINS], groups: 1, copies: 0.0 },
            class: [0; 256],
            clock: Clock { turnover: pages.max(1), last: 0, rewrites: 0 },
            watch: Watch::default(),
            tempo: Tempo::Changing,
            regime: regime.clone(),
            last: Rewrite { page: u32::MAX, before: State::NEW, lay: 0, after: State::NEW, class: Class(0) },
        };
        (placement, regime)
    }

    fn state(&self, page: u32) -> State {
        self.pages.get(page as usize).map_or(State::NEW, |byte| State(*byte))
    }

    fn put(&mut self, page: u32, state: State) {
        if let Some(byte) = self.pages.get_mut(page as usize) {
            *byte = state.0;
        }
    }

    /// Measures, divides and judges.
    fn divide(&mut self, now: u32) {
        self.sample.judge();
        let live = self.rates.live().max(1) as f32;
        let keep = self.clock.keep(now);
        self.clock.last = now;
        let measured = self.rates.measure(self.scale, live, keep, now);
        let (mut bins, mut place) = ([Bin::default(); BINS], [0; 256]);
        for ((pages, rate), place) in measured.into_iter().zip(&mut place) {
            let relative = rate * live;
            *place = partition::bin(relative);
            bins[*place].pages += pages;
            bins[*place].rates += pages * relative;
        }
        self.division = self.partition.divide(&bins, live);
        self.class = place.map(|bin| self.division.group[bin]);
        self.judge();
    }

    /// Compares copies with theory and counts changes, once enough was seen.
    fn judge(&mut self) {
        if self.watch.writes < 0.5 * self.clock.turnover as f32 {
            return;
        }
        let copies = self.watch.copies / self.watch.writes.max(1.0);
        let bound = if self.regime.is_temporal() { APART } else { TOGETHER };
        self.regime.set(copies < self.division.copies * bound);
        let changes = self.watch.changes / self.watch.alone.max(1.0);
        if changes < STEADY {
            self.tempo = Tempo::Steady;
        } else if changes > CHANGING {
            self.tempo = Tempo::Changing;
        }
        self.watch.writes *= 0.5;
        self.watch.copies *= 0.5;
        self.watch.alone *= 0.5;
        self.watch.changes *= 0.5;
    }
}

impl Placement for Adaptive {
    fn classes(&self) -> u8 {
        self.division.groups
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        let (now, (region, is_watched)) = (self.sample.time(now), self.sample.region(page));
        if self.clock.is_due(now) {
            self.divide(now);
        }
        let state = self.state(region);
        let Some(lain) = old else {
            if is_watched {
                self.rates.born(state, now);
            }
            return self.class(state);
        };
        let lay = self.sample.scaled(lain.age);
        if is_watched {
            self.seen();
            self.rates.died(state);
        }
        let rewrite = self.rewrite(page, is_watched, state, lay);
        if is_watched {
            self.rates.moved(state, rewrite.after, now);
            self.put(region, rewrite.after);
        }
        self.last = rewrite;
        rewrite.class
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, from: &Cleaned) -> Class {
        let (now, (region, is_watched)) = (self.sample.time(now), self.sample.region(page));
        let (state, lay) = (self.state(region), self.sample.scaled(from.segment.created));
        if !is_watched && !self.sample.tells() {
            return self.class(State::unknown(lay, self.scale).survived(lay, self.scale));
        }
        let next = state.survived(lay, self.scale);
        if is_watched {
            self.rates.moved(state, next, now);
            self.put(region, next);
            if self.watch.writes > 0.0 {
                self.watch.copies += 1.0;
            }
        }
        self.class(next)
    }

    fn trimmed(&mut self, now: u32, page: u32, _old: Old) {
        let (now, (region, is_watched)) = (self.sample.time(now), self.sample.region(page));
        if is_watched {
            let state = self.state(region);
            self.rates.died(state);
            self.rates.gone(state, now);
            self.put(region, State::NEW);
        }
    }
}

impl Adaptive {
    fn class(&self, state: State) -> Class {
        Class(self.class[state.index()])
    }

    /// Takes note of a rewrite of a page.
    ///
    /// Files are written in order. A page that follows the last one, and has the same history up to a rounding, goes
    /// with it: pages that die together must not be torn apart.
    #[inline]
    fn rewrite(&mut self, page: u32, is_watched: bool, before: State, lay: u32) -> Rewrite {
        let last = self.last;
        let is_alike = before == last.before || self.sample.are_together(last.page, page);
        let follows = last.page.checked_add(1) == Some(page) && is_alike;
        if follows && lay.abs_diff(last.lay) <= last.lay / 4 && last.class.0 < self.division.groups {
            return Rewrite { page, lay, ..last };
        }
        self.sample.note(is_watched, before);
        if !is_watched && !self.sample.tells() {
            let after = State::unknown(lay, self.scale);
            return Rewrite { page, before, lay, after, class: self.class(after) };
        }
        let (after, shows) = before.rewritten(lay, self.tempo, self.scale);
        if is_watched && self.watch.writes > 0.0 {
            self.watch.alone += 1.0;
            self.watch.changes += f32::from(u8::from(shows));
        }
        Rewrite { page, before, lay, after, class: self.class(after) }
    }

    /// Counts a rewrite; the first tenth of a turnover is not watched, because a store just filled copies little.
    fn seen(&mut self) {
        self.clock.rewrites = self.clock.rewrites.saturating_add(1);
        if self.clock.rewrites > self.clock.turnover / 10 {
            self.watch.writes += 1.0;
        }
    }
}
