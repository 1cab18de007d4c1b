//! A run with its place in a picture.

use super::{Options, Seeds};
use crate::{LabError, on_chip, on_disk, on_server, on_stack, run::Setup};

/// One run of an experiment.
#[derive(Clone, Debug)]
pub struct Point<T = Setup> {
    /// The curve it belongs to.
    pub series: String,
    /// Its place on the horizontal axis: a number, or any word.
    pub x: String,
    /// The run's setup.
    pub setup: T,
}

/// The runs of an experiment.
#[derive(Clone, Copy, Debug)]
pub enum Points<'a> {
    /// Runs on the simulator of cleaning, each with every seed.
    Simulated(fn(&Options) -> Result<Vec<Point>, LabError>),
    /// The same, described by a user; each is run with every seed.
    Described(&'a [Point]),
    /// File systems on simulated chips.
    OnChip(fn() -> Vec<Point<on_chip::Task>>),
    /// F2FS on disks in memory.
    OnDisk(fn() -> Vec<Point<on_disk::Task>>),
    /// The flash memory server on a simulated chip, and the simulator beside it.
    OnServer(fn() -> Vec<Point<on_server::Task>>),
    /// F2FS on the flash memory server on a simulated chip.
    OnStack(fn(&Options) -> Result<Vec<Point<on_stack::Task>>, LabError>),
}

impl Point {
    /// The same point once for each seed.
    pub(super) fn seeded(self, seeds: Seeds) -> impl Iterator<Item = Point> {
        seeds.iter().map(move |seed| Point { setup: Setup { seed, ..self.setup.clone() }, ..self.clone() })
    }
}
