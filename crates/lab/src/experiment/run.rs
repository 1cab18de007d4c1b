//! Running an experiment and keeping what comes out.

use std::{collections::HashMap, path::Path};

use super::{Experiment, Line, Options, Point, records::Records};
use crate::{
    LabError,
    run::{Parameters, Planned, Progress, Setup, plan, sweep},
};

/// What an experiment came to.
#[derive(Clone, Debug)]
pub struct Ran {
    /// A line for each point, in their order.
    pub lines: Vec<Line>,
    /// So many of them were on record already.
    pub known: usize,
}

/// Runs `experiment` and writes each record, as soon as it is there, to `NAME.jsonl` in `dir`; at the end the file holds
/// the points of this run in their order, and `NAME.csv` the same.
///
/// Points on record there are not run again, if every parameter agrees: workload, store, policies, seed, the trace's
/// bytes, and the program's version. So a run that was interrupted goes on where it stopped. With [`Options::fresh`] all
/// are run.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    dir: &Path,
    progress: &dyn Progress,
) -> Result<Ran, LabError> {
    let points = (experiment.points)(options)?;
    let planned = plan(&points.iter().map(|point| point.setup.clone()).collect::<Vec<Setup>>())?;
    let mut records = Records::open(dir, experiment.name)?;
    let known = if options.fresh { Known::default() } else { Known::new(records.lines()) };
    let mut lines: Vec<Option<Line>> =
        points.iter().zip(&planned).map(|(point, planned)| known.find(point, &planned.parameters)).collect();
    let missing: Vec<usize> =
        (0..lines.len()).filter(|at| lines.get(*at).is_some_and(Option::is_none)).collect();
    let runs: Vec<Planned> = missing.iter().filter_map(|at| planned.get(*at).cloned()).collect();
    sweep(&runs, progress, |number, record| -> Result<(), LabError> {
        let at = missing.get(number).copied();
        let place = at.and_then(|at| points.get(at).zip(lines.get_mut(at)));
        if let Some((Point { series, x, .. }, slot)) = place {
            let line = Line::new(experiment.name, series, x, record.clone());
            records.append(&line)?;
            *slot = Some(line);
        }
        Ok(())
    })?;
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    records.finish(&lines)?;
    Ok(Ran { known: lines.len() - missing.len(), lines })
}

/// Lines on record, by their place.
#[derive(Default)]
struct Known<'a>(HashMap<(&'a str, &'a str, u64), Vec<&'a Line>>);

impl<'a> Known<'a> {
    fn new(lines: &'a [Line]) -> Self {
        let mut known: HashMap<_, Vec<_>> = HashMap::new();
        for line in lines {
            let place = (line.series.as_str(), line.x.as_str(), line.record.parameters.seed);
            known.entry(place).or_default().push(line);
        }
        Self(known)
    }

    /// The line of a point, if it was run with just these parameters.
    fn find(&self, point: &Point, parameters: &Parameters) -> Option<Line> {
        let lines = self.0.get(&(point.series.as_str(), point.x.as_str(), parameters.seed))?;
        lines.iter().find(|line| line.record.parameters == *parameters).copied().cloned()
    }
}
