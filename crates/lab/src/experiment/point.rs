//! A run with its place in a picture.

use crate::run::Setup;

/// One run of an experiment.
#[derive(Clone, Debug)]
pub struct Point {
    /// The curve it belongs to.
    pub series: String,
    /// Its place on the horizontal axis: a number, or any word.
    pub x: String,
    /// What is run.
    pub setup: Setup,
}

impl Point {
    /// The same point once for each of `seeds` seeds.
    pub(super) fn seeded(self, seeds: u64) -> impl Iterator<Item = Point> {
        (1..=seeds).map(move |seed| Point { setup: Setup { seed, ..self.setup.clone() }, ..self.clone() })
    }
}
