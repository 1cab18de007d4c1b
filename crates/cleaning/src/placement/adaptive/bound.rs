//! The cost of moving popularity if all is known of pages but their future.
//!
//! `cargo test --release -p pumice-cleaning --lib table_of_churn -- --ignored --nocapture`

use alloc::{boxed::Box, vec, vec::Vec};
use std::println;

use super::{Adaptive, Class, Cleaned, Old, Placement, State, zipf::Zipf};
use crate::{Params, Sim, select::DecliningCost, wear::Fifo};

const SEEDS: u64 = 4;
/// Groups of ranks, half an octave wide.
const GROUPS: usize = 40;

/// The default with a Bayes filter for each page in place of its byte: it is told the law and the churn, keeps the
/// odds of each rank, and forgets nothing.
struct Told {
    within: Adaptive,
    odds: Vec<[f32; GROUPS]>,
    seen: Vec<u32>,
    /// Rewrites per user write of a page of each group, and how many pages it has.
    rates: [f32; GROUPS],
    parts: [f32; GROUPS],
    churn: f32,
}

impl Told {
    fn new(params: Params, churn: f32) -> (Self, super::Regime) {
        let (within, regime) = Adaptive::new(params.segments, params.pages, params.logical);
        let (mut rates, mut parts, mut sum) = ([0.0; GROUPS], [0.0; GROUPS], 0.0);
        for rank in 1..=params.logical {
            let rate = libm::powf(rank as f32, -0.99);
            let group = (libm::log2f(rank as f32) * 2.0) as usize;
            rates[group] += rate;
            parts[group] += 1.0;
            sum += rate;
        }
        for (rate, part) in rates.iter_mut().zip(&mut parts) {
            *rate /= sum * f32::max(*part, 1.0);
            *part /= params.logical as f32;
        }
        let pages = params.logical as usize;
        (Self { within, odds: vec![parts; pages], seen: vec![0; pages], rates, parts, churn }, regime)
    }

    /// The page was not written since it was seen last, but may have changed places with one that was.
    fn wait(&mut self, now: u32, page: usize) {
        let time = now.wrapping_sub(core::mem::replace(&mut self.seen[page], now)) as f32;
        let swapped = 1.0 - libm::expf(-self.churn * time / self.seen.len() as f32);
        let mut sum = 0.0;
        for ((odd, rate), part) in self.odds[page].iter_mut().zip(&self.rates).zip(&self.parts) {
            let lives = libm::expf(-rate * time);
            // Swapped at any time, it has lived with the rank of a written page since.
            let since = if rate * time > 1e-3 { (1.0 - lives) / (rate * time) } else { 1.0 };
            let written = rate * part * self.seen.len() as f32;
            *odd = *odd * lives * (1.0 - swapped) + written * since * swapped;
            sum += *odd;
        }
        self.odds[page].iter_mut().for_each(|odd| *odd /= sum);
    }

    /// It was written, and then perhaps changed places with any page.
    fn hit(&mut self, page: usize) {
        let odds = &mut self.odds[page];
        let sum: f32 = odds.iter().zip(&self.rates).map(|(odd, rate)| odd * rate).sum();
        for ((odd, rate), part) in odds.iter_mut().zip(&self.rates).zip(&self.parts) {
            *odd = *odd * rate / sum * (1.0 - self.churn) + part * self.churn;
        }
    }

    /// The mean of the logarithms of the rates, in twelfths of octaves, in place of the byte. (The mean of the rates
    /// themselves does worse: it calls pages hot that may be hot.)
    fn place(&mut self, now: u32, page: u32) -> Class {
        let odds = &self.odds[page as usize];
        let mean: f32 =
            odds.iter().zip(&self.rates).map(|(odd, rate)| odd * libm::log2f(rate.max(1e-12))).sum();
        let next = State(((mean + libm::log2f(self.seen.len() as f32)) * 12.0 + 60.0) as u8);
        self.within.rates.moved(self.within.state(page), next, now);
        self.within.put(page, next);
        self.within.class(next)
    }
}

impl Placement for Told {
    fn classes(&self) -> u8 {
        self.within.classes()
    }

    fn user_write(&mut self, now: u32, page: u32, old: Option<Old>) -> Class {
        if old.is_none() {
            return self.within.user_write(now, page, old);
        }
        if self.within.clock.is_due(now) {
            self.within.divide(now);
        }
        self.within.seen();
        self.within.rates.died(self.within.state(page));
        self.wait(now, page as usize);
        self.hit(page as usize);
        self.place(now, page)
    }

    fn cleaner_copy(&mut self, now: u32, page: u32, _from: &Cleaned) -> Class {
        self.wait(now, page as usize);
        self.within.watch.copies += 1.0;
        self.place(now, page)
    }
}

#[test]
#[ignore = "prints a table, takes a minute"]
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn table_of_churn() {
    let params = Params::new(2048, 256, 445_633);
    let turnover = params.logical as usize;
    println!("| churn | default | told |\n|---|---|---|");
    for churn in [0.0, 0.05, 0.2] {
        let waf = |placement: Box<dyn Placement>, regime, seed| {
            let selector = DecliningCost::new(params.segments, params.pages, params.logical, regime);
            let mut pages = Zipf::new(params.logical, 0.99, churn, seed);
            let mut sim = Sim::new(params, selector, placement, Fifo::default()).unwrap();
            sim.fill().unwrap();
            sim.run(pages.by_ref().take(8 * turnover)).unwrap();
            sim.reset_stats();
            sim.run(pages.take(6 * turnover)).unwrap();
            sim.stats().waf()
        };
        let ours = (1..=SEEDS).map(|seed| {
            let (placement, regime) = Adaptive::new(params.segments, params.pages, params.logical);
            waf(Box::new(placement), regime, seed)
        });
        let told = (1..=SEEDS).map(|seed| {
            let (placement, regime) = Told::new(params, churn as f32);
            waf(Box::new(placement), regime, seed)
        });
        let [ours, told] = [ours.sum::<f64>(), told.sum::<f64>()].map(|sum| sum / SEEDS as f64);
        println!("| {churn} | {ours:.3} | {told:.3} |");
    }
}
