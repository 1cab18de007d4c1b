//! Zipf's law with and without churn: the default against the fixed schemes.

use super::{
    Experiment, Look, Metric, Options, Point, Points,
    scheme::{DEFAULT, PLACEMENTS, Scheme, cross, named},
};
use crate::{
    LabError,
    run::{Access, Amount, Room, Setup},
};

/// 2048 segments of 256 pages, a = 1.1765; filled, 8 turnovers to warm up, 6 measured.
pub(super) const ZIPF: Experiment<'static> = Experiment {
    name: "zipf",
    about: "Zipf 0.99 on 2048 segments of 256 pages, alpha 1.1765, with and without churn: all placements",
    x: "workload",
    look: Look::Bars,
    metrics: &[Metric::Waf, Metric::WearDeviation],
    points: Points::Simulated(points),
    known: Vec::new,
};

const WORKLOADS: [&str; 5] =
    ["zipf:0.99", "zipf:0.99+churn:5%", "zipf:0.99+churn:20%", "random", "locality:90/10"];

fn points(options: &Options) -> Result<Vec<Point>, LabError> {
    cross(options, &schemes(), &named(&WORKLOADS), setup)
}

/// Every placement with cost-benefit or the rule of its name, the oracle, greedy for a bound where all is alike, and the
/// default without wear levelling, like the others, and with it.
fn schemes() -> Vec<Scheme> {
    let fixed = PLACEMENTS.into_iter().chain(["oracle"]).map(|placement| {
        let victim = if placement == "midas" { placement } else { "cost-benefit" };
        Scheme::new(placement, victim, placement)
    });
    let greedy = Scheme::new("greedy m1", "greedy", "m1");
    let default = Scheme { wear: "none", ..DEFAULT };
    let levelled = Scheme { name: "default, levelled", ..DEFAULT };
    [greedy].into_iter().chain(fixed).chain([default, levelled]).collect()
}

fn setup(scheme: &Scheme, workload: &str) -> Result<Setup, LabError> {
    let mut setup = scheme.setup(Access::Pattern(workload.parse()?))?;
    setup.store.flash = Some(2 << 30);
    setup.store.segment = 1 << 20;
    setup.store.header = 0;
    setup.store.reserve = 1;
    setup.store.room = Room::Alpha(1.1765);
    setup.warm_up = Amount::Turnovers(8.0);
    setup.write = Some(Amount::Turnovers(6.0));
    Ok(setup)
}
