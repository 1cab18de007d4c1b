//! A record made again.

use std::path::Path;

use serde_json::{Value, to_value};

use super::{
    Experiment, Line, Options, Outcome, Point, Seeds,
    wanted::{Seeded, Wanted},
};
use crate::{LabError, Sources, measured::Job, run::simulate};

/// A record that was made again.
#[derive(Clone, Debug)]
pub struct Again {
    /// The new one.
    pub line: Line,
    /// The first field that differs, with both values.
    pub difference: Option<String>,
}

/// Makes the run of a record of `experiment` again, with traces from `traces`. With the same sources and the same trace it is the same,
/// to the byte.
///
/// # Errors
/// If this build has no such point, or another trace or other parameters for it.
pub fn again(line: &Line, experiment: &Experiment<'_>, traces: &Path) -> Result<Again, LabError> {
    let seeds = Seeds::one(line.outcome.seed());
    let medium = line.medium().clone();
    let options = Options { seeds, traces: traces.to_owned(), medium, ..Options::default() };
    let (sources, outcome) = match Wanted::of(experiment, &options)? {
        Wanted::Simulated(points) => {
            let seed = line.outcome.seed();
            let found = points.into_iter().find(|(point, planned)| {
                is_at(line, &point.series, &point.x) && planned.parameters.seed == seed
            });
            let (point, planned) = found.ok_or_else(|| absent(line))?;
            let known = match &line.outcome {
                Outcome::Simulated(record) => to_value(&record.parameters),
                Outcome::Measured(measured) => to_value(measured),
            };
            agrees(line, known, to_value(&planned.parameters))?;
            (Sources::Simulator, simulate(&point.setup, &())?.into())
        }
        Wanted::OnChip(points) => measured(line, &points)?,
        Wanted::OnDisk(points) => measured(line, &points)?,
        Wanted::OnServer(points) => measured(line, &points)?,
        Wanted::OnStack(points) => measured(line, &points)?,
    };
    let new = Line::new(experiment.name, (&line.series, &line.x), sources, outcome).on(&options.medium);
    let difference = match (to_value(line), to_value(&new)) {
        (Ok(old), Ok(new)) => difference(&old, &new),
        _ => None,
    };
    Ok(Again { line: new, difference })
}

fn measured<J: Job>(line: &Line, points: &Seeded<J>) -> Result<(Sources, Outcome), LabError> {
    let seed = line.outcome.seed();
    let is_it = |(point, of): &&(Point<J>, u64)| is_at(line, &point.series, &point.x) && *of == seed;
    let (point, _) = points.iter().find(is_it).ok_or_else(|| absent(line))?;
    let known = match &line.outcome {
        Outcome::Measured(measured) => to_value(measured.without_findings()),
        Outcome::Simulated(record) => to_value(&record.parameters),
    };
    agrees(line, known, to_value(point.setup.planned(seed)))?;
    Ok((point.setup.sources(), point.setup.run(seed)?.into()))
}

fn is_at(line: &Line, series: &str, x: &str) -> bool {
    (line.series.as_str(), line.x.as_str()) == (series, x)
}

fn place(line: &Line) -> String {
    format!("{}, {} at {}, seed {}", line.experiment, line.series, line.x, line.outcome.seed())
}

/// Refuses a record that this build cannot make.
fn absent(line: &Line) -> LabError {
    LabError::Setup(format!("{}: no such run in this build, or its trace is not there", place(line)))
}

/// Refuses a record of other parameters.
fn agrees(line: &Line, record: Json, here: Json) -> Result<(), LabError> {
    let failed = |error: serde_json::Error| LabError::Setup(format!("{}: {error}", place(line)));
    match difference(&record.map_err(failed)?, &here.map_err(failed)?) {
        None => Ok(()),
        Some(what) => Err(LabError::Setup(format!("{}: {what}", place(line)))),
    }
}

type Json = Result<Value, serde_json::Error>;

/// The first field of two objects that differs.
fn difference(old: &Value, new: &Value) -> Option<String> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| "parameters are no objects".to_owned());
    };
    let all = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let mut different = all.filter(|key| old.get(*key) != new.get(*key));
    let told = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
    different
        .next()
        .map(|key| format!("{key} is {} here, {} in the record", told(new.get(key)), told(old.get(key))))
}
