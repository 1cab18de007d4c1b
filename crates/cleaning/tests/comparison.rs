//! The tables of docs/cleaning.md, on the CAT paper's chip with one segment in reserve, averaged over four seeds:
//! `cargo test --release -p pumice-cleaning --test comparison -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod common;

use common::Access;
use pumice_cleaning::{
    ByHeat, BySegment, Geometry, OneLog, Params, Placement, Sim, VictimPolicy, WearPolicy,
};

const SEEDS: u64 = 4;

/// A row's numbers.
#[derive(Default)]
struct Sums {
    user_writes: f64,
    erasures: f64,
    copied: f64,
    stddev: f64,
    max_to_mean: f64,
}

#[derive(Clone, Copy)]
struct Setup {
    victim: VictimPolicy,
    placement: &'static str,
    wear: WearPolicy,
    access: Access,
    endurance: u32,
}

impl Setup {
    fn placement(&self, pages: u32) -> Box<dyn Placement> {
        match self.placement {
            "m1" => Box::new(OneLog),
            "m4" => Box::new(BySegment),
            _ => Box::new(ByHeat::degree(pages)),
        }
    }

    /// 192 MiB are written, or with an endurance as much as the first segment to die lets be.
    fn run(&self) -> Sums {
        let mut sums = Sums::default();
        for seed in 1..=SEEDS {
            let params = Params { endurance: self.endurance, ..Geometry::CAT.params().unwrap() };
            let (selector, wear) = (self.victim.selector(&params, seed), self.wear.rule(&params));
            let mut sim = Sim::new(params, selector, self.placement(params.logical), wear).unwrap();
            sim.fill().unwrap();
            let writes = if self.endurance == u32::MAX { 49152 } else { usize::MAX };
            for page in self.access.pages(params.logical, seed).take(writes) {
                sim.write(page).unwrap();
                if sim.stats().deaths > 0 {
                    break;
                }
            }
            sums.add(&sim);
        }
        sums
    }
}

impl Sums {
    fn add<S: pumice_cleaning::Selector, P: Placement, W: pumice_cleaning::Wear>(
        &mut self,
        sim: &Sim<S, P, W>,
    ) {
        let part =
            |count: u64| f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(SEEDS).unwrap());
        let (stats, wear) = (sim.stats(), sim.wear());
        self.user_writes += part(stats.user_writes);
        self.erasures += part(stats.erasures);
        self.copied += part(stats.blocks_copied);
        self.stddev += wear.stddev * part(1);
        self.max_to_mean += f64::from(wear.max) / wear.mean * part(1);
    }
}

const BASE: Setup = Setup {
    victim: VictimPolicy::Cat,
    placement: "m6",
    wear: WearPolicy::None,
    access: Access::Locality(90),
    endurance: u32::MAX,
};

#[test]
#[ignore = "prints a table"]
fn victims() {
    println!(
        "| victim | random, m1 | 90/10, m1 | 90/10, m4 | 90/10, m6 | wear deviation there |\n|---|---|---|---|---|---|"
    );
    for victim in VictimPolicy::ALL {
        let run = |access, placement| Setup { victim, placement, access, ..BASE }.run();
        let fine = run(Access::Locality(90), "m6");
        println!(
            "| {victim} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} |",
            run(Access::Random, "m1").erasures,
            run(Access::Locality(90), "m1").erasures,
            run(Access::Locality(90), "m4").erasures,
            fine.erasures,
            fine.stddev
        );
    }
}

#[test]
#[ignore = "prints a table"]
fn wear_rules() {
    println!(
        "| victim | wear | erasures | copied | deviation | MiB to the first death | WAF | most/mean |\n|---|---|---|---|---|---|---|---|"
    );
    for victim in [VictimPolicy::Cat, VictimPolicy::CostBenefitWritten, VictimPolicy::Greedy] {
        for wear in WearPolicy::ALL {
            let short = Setup { victim, wear, ..BASE }.run();
            let life = Setup { victim, wear, endurance: 1000, ..BASE }.run();
            println!(
                "| {victim} | {wear} | {:.0} | {:.0} | {:.2} | {:.0} | {:.3} | {:.3} |",
                short.erasures,
                short.copied,
                short.stddev,
                life.user_writes / 256.0,
                1.0 + life.copied / life.user_writes,
                life.max_to_mean
            );
        }
    }
}
