//! The simulator against closed forms.

use pumice_cleaning::theory;

use super::{
    Experiment, Known, Look, Metric, Options, Point, Points,
    scheme::{Scheme, cross},
};
use crate::{
    LabError,
    run::{Access, Amount, Room, Setup},
};

/// Uniform writes on 2048 segments of 32 blocks.
pub(super) const THEORY: Experiment<'static> = Experiment {
    name: "theory",
    about: "uniform writes on 2048 segments of 32 blocks, against closed forms",
    x: "alpha",
    look: Look::Lines,
    metrics: &[Metric::Waf],
    points: Points::Simulated(points),
    known,
};

const ALPHAS: [(&str, f64); 8] = [
    ("1.05", 1.05),
    ("1.1", 1.1),
    ("1.15", 1.15),
    ("1.2", 1.2),
    ("1.3", 1.3),
    ("1.5", 1.5),
    ("1.75", 1.75),
    ("2", 2.0),
];

/// Blocks of a segment.
const BLOCKS: u32 = 32;

const SCHEMES: [Scheme; 3] = [
    Scheme::new("greedy", "greedy", "m1"),
    Scheme::new("best of ten", "random:10", "m1"),
    Scheme::new("FIFO", "fifo", "m1"),
];

fn points(options: &Options) -> Result<Vec<Point>, LabError> {
    let alphas = ALPHAS.map(|(name, alpha)| (name.to_owned(), alpha));
    cross(options, &SCHEMES, &alphas, setup)
}

fn setup(scheme: &Scheme, alpha: f64) -> Result<Setup, LabError> {
    let mut setup = scheme.setup(Access::Pattern("random".parse()?))?;
    setup.store.flash = Some(256 << 20);
    setup.store.header = 0;
    setup.store.room = Room::Alpha(alpha);
    setup.warm_up = Amount::Turnovers(8.0);
    setup.write = Some(Amount::Turnovers(8.0));
    Ok(setup)
}

fn known() -> Vec<Known> {
    let mut known = Vec::new();
    for (x, alpha) in ALPHAS {
        for (series, value) in [
            ("theory: greedy", theory::greedy(alpha, f64::from(BLOCKS))),
            ("theory: best of ten", theory::choices(alpha, BLOCKS, 10)),
            ("theory: FIFO", theory::fifo(alpha)),
        ] {
            known.push(Known { series, x, metric: Metric::Waf, value, kept: None });
        }
    }
    known
}
