//! Read-only data apart, on the CAT paper's chip: half of the blocks are written once, the others at 90/10.

use crate::common::{Access, victim, wear};
use pumice_cleaning::{
    Geometry, Sim,
    registry::{PlacementRule, Store},
};

/// The pages that are never written over: of the order that the workload draws, the second half.
fn read_only(pages: u32, seed: u64) -> Vec<u32> {
    let mut written = vec![false; pages as usize];
    for page in Access::HalfWritten(90).pages(pages, seed).take(200 * pages as usize) {
        written[page as usize] = true;
    }
    (0..pages).filter(|page| !written[*page as usize]).collect()
}

/// Blocks copied for each that is written, once the store was written over 16 times.
fn copies(placement: &str, told: bool) -> f64 {
    let params = Geometry::CAT.params().unwrap();
    let mut store = Store::new(params, 1);
    if told {
        let pages = read_only(params.logical, 1);
        assert_eq!(pages.len(), params.logical as usize / 2);
        store = store.with_read_only(pages);
    }
    let placement = placement.parse::<PlacementRule>().unwrap().build(&store);
    let mut sim = Sim::new(params, victim("cat", &params, 1), placement, wear("none", &params)).unwrap();
    sim.fill().unwrap();
    let mut pages = Access::HalfWritten(90).pages(params.logical, 1);
    sim.run(pages.by_ref().take(16 * params.logical as usize)).unwrap();
    sim.reset_stats();
    sim.run(pages.take(4 * params.logical as usize)).unwrap();
    sim.stats().waf() - 1.0
}

#[test]
fn read_only_data_apart_costs_fewer_copies() {
    for inside in ["m1", "m6", "sepbit:3"] {
        let together = copies(inside, false);
        let [told, learnt] = [true, false].map(|told| copies(&format!("read-only:{inside}"), told));
        println!("{inside}: {together:.3}, told {told:.3}, learnt {learnt:.3}");
        assert!(told < together * 0.8 && learnt < together * 0.9, "{inside}: {together} {told} {learnt}");
        assert!(told < learnt, "{inside}: {told} {learnt}");
    }
}
