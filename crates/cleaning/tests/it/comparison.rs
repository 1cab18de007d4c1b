//! The tables of docs/cleaning.md, on the CAT paper's chip with one segment in reserve, averaged over four seeds:
//! `cargo test --release --test cleaning comparison:: -- --ignored --nocapture`

use crate::common::{Access, victim, wear};
use pumice_cleaning::{
    Adaptive, ByHeat, BySegment, Class, Geometry, OneLog, Params, Placement, Selector, Sim, Wear,
    registry::{Store, VictimRule, WearRule},
    select::DecliningCost,
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
    /// `None` is the default on both axes.
    victim: Option<&'static str>,
    placement: &'static str,
    access: Access,
    endurance: u32,
}

type Policies = (Box<dyn Selector + Send>, Box<dyn Placement>);

impl Setup {
    fn policies(&self, params: &Params, seed: u64) -> Policies {
        let Some(rule) = self.victim else {
            let (placement, regime) = Adaptive::new(params.segments, params.pages, params.logical);
            let selector = DecliningCost::new(params.segments, params.pages, params.logical, regime);
            return (Box::new(selector), Box::new(placement));
        };
        let placement: Box<dyn Placement> = match self.placement {
            "m1" => Box::new(OneLog),
            "m4" => Box::new(BySegment),
            _ => Box::new(ByHeat::degree(params.logical)),
        };
        (victim(rule, params, seed), placement)
    }

    fn name(&self) -> &'static str {
        self.victim.unwrap_or("default")
    }

    /// 192 MiB are written, or with an endurance as much as the first segment to die lets be.
    fn run(&self, wear: impl Fn(&Params) -> Box<dyn Wear + Send>) -> Sums {
        let mut sums = Sums::default();
        for seed in 1..=SEEDS {
            let params = Geometry::CAT.params().unwrap().with(|it| it.endurance = self.endurance);
            let (selector, placement) = self.policies(&params, seed);
            let mut sim = Sim::new(params, selector, placement, wear(&params)).unwrap();
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
    fn add<S: Selector, P: Placement, W: Wear>(&mut self, sim: &Sim<S, P, W>) {
        let part =
            |count: u64| f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(SEEDS).unwrap());
        let (stats, wear) = (sim.stats(), sim.wear());
        self.user_writes += part(stats.user_writes);
        self.erasures += part(stats.erasures);
        self.copied += part(stats.blocks_copied);
        self.stddev += wear.stddev * part(1);
        self.max_to_mean += f64::from(wear.max) / wear.mean * part(1);
    }

    fn waf(&self) -> f64 {
        1.0 + self.copied / self.user_writes
    }
}

const BASE: Setup =
    Setup { victim: Some("cat"), placement: "m6", access: Access::Locality(90), endurance: u32::MAX };

/// The default, and three of the paper's kind with M6.
const SCHEMES: [Option<&'static str>; 4] = [None, Some("cat"), Some("cost-benefit-written"), Some("greedy")];

#[test]
#[ignore = "prints a table"]
fn victims() {
    println!(
        "| victim | random, m1 | 90/10, m1 | 90/10, m4 | 90/10, m6 | wear deviation there |\n|---|---|---|---|---|---|"
    );
    for entry in VictimRule::all().map(|rule| rule.entry()) {
        let run = |access, placement| {
            Setup { victim: Some(entry.name), placement, access, ..BASE }.run(|params| wear("none", params))
        };
        let fine = run(Access::Locality(90), "m6");
        println!(
            "| {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} |",
            entry.name,
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
    for victim in SCHEMES {
        for rule in WearRule::all() {
            let setup = Setup { victim, ..BASE };
            let wear = |params: &Params| rule.build(&Store::new(*params, 1));
            let short = setup.run(wear);
            let life = Setup { endurance: 1000, ..setup }.run(wear);
            println!(
                "| {} | {rule} | {:.0} | {:.0} | {:.2} | {:.0} | {:.3} | {:.3} |",
                setup.name(),
                short.erasures,
                short.copied,
                short.stddev,
                life.user_writes / 256.0,
                life.waf(),
                life.max_to_mean
            );
        }
    }
}

/// Ways to keep free segments that level nothing.
#[derive(Clone, Copy)]
enum Free {
    Queue,
    Stack,
    LowestNumber,
}

#[derive(Clone)]
struct Unlevelled(Free, Vec<u32>);

impl Wear for Unlevelled {
    fn freed(&mut self, id: u32, _erases: u32) {
        self.1.push(id);
    }

    fn allocate(&mut self, _class: Class) -> Option<u32> {
        let at = match self.0 {
            Free::Queue => Some(0),
            Free::Stack => self.1.len().checked_sub(1),
            Free::LowestNumber => (0..self.1.len()).min_by_key(|at| self.1[*at]),
        };
        at.filter(|at| *at < self.1.len()).map(|at| self.1.remove(at))
    }

    fn free(&self) -> u32 {
        u32::try_from(self.1.len()).unwrap()
    }
}

/// The life of the first segment with levelling over its life without, by the use of free segments. Beside it stands
/// the possible gain: most over mean wear without levelling, times the quotient of the amplifications.
#[test]
#[ignore = "prints a table"]
fn free_segments() {
    println!(
        "| victim | 90 % of the writes to | free segments | most/mean | WAF | even: WAF | most/mean | gain | at most |\n|---|---|---|---|---|---|---|---|---|"
    );
    for victim in SCHEMES {
        for (place, access) in [
            ("10 % of the data", Access::Locality(90)),
            ("5 %, half is never written", Access::HalfWritten(90)),
        ] {
            let setup = Setup { victim, access, endurance: 1000, ..BASE };
            let even = setup.run(|params| wear("even", params));
            for (name, free) in
                [("queue", Free::Queue), ("stack", Free::Stack), ("lowest number", Free::LowestNumber)]
            {
                let none = setup.run(|_| Box::new(Unlevelled(free, Vec::new())));
                println!(
                    "| {} | {place} | {name} | {:.3} | {:.3} | {:.3} | {:.3} | {:.2} | {:.2} |",
                    setup.name(),
                    none.max_to_mean,
                    none.waf(),
                    even.waf(),
                    even.max_to_mean,
                    even.user_writes / none.user_writes,
                    none.max_to_mean * none.waf() / even.waf()
                );
            }
        }
    }
}
