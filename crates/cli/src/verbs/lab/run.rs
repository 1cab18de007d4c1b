//! `pumice lab run`: runs experiments, prints their series, keeps their records.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pumice_lab::{
    Medium,
    claim::{Claim, judge},
    experiment::{
        Again, Cell, Experiment, Line, Options, PassedOver, Ran, SEEDS_MAX, Shard, Summary, again, run,
    },
};

use crate::{
    failure::{Failure, Outcome},
    output::Output,
    progress::Progress,
    size,
};

/// Run experiments, print their series and keep every record
///
/// A run that was interrupted goes on where it stopped: runs on record with the same parameters, trace and sources are
/// not made again. Records are added to those that are there, and none is removed.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Experiments to run; `papers` for all of the five papers, `all` for every one, see `pumice lab list`
    #[arg(value_name = "NAME", required_unless_present = "again")]
    names: Vec<String>,
    /// Make the runs of the records in FILE again and print them; fails if one differs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "out", "seeds", "fresh"])]
    again: Option<PathBuf>,
    /// Directory for records: NAME.jsonl and NAME.csv
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
    /// Seeds of each point
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    seeds: u64,
    /// Directory of trace files
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
    /// Chip to run on, in place of the experiment's own: a name, or a geometry
    #[arg(long, value_name = "CHIP", conflicts_with = "again")]
    chip: Option<String>,
    /// Size of the chip, or of the simulator's store
    #[arg(long, value_name = "SIZE", value_parser = size::parse, conflicts_with = "again")]
    size: Option<u64>,
    /// Make one of N parts of the runs: every Nth, from the Ith on; `pumice lab merge` puts the parts together
    #[arg(long, value_name = "I/N", value_parser = str::parse::<Shard>, conflicts_with = "again")]
    shard: Option<Shard>,
    /// Run everything again, in place of going on where an earlier run stopped
    #[arg(long)]
    fresh: bool,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        if let Some(path) = &self.again {
            return self.again(path);
        }
        let options = Options {
            seeds: self.seeds,
            traces: self.traces.clone(),
            fresh: self.fresh,
            medium: Medium { chip: self.chip.clone(), size_bytes: self.size },
            shard: self.shard.unwrap_or_default(),
        };
        let mut output = Output::new();
        for experiment in self.experiments()? {
            let progress = Progress::counted(experiment.name);
            let Ran { lines, known, passed_over } = run(experiment, &options, &self.out, &progress)?;
            drop(progress);
            if known > 0 {
                let (name, all) = (experiment.name, lines.len());
                crate::message::complain(&format!(
                    "{name}: {known} of {all} runs were on record already; --fresh makes them again"
                ));
            }
            complain(experiment.name, passed_over);
            output.line(format!("{}: {}", experiment.name, experiment.about))?;
            for metric in experiment.metrics {
                let summary = Summary::new(experiment, *metric, &lines);
                if !summary.is_empty() {
                    table(&mut output, experiment, &summary)?;
                }
            }
            verdicts(&mut output, experiment, &options.own(&lines))?;
            output.flush()?;
        }
        output.finish()
    }

    /// Makes records again; they come out as they are in the file, if nothing that decides has changed.
    fn again(&self, path: &Path) -> Outcome {
        let text = fs::read_to_string(path).map_err(|error| Failure::host(path, &error))?;
        let (mut output, mut different) = (Output::new(), 0);
        for (number, record) in (1_u64..).zip(text.lines()) {
            let at = format!("{}: line {number}", path.display());
            let line = Line::parse(record).map_err(|error| Failure::new(format!("{at}: {error}")))?;
            let Again { line, difference } = again(&line, &self.traces)?;
            output.line(line.json().map_err(|error| Failure::host(path, &error))?)?;
            if let Some(what) = difference {
                different += 1;
                crate::message::complain(&format!("{at}: {what}"));
            }
        }
        output.finish()?;
        match different {
            0 => Ok(()),
            count => {
                Err(Failure::new(format!("{count} of {} records came out otherwise", text.lines().count())))
            }
        }
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

/// Tells of records that are on file and not shown.
fn complain(name: &str, PassedOver { foreign, changed }: PassedOver) {
    if foreign > 0 {
        let what = "that other sources made stay on file and are not shown";
        crate::message::complain(&format!("{name}: {foreign} records {what}"));
    }
    if changed > 0 {
        let what = "changed after they were written stay on file and are not shown";
        crate::message::complain(&format!("{name}: {changed} records {what}"));
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
    if let Some(note) = summary.note() {
        output.line(note)?;
    }
    Ok(())
}
