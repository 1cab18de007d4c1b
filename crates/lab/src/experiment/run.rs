//! Running an experiment and keeping its outcomes.

use std::{collections::HashMap, path::Path};

use super::{Experiment, Line, Options, Outcome, PassedOver, Point, records::Records, wanted::Wanted};
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
/// where it stopped. With [`Options::fresh`] all are run.
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
    let known = if options.fresh { Vec::new() } else { records.stored().lines.clone() };
    let known = Known::new(&known);
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
        if found.is_none() {
            missing.push((lines.len(), point, planned.clone()));
        }
        lines.push(found.map(|line| (line, false)));
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
    let found: Vec<Option<Line>> = points.iter().map(|(point, seed)| known.measured(point, *seed)).collect();
    progress.expect(found.iter().filter(|line| line.is_none()).count() as u64);
    let run = |((point, seed), found): (&(Point<J>, u64), Option<Line>)| {
        if let Some(line) = found {
            return Ok((line, false));
        }
        let sources = point.setup.sources();
        let line = keep((&point.series, &point.x), sources, point.setup.run(*seed)?.into())?;
        progress.done(1);
        Ok((line, true))
    };
    points.iter().zip(found).map(run).collect()
}

/// Lines on record, by their place.
struct Known<'a>(HashMap<(&'a str, &'a str), Vec<&'a Line>>);

impl<'a> Known<'a> {
    fn new(lines: &'a [Line]) -> Self {
        let mut known: HashMap<_, Vec<_>> = HashMap::new();
        for line in lines {
            known.entry((line.series.as_str(), line.x.as_str())).or_default().push(line);
        }
        Self(known)
    }

    /// The line of a point, if it was run with just these parameters.
    fn simulated(&self, point: &Point, parameters: &Parameters) -> Option<Line> {
        self.find(
            point,
            Sources::Simulator,
            |outcome| matches!(outcome, Outcome::Simulated(record) if record.parameters == *parameters),
        )
    }

    /// The same, of a file system.
    fn measured<J: Job>(&self, point: &Point<J>, seed: u64) -> Option<Line> {
        self.find(
            point,
            point.setup.sources(),
            |outcome| matches!(outcome, Outcome::Measured(measured) if point.setup.made(measured, seed)),
        )
    }

    fn find<T>(&self, point: &Point<T>, sources: Sources, is_it: impl Fn(&Outcome) -> bool) -> Option<Line> {
        let lines = self.0.get(&(point.series.as_str(), point.x.as_str()))?;
        lines.iter().find(|line| line.is_by(sources) && is_it(&line.outcome)).copied().cloned()
    }
}
