//! Table 4 of the CAT paper: 192 MiB written to a chip of 24 MiB that is 90 % full.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Access;
use pumice_cleaning::{
    Geometry, Greedy, OneLog, Placement, Selector, Sim, Stats, Wear, WearStats, select::ByChange, wear::Fifo,
};

/// 192 MiB in blocks of 4 KiB.
const WRITES: usize = 49152;

fn measure<S: Selector, P: Placement, W: Wear>(
    mut sim: Sim<S, P, W>,
    access: Access,
    seed: u64,
) -> (Stats, WearStats) {
    sim.fill().unwrap();
    let logical = sim.params().logical;
    sim.run(access.pages(logical, seed).take(WRITES)).unwrap();
    (sim.stats().clone(), sim.wear())
}

fn greedy(access: Access, seed: u64) -> (Stats, WearStats) {
    let params = Geometry::CAT.params().unwrap();
    let selector = ByChange::new(Greedy, params.segments, params.pages);
    measure(Sim::new(params, selector, OneLog, Fifo::default()).unwrap(), access, seed)
}

/// Erasures averaged over four seeds.
fn erasures(access: Access) -> f64 {
    let runs = (1..=4).map(|seed| greedy(access, seed));
    runs.map(|(stats, _)| f64::from(u32::try_from(stats.erasures).unwrap())).sum::<f64>() / 4.0
}

#[test]
fn sequential_writes_copy_nothing() {
    let (stats, _) = greedy(Access::Sequential, 1);
    assert_eq!((stats.erasures, stats.blocks_copied), (1568, 0));
}

#[test]
fn greedy_under_random_writes() {
    let measured = erasures(Access::Random);
    assert!((measured / 7103.0 - 1.0).abs() < 0.05, "{measured}");
}
