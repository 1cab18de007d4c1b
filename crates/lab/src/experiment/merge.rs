//! Records of several directories put into one.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::{Experiment, Line, Options, records::Records, wanted::Wanted};
use crate::{LabError, Medium};

/// Adds the records of these experiments in `dirs` to those in `out`, and puts them in the order in which one run makes
/// them: shards become what one run would have made, to the byte. Gives back the experiments, and for each its records
/// of this build.
///
/// # Errors
/// If a file cannot be read or written, or the points of an experiment need a trace that is not in `traces`.
pub fn merge<'a>(
    experiments: &[Experiment<'a>],
    dirs: &[PathBuf],
    out: &Path,
    traces: &Path,
) -> Result<Vec<(&'a str, usize)>, LabError> {
    let mut merged = Vec::new();
    for experiment in experiments {
        let name = |dir: &PathBuf| dir.join(format!("{}.jsonl", experiment.name));
        let files: Vec<PathBuf> = dirs.iter().map(name).filter(|file| file.exists()).collect();
        if files.is_empty() {
            continue;
        }
        let mut records = Records::open(out, experiment.name)?;
        records.add(&files)?;
        let lines = ordered(experiment, records.stored().lines.clone(), traces)?;
        merged.push((experiment.name, lines.len()));
        records.finish(&lines)?;
    }
    Ok(merged)
}

/// Lines in the order of a run, those on the experiment's own chip first.
fn ordered(experiment: &Experiment<'_>, lines: Vec<Line>, traces: &Path) -> Result<Vec<Line>, LabError> {
    let mut media: Vec<Medium> = Vec::new();
    for line in &lines {
        if !media.contains(line.medium()) {
            media.push(line.medium().clone());
        }
    }
    media.sort_by_key(|medium| (!medium.is_own(), medium.to_string()));
    let mut places = HashMap::new();
    for medium in media {
        let options = Options { traces: traces.to_owned(), medium, ..Options::default() };
        for place in Wanted::of(experiment, &options)?.places() {
            let next = places.len();
            places.entry(place).or_insert(next);
        }
    }
    let at = |line: &Line| {
        let place = places.get(&(line.series.clone(), line.x.clone()));
        (place.copied().unwrap_or(usize::MAX), line.outcome.seed())
    };
    let mut lines = lines;
    lines.sort_by_key(at);
    Ok(lines)
}
