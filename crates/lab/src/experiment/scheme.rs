//! Rules on all three axes under one name.

use pumice_media::ChipSpec;

use super::{Options, Point};
use crate::{
    LabError,
    run::{Access, Setup},
};

/// A victim rule, a placement, a wear rule, and the name of their curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) victim: &'static str,
    pub(super) placement: &'static str,
    pub(super) wear: &'static str,
    /// Segments kept free for the cleaner.
    pub(super) reserve: u32,
}

impl Scheme {
    /// One without wear levelling and reserve, as in the paper.
    pub(super) const fn new(name: &'static str, victim: &'static str, placement: &'static str) -> Self {
        Self { name, victim, placement, wear: "none", reserve: 0 }
    }

    /// The paper's chip under this scheme.
    pub(super) fn setup(&self, access: Access) -> Result<Setup, LabError> {
        let chip = ChipSpec::named("intel-s2plus-24m").map_err(|error| LabError::Setup(error.to_string()))?;
        let (victim, placement) = (self.victim.parse()?, self.placement.parse()?);
        let mut setup = Setup::cat(access, victim, placement, self.wear.parse()?, chip);
        setup.store.reserve = self.reserve;
        Ok(setup)
    }
}

/// The three that the paper built into its server (section 5), the default, and the best possible.
pub(super) const BUILT: [Scheme; 5] = [
    Scheme::new("greedy", "greedy", "m1"),
    Scheme::new("cost-benefit", "cost-benefit-written", "m4"),
    Scheme::new("CAT", "cat", "m6"),
    DEFAULT,
    Scheme::new("oracle", "cost-benefit", "oracle"),
];

/// Ours, with wear levelling and a segment in reserve.
pub(super) const DEFAULT: Scheme =
    Scheme { name: "default", victim: "declining-cost", placement: "adaptive", wear: "even", reserve: 1 };

/// Every placement that is compared with the default: all policies, those with a parameter at the values that are good
/// somewhere.
pub(super) const PLACEMENTS: [&str; 18] = [
    "m1",
    "m2",
    "m3",
    "m4",
    "m5",
    "m6",
    "static",
    "chain:4",
    "midas",
    "sepbit:3",
    "sepbit:6",
    "dac:3",
    "dac:10",
    "multi-log:3",
    "multi-log:8",
    "sfs:3",
    "sfs:6",
    "temperature",
];

/// Three selectors with three ways to redistribute (section 6.3), and the default. Cost-benefit stands there twice: its
/// age is that since the last write, under which the paper's table 4 comes out, or that since the last invalidation,
/// as its section 3.1 says.
pub(super) const COMPARED: [Scheme; 13] = [
    Scheme::new("greedy M1", "greedy", "m1"),
    Scheme::new("greedy M4", "greedy", "m4"),
    Scheme::new("greedy M6", "greedy", "m6"),
    Scheme::new("cost-benefit M1", "cost-benefit-written", "m1"),
    Scheme::new("cost-benefit M4", "cost-benefit-written", "m4"),
    Scheme::new("cost-benefit M6", "cost-benefit-written", "m6"),
    Scheme::new("by invalidation M1", "cost-benefit", "m1"),
    Scheme::new("by invalidation M4", "cost-benefit", "m4"),
    Scheme::new("by invalidation M6", "cost-benefit", "m6"),
    Scheme::new("CAT M1", "cat", "m1"),
    Scheme::new("CAT M4", "cat", "m4"),
    Scheme::new("CAT M6", "cat", "m6"),
    DEFAULT,
];

/// Every scheme at every place: `set` turns the setup of a scheme into that of a place.
pub(super) fn cross<X: Copy>(
    options: &Options,
    schemes: &[Scheme],
    xs: &[(String, X)],
    set: impl Fn(&Scheme, X) -> Result<Setup, LabError>,
) -> Result<Vec<Point>, LabError> {
    let mut points = Vec::new();
    for scheme in schemes {
        for (x, value) in xs {
            let point = Point { series: scheme.name.to_owned(), x: x.clone(), setup: set(scheme, *value)? };
            points.extend(point.seeded(options.seeds));
        }
    }
    Ok(points)
}

/// Places that are their own names.
pub(super) fn named<X: Copy + ToString>(xs: &[X]) -> Vec<(String, X)> {
    xs.iter().map(|x| (x.to_string(), *x)).collect()
}
