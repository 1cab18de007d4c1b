//! Running an experiment and keeping its outcomes.

use std::{collections::HashMap, path::Path};

use super::{
    Experiment, Line, Options, Outcome, PassedOver, Point,
    records::{Records, read},
    wanted::Wanted,
};
use crate::{
    LabError, Sources,
    measured::Job,
    run::{Parameters, Planned, Progress, sweep},
};

/// The result of an experiment.
#[derive(Clone, Debug)]
pub struct Ran {
    /// A line for each point, in their order.
    pub lines: Vec<Line>,
    /// So many of them were on record already.
    pub known: usize,
    /// Records in the file that are kept there and not taken for this build's.
    pub passed_over: PassedOver,
}

/// Runs `experiment` and writes each record, as soon as it is there, to `NAME.jsonl` in `dir`. At the end the points of
/// this run stand there last, in their order, and `NAME.csv` has all records of this build. No record is ever removed.
///
/// Points on record there are not run again, if every parameter agrees: workload, store or chip, policies or file system,
/// seed, the trace's bytes, the program's version, and the sources that decide. So a run that was interrupted goes on
/// where it stopped. Nor are those on record there for another experiment of the paper. With [`Options::fresh`] all are
/// run.
///
/// # Errors
/// The first failure of a run, or of writing a file, ends it.
pub fn run(
    experiment: &Experiment<'_>,
    options: &Options,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<Ran, LabError> {
    // A run that cannot be made leaves no file.
    let wanted = Wanted::of(experiment, options)?;
    let mut records = Records::open(dir, experiment.name)?;
    let passed_over = records.stored().passed_over;
    let (known, elsewhere) = match options.fresh {
        true => (Vec::new(), Vec::new()),
        false => (records.stored().lines.clone(), of_neighbours(experiment.name, dir)?),
    };
    let known = Known::new(&known, &elsewhere);
    let mut keep = |point: (&str, &str), sources: Sources, outcome: Outcome| -> Result<Line, LabError> {
        let line = Line::new(experiment.name, point, sources, outcome).on(&options.medium);
        records.append(&line)?;
        Ok(line)
    };
    let lines = match wanted {
        Wanted::Simulated(points) => simulated(&points, &known, progress, &mut keep)?,
        Wanted::OnChip(points) => measured(&points, &known, progress, &mut keep)?,
        Wanted::OnDisk(points) => measured(&points, &known, progress, &mut keep)?,
        Wanted::OnServer(points) => measured(&points, &known, progress, &mut keep)?,
        Wanted::OnStack(points) => measured(&points, &known, progress, &mut keep)?,
    };
    let (lines, fresh): (Vec<Line>, Vec<bool>) = lines.into_iter().unzip();
    records.finish(&lines)?;
    Ok(Ran { known: fresh.iter().filter(|fresh| !**fresh).count(), lines, passed_over })
}

/// Takes an outcome at a curve and a place.
type Keep<'a> = &'a mut dyn FnMut((&str, &str), Sources, Outcome) -> Result<Line, LabError>;

/// All lines, each with whether it was run now.
type Lines = Result<Vec<(Line, bool)>, LabError>;

fn simulated(
    points: &[(Point, Planned)],
    known: &Known<'_>,
    progress: &dyn Progress,
    keep: Keep<'_>,
) -> Lines {
    let mut lines: Vec<Option<(Line, bool)>> = Vec::new();
    let mut missing = Vec::new();
    for (point, planned) in points {
        let found = known.simulated(point, &planned.parameters);
        let line = found.map(|found| found.line(point, Sources::Simulator, keep)).transpose()?;
        if line.is_none() {
            missing.push((lines.len(), point, planned.clone()));
        }
        lines.push(line);
    }
    let runs: Vec<Planned> = missing.iter().map(|(.., planned)| planned.clone()).collect();
    sweep(&runs, progress, |number, record| -> Result<(), LabError> {
        if let Some((at, point, _)) = missing.get(number)
            && let Some(slot) = lines.get_mut(*at)
        {
            let line = keep((&point.series, &point.x), Sources::Simulator, record.clone().into())?;
            *slot = Some((line, true));
        }
        Ok(())
    })?;
    Ok(lines.into_iter().flatten().collect())
}

fn measured<J: Job>(
    points: &[(Point<J>, u64)],
    known: &Known<'_>,
    progress: &dyn Progress,
    keep: Keep<'_>,
) -> Lines {
    let found: Vec<Option<Found>> = points.iter().map(|(point, seed)| known.measured(point, *seed)).collect();
    progress.expect(found.iter().filter(|found| found.is_none()).count() as u64);
    let run = |((point, seed), found): (&(Point<J>, u64), Option<Found>)| {
        let sources = point.setup.sources();
        if let Some(found) = found {
            return found.line(point, sources, keep);
        }
        let line = keep((&point.series, &point.x), sources, point.setup.run(*seed)?.into())?;
        progress.done(1);
        Ok((line, true))
    };
    points.iter().zip(found).map(run).collect()
}

/// The records of this build in a directory that the other experiments of a file have: they may be of the same runs.
fn of_neighbours(name: &str, dir: &Path) -> Result<Vec<Line>, LabError> {
    let first = |name: &str| name.split('-').next().map(str::to_owned);
    let others = Experiment::ALL.iter().filter(|it| it.name != name && first(it.name) == first(name));
    let lines: Vec<_> = others.map(|it| Ok(read(it, dir)?.lines)).collect::<Result<_, LabError>>()?;
    Ok(lines.concat())
}

/// A run on record.
enum Found {
    /// Of this experiment.
    Here(Line),
    /// Of another one.
    Elsewhere(Outcome),
}

impl Found {
    /// The line of a point, and whether it is new in the experiment's file.
    fn line<T>(self, point: &Point<T>, sources: Sources, keep: Keep<'_>) -> Result<(Line, bool), LabError> {
        match self {
            Found::Here(line) => Ok((line, false)),
            Found::Elsewhere(outcome) => Ok((keep((&point.series, &point.x), sources, outcome)?, true)),
        }
    }
}

/// Lines on record.
struct Known<'a> {
    /// By their place.
    here: HashMap<(&'a str, &'a str), Vec<&'a Line>>,
    elsewhere: &'a [Line],
}

impl<'a> Known<'a> {
    fn new(lines: &'a [Line], elsewhere: &'a [Line]) -> Self {
        let mut here: HashMap<_, Vec<_>> = HashMap::new();
        for line in lines {
            here.entry((line.series.as_str(), line.x.as_str())).or_default().push(line);
        }
        Self { here, elsewhere }
    }

    /// The run of a point, if it was made with just these parameters.
    fn simulated(&self, point: &Point, parameters: &Parameters) -> Option<Found> {
        self.find(
            point,
            Sources::Simulator,
            |outcome| matches!(outcome, Outcome::Simulated(record) if record.parameters == *parameters),
        )
    }

    /// The same, of a file system.
    fn measured<J: Job>(&self, point: &Point<J>, seed: u64) -> Option<Found> {
        self.find(
            point,
            point.setup.sources(),
            |outcome| matches!(outcome, Outcome::Measured(measured) if point.setup.made(measured, seed)),
        )
    }

    fn find<T>(&self, point: &Point<T>, sources: Sources, is_it: impl Fn(&Outcome) -> bool) -> Option<Found> {
        let is_it = |line: &&Line| line.is_by(sources) && is_it(&line.outcome);
        let here = self.here.get(&(point.series.as_str(), point.x.as_str())).into_iter().flatten();
        let found = here.copied().find(is_it).map(|line| Found::Here(line.clone()));
        found.or_else(|| Some(Found::Elsewhere(self.elsewhere.iter().find(is_it)?.outcome.clone())))
    }
}
