//! The rewrite rates of pages of each history: measured, not assumed.

use super::state::{Octaves, State};

/// Weight of the first guess, in deaths.
const GUESS: f32 = 0.25;

/// Pages, deaths and exposure (pages x user writes) of each state; deaths and exposure fade.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    cells: [Cell; 256],
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    pages: u32,
    /// The clock up to which `exposure` is counted.
    counted: u32,
    deaths: f32,
    exposure: f32,
}

impl Cell {
    #[inline]
    fn count(&mut self, now: u32) {
        // The copies out of one segment are all made at one time.
        if self.counted != now {
            self.exposure += self.pages as f32 * now.wrapping_sub(self.counted) as f32;
            self.counted = now;
        }
    }
}

impl Rates {
    pub(super) fn new() -> Self {
        Self { cells: [Cell::default(); 256] }
    }

    pub(super) fn born(&mut self, state: State, now: u32) {
        let cell = &mut self.cells[state.index()];
        cell.count(now);
        cell.pages += 1;
    }

    pub(super) fn gone(&mut self, state: State, now: u32) {
        let cell = &mut self.cells[state.index()];
        cell.count(now);
        cell.pages = cell.pages.saturating_sub(1);
    }

    /// A user rewrote a page of this state.
    pub(super) fn died(&mut self, state: State) {
        self.cells[state.index()].deaths += 1.0;
    }

    #[inline]
    pub(super) fn moved(&mut self, from: State, to: State, now: u32) {
        if from != to {
            self.gone(from, now);
            self.born(to, now);
        }
    }

    /// Live pages.
    pub(super) fn live(&self) -> u32 {
        self.cells.iter().map(|cell| cell.pages).sum()
    }

    /// The pages of each state and their rewrites per page and user write; counts fade by `keep` afterwards.
    pub(super) fn measure(&mut self, scale: Octaves, live: f32, keep: f32, now: u32) -> [(f32, f32); 256] {
        let mut all = [(0.0, 0.0); 256];
        for ((state, cell), out) in (0..=u8::MAX).zip(&mut self.cells).zip(&mut all) {
            cell.count(now);
            let guess = State(state).guess(scale, live);
            let rate = (cell.deaths + GUESS) / (cell.exposure + GUESS / guess);
            *out = (cell.pages as f32, rate);
            cell.deaths *= keep;
            cell.exposure *= keep;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_deaths_over_exposure() {
        let scale = Octaves::new(4096);
        let mut rates = Rates::new();
        let (hot, cold) = (State(0x10), State(0x20));
        (0..10).for_each(|_| rates.born(hot, 0));
        (0..100).for_each(|_| rates.born(cold, 0));
        (0..500).for_each(|_| rates.died(hot));
        (0..50).for_each(|_| rates.died(cold));
        let measured = rates.measure(scale, 110.0, 0.5, 10_000);
        for (state, pages, rate) in [(hot, 10.0, 0.005), (cold, 100.0, 0.00005)] {
            let (counted, found) = measured[state.index()];
            assert!(
                (counted - pages).abs() < 0.5 && (found / rate - 1.0f32).abs() < 0.02,
                "{counted} {found}"
            );
        }
        // A page that changes its history takes its exposure along from then on.
        rates.moved(cold, hot, 10_000);
        assert_eq!(rates.live(), 110);
        rates.gone(hot, 10_000);
        assert_eq!(rates.live(), 109);
    }
}
