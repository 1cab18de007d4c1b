//! `pumice lab run`: runs experiments, prints their series, keeps their records.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use pumice_lab::{
    Medium,
    claim::{Claim, judge},
    experiment::{
        Again, Cell, Experiment, Line, Options, PassedOver, Ran, Seeds, Shard, Summary, again, run,
    },
};

use super::description::Description;
use crate::{
    failure::{Failure, Outcome},
    output::Output,
    progress::Progress,
    size,
};

/// The usual seeds of each point.
const SEEDS: &str = "5";

/// Run experiments, print their series and keep every record
///
/// A run that was interrupted goes on where it stopped: runs on record with the same parameters, trace and sources are
/// not made again. Records are added to those that are there, and none is removed.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Experiments to run: names, see `pumice lab list`, `papers` for those of the five papers, `all` for every one, or a file
    /// NAME.toml that describes one
    #[arg(value_name = "NAME", required_unless_present = "again")]
    names: Vec<String>,
    /// Make the runs of the records in FILE again and print them; fails if one differs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "out", "seeds", "fresh"])]
    again: Option<PathBuf>,
    /// Directory for records: NAME.jsonl, NAME.csv, and a copy of NAME.toml
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
    /// Seeds of each point: their number, or a range such as 6..10 [default: those of NAME.toml, or 5]
    #[arg(long, value_name = "N", value_parser = str::parse::<Seeds>)]
    seeds: Option<Seeds>,
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
        let mut output = Output::new();
        for word in &self.names()? {
            match Description::is_named_by(word) {
                true => {
                    let description = Description::read(Path::new(word), &self.traces)?;
                    // Shards are merged by it, those that were cut short, too.
                    description.keep(&self.out)?;
                    self.experiment(&description.experiment(), description.seeds(), &mut output)?;
                }
                false => self.experiment(named(word)?, None, &mut output)?,
            }
        }
        output.finish()
    }

    /// Runs an experiment, which asks for its own number of seeds or not.
    fn experiment(&self, experiment: &Experiment<'_>, seeds: Option<Seeds>, output: &mut Output) -> Outcome {
        let options = Options {
            seeds: self.seeds.or(seeds).map_or_else(|| SEEDS.parse(), Ok)?,
            traces: self.traces.clone(),
            fresh: self.fresh,
            medium: Medium { chip: self.chip.clone(), size_bytes: self.size },
            shard: self.shard.unwrap_or_default(),
        };
        let progress = Progress::counted(experiment.name.to_owned());
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
                table(output, experiment, &summary)?;
            }
        }
        verdicts(output, experiment, &options.own(&lines))?;
        output.flush()
    }

    /// Makes records again; they come out as they are in the file, if nothing that decides has changed.
    fn again(&self, path: &Path) -> Outcome {
        let text = fs::read_to_string(path).map_err(|error| Failure::host(path, &error))?;
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        let (mut output, mut different, mut described) = (Output::new(), 0, HashMap::new());
        for (number, record) in (1_u64..).zip(text.lines()) {
            let at = format!("{}: line {number}", path.display());
            let line = Line::parse(record).map_err(|error| Failure::new(format!("{at}: {error}")))?;
            let name = &line.experiment;
            if Experiment::named(name).is_err() && !described.contains_key(name) {
                let path = beside.join(format!("{name}.toml"));
                described.insert(name.clone(), Description::read(&path, &self.traces)?);
            }
            let own = described.get(name).map(Description::experiment);
            let experiment = own.as_ref().map_or_else(|| named(name), Ok)?;
            let Again { line, difference } = again(&line, experiment, &self.traces)?;
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

    /// The names, each of them known.
    fn names(&self) -> Outcome<Vec<String>> {
        if self.names == ["all"] {
            return Ok(all(|_| true));
        }
        if self.names == ["papers"] {
            return Ok(all(Experiment::is_of_a_paper));
        }
        for name in self.names.iter().filter(|name| !Description::is_named_by(name)) {
            named(name)?;
        }
        Ok(self.names.clone())
    }
}

/// The names of some experiments.
fn all(is_one: fn(&Experiment<'static>) -> bool) -> Vec<String> {
    Experiment::ALL.iter().filter(|one| is_one(one)).map(|one| one.name.to_owned()).collect()
}

fn named(name: &str) -> Outcome<&'static Experiment<'static>> {
    Experiment::named(name).map_err(|error| Failure::usage(error.to_string()))
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
fn verdicts(output: &mut Output, experiment: &Experiment<'_>, lines: &[Line]) -> Outcome {
    for claim in Claim::of(experiment.name)? {
        let paper = claim.value().map(|value| format!(" (the paper: {value})")).unwrap_or_default();
        output.line(format!("\n{}: {}{paper}", claim.section(), claim.says()))?;
        let hangs_on = claim.hangs_on().map(|what| format!("; hangs on {what}")).unwrap_or_default();
        output.line(format!("  {}{hangs_on}", judge(&claim, lines)))?;
    }
    Ok(())
}

/// One metric: a line for each series, a column for each place.
fn table(output: &mut Output, experiment: &Experiment<'_>, summary: &Summary) -> Outcome {
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
