//! The points of an experiment, each with every seed.

use super::{Experiment, Options, Point, Points, Shard};
use crate::{
    LabError, Medium, on_chip, on_disk, on_server, on_stack,
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
    pub(super) fn of(experiment: &Experiment<'_>, options: &Options) -> Result<Wanted, LabError> {
        let (medium, refuse) = (&options.medium, |why: &str| refused(experiment, why));
        Ok(match experiment.points {
            Points::Simulated(points) => simulated(experiment, points(options)?, options)?,
            Points::Described(points) => {
                let all = points.iter().flat_map(|point| point.clone().seeded(options.seeds));
                simulated(experiment, all.collect(), options)?
            }
            Points::OnChip(points) => {
                let all = points();
                if !medium.is_own() && !are_alike(&all, |task| task.chip.clone()) {
                    return refuse("runs on several chips");
                }
                let set = |task| Ok(on_chip::Task { medium: medium.clone(), ..task });
                Wanted::OnChip(seeded(all, options, set)?)
            }
            Points::OnDisk(_) if !medium.is_own() => return refuse("runs on a disk in memory"),
            Points::OnDisk(points) => Wanted::OnDisk(seeded(points(), options, Ok)?),
            Points::OnServer(points) => {
                let set = |task| Ok(on_server::Task { medium: medium.clone(), ..task });
                Wanted::OnServer(seeded(points(), options, set)?)
            }
            Points::OnStack(points) => {
                let set = |task| Ok(on_stack::Task { medium: medium.clone(), ..task });
                Wanted::OnStack(seeded(points(options)?, options, set)?)
            }
        })
    }

    /// Curve and place of each run, in their order.
    pub(super) fn places(&self) -> Vec<(String, String)> {
        fn place<T>(point: &Point<T>) -> (String, String) {
            (point.series.clone(), point.x.clone())
        }
        match self {
            Wanted::Simulated(points) => points.iter().map(|(point, _)| place(point)).collect(),
            Wanted::OnChip(points) => points.iter().map(|(point, _)| place(point)).collect(),
            Wanted::OnDisk(points) => points.iter().map(|(point, _)| place(point)).collect(),
            Wanted::OnServer(points) => points.iter().map(|(point, _)| place(point)).collect(),
            Wanted::OnStack(points) => points.iter().map(|(point, _)| place(point)).collect(),
        }
    }
}

/// Points with the seed of each run.
pub(super) type Seeded<T> = Vec<(Point<T>, u64)>;

/// Each point, which has its seed, on the store that was asked for, and the shard's part of them.
fn simulated(experiment: &Experiment<'_>, all: Vec<Point>, options: &Options) -> Result<Wanted, LabError> {
    let medium = &options.medium;
    if medium.size_bytes.is_some() && !are_alike(&all, |setup| setup.store.flash) {
        return refused(experiment, "has stores of several sizes");
    }
    let all = all.into_iter().map(|point| on(point, medium, |setup| store(setup, medium)));
    let points = options.shard.part(all.collect::<Result<Vec<_>, _>>()?);
    let planned = plan(&points.iter().map(|point| point.setup.clone()).collect::<Vec<Setup>>())?;
    Ok(Wanted::Simulated(points.into_iter().zip(planned).collect()))
}

/// Each point on the chip that was asked for, with every seed, and the shard's part of them.
fn seeded<T: Clone>(
    points: Vec<Point<T>>,
    options: &Options,
    set: impl Fn(T) -> Result<T, LabError>,
) -> Result<Seeded<T>, LabError> {
    let points = points.into_iter().map(|point| on(point, &options.medium, &set));
    let points = points.collect::<Result<Vec<_>, _>>()?;
    let all =
        points.into_iter().flat_map(|point| options.seeds.iter().map(move |seed| (point.clone(), seed)));
    Ok(Shard::part(options.shard, all.collect()))
}

fn on<T>(
    point: Point<T>,
    medium: &Medium,
    set: impl Fn(T) -> Result<T, LabError>,
) -> Result<Point<T>, LabError> {
    Ok(Point { series: medium.series(point.series), setup: set(point.setup)?, x: point.x })
}

/// The simulator takes from a chip its times alone.
pub(super) fn store(setup: Setup, medium: &Medium) -> Result<Setup, LabError> {
    let mut setup = setup;
    if medium.chip.is_some() {
        setup.chip = Medium { size_bytes: None, ..medium.clone() }.spec(setup.chip.name(), None)?;
    }
    setup.store.flash = medium.size_bytes.or(setup.store.flash);
    Ok(setup)
}

/// True if all points have the same.
fn are_alike<T, K: PartialEq>(points: &[Point<T>], key: impl Fn(&T) -> K) -> bool {
    let mut keys = points.iter().map(|point| key(&point.setup));
    let first = keys.next();
    keys.all(|key| Some(key) == first)
}

fn refused(experiment: &Experiment<'_>, why: &str) -> Result<Wanted, LabError> {
    Err(LabError::Setup(format!("{} {why}: no --chip and no --size for it", experiment.name)))
}
