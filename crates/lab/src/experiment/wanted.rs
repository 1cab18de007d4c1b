//! The points of an experiment, each with every seed.

use super::{Experiment, Options, Point, Points};
use crate::{
    LabError, on_chip, on_disk, on_server, on_stack,
    run::{Planned, Setup, plan},
};

/// All points of an experiment, ready to be run.
pub(super) enum Wanted {
    Simulated(Vec<(Point, Planned)>),
    OnChip(Seeded<on_chip::Task>),
    OnDisk(Seeded<on_disk::Task>),
    OnServer(Seeded<on_server::Task>),
    OnStack(Seeded<on_stack::Task>),
}

impl Wanted {
    pub(super) fn of(experiment: &Experiment, options: &Options) -> Result<Wanted, LabError> {
        Ok(match experiment.points {
            Points::Simulated(points) => {
                let points = points(options)?;
                let planned = plan(&points.iter().map(|point| point.setup.clone()).collect::<Vec<Setup>>())?;
                Wanted::Simulated(points.into_iter().zip(planned).collect())
            }
            Points::OnChip(points) => Wanted::OnChip(seeded(points(), options)),
            Points::OnDisk(points) => Wanted::OnDisk(seeded(points(), options)),
            Points::OnServer(points) => Wanted::OnServer(seeded(points(), options)),
            Points::OnStack(points) => Wanted::OnStack(seeded(points(options), options)),
        })
    }
}

/// Points with the seed of each run.
pub(super) type Seeded<T> = Vec<(Point<T>, u64)>;

/// Each point with every seed.
fn seeded<T: Clone>(points: Vec<Point<T>>, options: &Options) -> Seeded<T> {
    points.into_iter().flat_map(|point| (1..=options.seeds).map(move |seed| (point.clone(), seed))).collect()
}
