//! The lifetime of a chip under each wear rule.

use pumice_cleaning::registry::WearRule;

use super::{
    Experiment, Look, Metric, Options, Point, Points,
    scheme::{Scheme, cross},
};
use crate::{
    LabError,
    run::{Access, Setup},
};

/// 90/10 on the paper's chip until there is no room any more.
pub(super) const LIFETIME: Experiment<'static> = Experiment {
    name: "lifetime",
    about: "the paper's chip at 90/10, endurance 1000, written until it can take no more: all wear rules",
    x: "wear rule",
    look: Look::Bars,
    metrics: &[
        Metric::FirstDeath,
        Metric::OnePercent,
        Metric::Exhausted,
        Metric::WearPeak,
        Metric::WearDeviation,
        Metric::Waf,
    ],
    points: Points::Simulated(points),
    known: Vec::new,
};

/// Erases that a segment withstands.
const ENDURANCE: u32 = 1000;

/// The paper's best and ours.
const SCHEMES: [Scheme; 2] =
    [Scheme::new("CAT M6", "cat", "m6"), Scheme { wear: "none", ..super::scheme::DEFAULT }];

fn points(options: &Options) -> Result<Vec<Point>, LabError> {
    let rules: Vec<_> = WearRule::all().map(|rule| (rule.to_string(), rule)).collect();
    cross(options, &SCHEMES, &rules, setup)
}

fn setup(scheme: &Scheme, wear: WearRule) -> Result<Setup, LabError> {
    let mut setup = scheme.setup(Access::Pattern("locality:90/10".parse()?))?;
    setup.wear = wear;
    setup.store.reserve = 1;
    setup.endurance = Some(ENDURANCE);
    setup.write = None;
    Ok(setup)
}
