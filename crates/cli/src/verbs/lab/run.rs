//! `pumice lab run`: runs experiments, prints their series, keeps their records.

use std::path::PathBuf;

use pumice_lab::{
    claim::{Claim, judge},
    experiment::{Cell, Experiment, Line, Options, Ran, Summary, run},
};

use crate::{
    failure::{Failure, Outcome},
    output::Output,
    progress::Progress,
};

/// Seeds of a point, at most: the list of runs is in memory.
const SEEDS_MAX: u64 = 10_000;

/// Run experiments, print their series and keep every record
///
/// A run that was interrupted goes on where it stopped: runs on record with the same parameters, trace and version are
/// not made again.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Experiments to run; `papers` for all of the five papers, `all` for every one, see `pumice lab list`
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Directory for records: NAME.jsonl and NAME.csv
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
    /// Seeds of each point
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    seeds: u64,
    /// Directory of trace files
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
    /// Run everything again, in place of going on where an earlier run stopped
    #[arg(long)]
    fresh: bool,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let options = Options { seeds: self.seeds, traces: self.traces.clone(), fresh: self.fresh };
        let mut output = Output::new();
        for experiment in self.experiments()? {
            let progress = Progress::counted(experiment.name);
            let Ran { lines, known } = run(experiment, &options, &self.out, &progress)?;
            drop(progress);
            if known > 0 {
                let (name, all) = (experiment.name, lines.len());
                crate::message::complain(&format!(
                    "{name}: {known} of {all} runs were on record already; --fresh makes them again"
                ));
            }
            output.line(format!("{}: {}", experiment.name, experiment.about))?;
            for metric in experiment.metrics {
                let summary = Summary::new(experiment, *metric, &lines);
                if !summary.is_empty() {
                    table(&mut output, experiment, &summary)?;
                }
            }
            verdicts(&mut output, experiment, &lines)?;
            output.flush()?;
        }
        output.finish()
    }

    fn experiments(&self) -> Outcome<Vec<&'static Experiment>> {
        const ALL: &[Experiment] = &Experiment::ALL;
        if self.names == ["all"] {
            return Ok(ALL.iter().collect());
        }
        if self.names == ["papers"] {
            return Ok(ALL.iter().filter(|experiment| experiment.is_of_a_paper()).collect());
        }
        let named = self.names.iter().map(|name| Experiment::named(name));
        named.collect::<Result<_, _>>().map_err(|error| Failure::usage(error.to_string()))
    }
}

/// The statements that the experiment judges, the paper's and our own, each with its verdict.
fn verdicts(output: &mut Output, experiment: &Experiment, lines: &[Line]) -> Outcome {
    for claim in Claim::of(experiment.name)? {
        let paper = claim.value().map(|value| format!(" (the paper: {value})")).unwrap_or_default();
        output.line(format!("\n{}: {}{paper}", claim.section(), claim.says()))?;
        let hangs_on = claim.hangs_on().map(|what| format!("; hangs on {what}")).unwrap_or_default();
        output.line(format!("  {}{hangs_on}", judge(&claim, lines)))?;
    }
    Ok(())
}

/// One metric: a line for each series, a column for each place.
fn table(output: &mut Output, experiment: &Experiment, summary: &Summary) -> Outcome {
    let first = summary.series.iter().map(|series| series.name.len()).max().unwrap_or(0).max(8);
    let line = |name: &str, cells: &[String]| {
        let cells = summary.xs.iter().zip(cells).map(|(x, cell)| format!("  {cell:>0$}", x.len().max(9)));
        format!("{name:first$}{}", cells.collect::<Vec<_>>().concat()).trim_end().to_owned()
    };
    output.line(format!("\n{} by {}", summary.metric.title(), experiment.x))?;
    output.line(line("", &summary.xs))?;
    for series in &summary.series {
        let digits = summary.metric.digits();
        let row = |of: fn(&Cell) -> f64| -> Vec<String> {
            let cell = |cell: &Option<Cell>| cell.map(|cell| format!("{:.digits$}", of(&cell)));
            series.cells.iter().map(|of| cell(of).unwrap_or_default()).collect()
        };
        output.line(line(&series.name, &row(|cell| cell.mean)))?;
        let (least, most) = (row(|cell| cell.range.0), row(|cell| cell.range.1));
        if least != most {
            output.line(line("  least", &least))?;
            output.line(line("  most", &most))?;
        }
    }
    Ok(())
}
