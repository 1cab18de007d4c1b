//! The default with few histories beside itself with all.
//!
//! `cargo test --release -p pumice-cleaning --lib table_of_samples -- --ignored --nocapture`

use alloc::{boxed::Box, vec::Vec};
use std::println;

use super::{Adaptive, MOST, zipf::Zipf};
use crate::{Params, Sim, select::DecliningCost, wear::Fifo};

/// A store of 57,344 pages, and so few histories that 16 pages share one.
const STORE: (u32, u32, u32) = (1024, 64, 57_344);
const FEW: u32 = 4096;

type Pages = Box<dyn Iterator<Item = u32>>;

fn waf(most: u32, pages: Pages, (warm, measured): (usize, usize)) -> f64 {
    let (segments, capacity, logical) = STORE;
    let params = Params::new(segments, capacity, logical);
    let (placement, regime) = Adaptive::with_most(segments, capacity, logical, most);
    let selector = DecliningCost::new(segments, capacity, logical, regime);
    let mut sim = Sim::new(params, selector, placement, Fifo::default()).unwrap();
    let (turnover, mut pages) = (logical as usize, pages);
    sim.fill().unwrap();
    sim.run(pages.by_ref().take(warm * turnover)).unwrap();
    sim.reset_stats();
    sim.run(pages.take(measured * turnover)).unwrap();
    sim.check().unwrap();
    sim.stats().waf()
}

/// 90 % of the writes to a tenth of the runs of `run` pages; runs are drawn at random.
fn hot_runs(run: u32, seed: u64) -> Pages {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut runs: Vec<u32> = (0..STORE.2 / run).collect();
    rng.shuffle(&mut runs);
    let tenth = runs.len() / 10;
    Box::new(core::iter::from_fn(move || {
        let of = if rng.u32(..10) > 0 { 0..tenth } else { tenth..runs.len() };
        Some(runs[rng.usize(of)] * run + rng.u32(..run))
    }))
}

fn uniform(seed: u64) -> Pages {
    let mut rng = fastrand::Rng::with_seed(seed);
    Box::new(core::iter::repeat_with(move || rng.u32(..STORE.2)))
}

/// Files of `size` pages, written in order as a whole.
fn files(size: u32, seed: u64) -> Pages {
    Box::new(Zipf::new(STORE.2 / size, 0.9, 0.0, seed).flat_map(move |file| file * size..(file + 1) * size))
}

/// A log that goes round beside hot runs.
fn journal(seed: u64) -> Pages {
    let round = STORE.2 / 5;
    let others = hot_runs(256, seed).map(move |page| round + page % (STORE.2 - round));
    Box::new((0..round).cycle().zip(others).flat_map(|(next, other)| [next, other]))
}

fn both(pages: impl Fn(u64) -> Pages, turns: (usize, usize)) -> (f64, f64) {
    let mean = |most| (1..=2).map(|seed| waf(most, pages(seed), turns)).sum::<f64>() / 2.0;
    (mean(MOST), mean(FEW))
}

/// Zipf's law over runs in order of their heat.
fn zipf(run: u32, seed: u64) -> Pages {
    let mut rng = fastrand::Rng::with_seed(seed);
    Box::new(Zipf::new(STORE.2 / run, 0.99, 0.0, seed).map(move |at| at * run + rng.u32(..run)))
}

#[test]
fn heat_in_regions_costs_what_it_costs_with_all_histories() {
    for run in [16, STORE.2 / 10] {
        let (all, few) = both(|seed| hot_runs(run, seed), (4, 2));
        assert!(few <= 1.03 * all, "runs of {run}: {few:.3}, {all:.3} with all");
    }
}

#[test]
fn scattered_heat_costs_a_little_more() {
    let (all, few) = both(|seed| hot_runs(1, seed), (4, 2));
    assert!(few <= 1.2 * all, "{few:.3}, {all:.3} with all");
}

/// A page of a file that is not watched goes with the file.
#[test]
fn what_is_written_in_order_stays_together() {
    let (all, few) = both(|seed| files(64, seed), (2, 2));
    assert!(few <= 1.01 * all, "files: {few:.3}, {all:.3} with all");
    let (all, few) = both(journal, (3, 2));
    assert!(few <= 1.08 * all, "journal: {few:.3}, {all:.3} with all");
}

#[test]
#[ignore = "prints a table, takes a minute"]
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn table_of_samples() {
    println!("| load | all | few | |\n|---|---|---|---|");
    let row = |name: &str, load: &dyn Fn(u64) -> Pages| {
        let (all, few) = both(load, (5, 4));
        println!("| {name} | {all:.3} | {few:.3} | {:.3} |", few / all);
    };
    for run in [1, 4, 16, 64, 256, 5734] {
        row(&std::format!("90/10, hot runs of {run}"), &|seed| hot_runs(run, seed));
    }
    for size in [16, 64, 256] {
        row(&std::format!("files of {size}"), &|seed| files(size, seed));
    }
    row("journal", &journal);
    for run in [1, 16, 64] {
        row(&std::format!("zipf, runs of {run}"), &|seed| zipf(run, seed));
    }
    row("uniform", &uniform);
}
