//! The default against its figures.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{Access, zipf::Zipf};
use pumice_cleaning::{Adaptive, Geometry, Params, Sim, select::DecliningCost, wear::Fifo};

/// 192 MiB in blocks of 4 KiB.
const WRITES: usize = 49152;

fn default(params: Params) -> Sim<DecliningCost, Adaptive, Fifo> {
    let (placement, regime) = Adaptive::new(params.segments, params.pages, params.logical);
    let selector = DecliningCost::new(params.segments, params.pages, params.logical, regime);
    Sim::new(params, selector, placement, Fifo::default()).unwrap()
}

/// Erasures of Table 4's set-up, averaged over four seeds, by the paper's identity.
fn erasures(access: Access) -> f64 {
    let run = |seed| {
        let mut sim = default(Geometry::CAT.params().unwrap());
        sim.fill().unwrap();
        sim.run(access.pages(sim.params().logical, seed).take(WRITES)).unwrap();
        (49152.0 + sim.stats().blocks_copied as f64) / 31.0 - 19.0
    };
    (1..=12).map(run).sum::<f64>() / 12.0
}

#[test]
fn figures() {
    for access in [Access::Random, Access::Locality(60), Access::Locality(90), Access::Locality(95)] {
        println!("{access:?} {:.0}", erasures(access));
    }
}

#[test]
fn greedy() {
    for access in [Access::Random, Access::Locality(60), Access::Locality(90), Access::Locality(95)] {
        let run = |seed| {
            let params = Geometry::CAT.params().unwrap();
            let mut sim = Sim::new(
                params,
                pumice_cleaning::select::ByChange::new(
                    pumice_cleaning::Greedy,
                    params.segments,
                    params.pages,
                ),
                pumice_cleaning::OneLog,
                Fifo::default(),
            )
            .unwrap();
            sim.fill().unwrap();
            sim.run(access.pages(sim.params().logical, seed).take(WRITES)).unwrap();
            (49152.0 + sim.stats().blocks_copied as f64) / 31.0 - 19.0
        };
        println!("greedy {access:?} {}", (1..=12).map(run).sum::<f64>() / 12.0);
    }
}
#[test]
fn speed() {
    for (segments, pages) in [(192, 31), (2048, 256), (16384, 256)] {
        let params = Params::new(segments, pages, (f64::from(segments * pages) / 1.1765) as u32);
        for access in [Access::Random, Access::Locality(90)] {
            let mut sim = default(params);
            sim.fill().unwrap();
            let cpu = || {
                std::fs::read_to_string("/proc/thread-self/schedstat")
                    .unwrap()
                    .split(' ')
                    .next()
                    .unwrap()
                    .parse::<f64>()
                    .unwrap()
                    / 1e9
            };
            let start = cpu();
            sim.run(access.pages(params.logical, 1).take(8_000_000)).unwrap();
            println!("{segments} {access:?} {:.1} M/s waf {:.3}", 8.0 / (cpu() - start), sim.stats().waf());
        }
    }
}

#[test]
fn zipf() {
    for churn in [0.0, 0.05, 0.2] {
        let run = |seed| {
            let params = Params::new(2048, 256, (2048.0 * 256.0 / 1.1765) as u32);
            let mut sim = default(params);
            sim.fill().unwrap();
            let mut pages = Zipf::new(params.logical, 0.99, churn, seed);
            sim.run(pages.by_ref().take(8 * params.logical as usize)).unwrap();
            sim.reset_stats();
            sim.run(pages.by_ref().take(6 * params.logical as usize)).unwrap();
            sim.stats().waf()
        };
        println!("Random zipf {churn} {:.3}", (1..=2).map(run).sum::<f64>() / 2.0);
    }
}
