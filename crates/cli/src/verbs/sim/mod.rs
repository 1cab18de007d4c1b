//! `pumice sim`: the simulator of cleaning.

mod combine;
mod parse;
mod show;

use std::path::PathBuf;

use pumice_lab::{
    report::strip,
    run::{Record, Setup, plan, simulate, sweep, watch},
};
use serde_json::Value;

use crate::{
    failure::{Failure, Outcome},
    output::{self, Output},
    progress::Progress,
    staged,
    verbs::sim::show::Table,
};

/// Simulate the cleaning of flash: erases, copies, wear
///
/// Fills a store in order, writes to it, and counts the cleaner's work. Options marked [list] take several values,
/// separated by commas: every combination is run, on all cores, and printed as one line as soon as it is done.
#[derive(clap::Args, Debug)]
#[command(after_help = parse::names())]
pub(crate) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    rules: Rules,
    /// Seed of the random generator [list, or a range such as 1..4]
    #[arg(long, value_name = "N", default_value = "1", value_delimiter = ',')]
    seed: Vec<String>,
    /// Chip that gives the timing; see `pumice chips`
    #[arg(long, value_name = "NAME", default_value = "intel-s2plus-24m")]
    chip: String,
    /// Erases that a segment withstands; runs until the store can take no more, or for --write
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    endurance: Option<u32>,
    /// Requests a second, arriving as a Poisson process, to measure how long they take
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// Draw the life of the store while it counts as SVG: its segments by head and live part, the next victims
    /// marked; of one run
    #[arg(long, value_name = "FILE")]
    strip: Option<PathBuf>,
    /// Print one JSON document; for several runs, one on each line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

/// The size of the store.
#[derive(clap::Args, Debug)]
struct Store {
    /// Size of the flash [list] [default: 24M; with --alpha, as much as a trace needs]
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    flash: Vec<String>,
    /// Size of a segment, the unit of erasing [list]
    #[arg(long, value_name = "SIZE", default_value = "128K", value_delimiter = ',')]
    segment: Vec<String>,
    /// Size of a block, the unit of writing [list]
    #[arg(long, value_name = "SIZE", default_value = "4K", value_delimiter = ',')]
    block: Vec<String>,
    /// Blocks of each segment taken by its header
    #[arg(long, value_name = "N", default_value_t = 1)]
    header: u32,
    /// Segments kept free for the cleaner; with 0, survivors wait in memory while their segment is
    /// erased, as in the CAT paper
    #[arg(long, value_name = "N", default_value_t = 1)]
    reserve: u32,
    /// Free segments up to which cleaning goes on once it has begun, if more than --reserve: the
    /// high-water mark
    #[arg(long, value_name = "N", default_value_t = 0)]
    high_water: u32,
    /// Segments cleaned at once; survivors of several wait in memory until all are erased, and
    /// `m2` and `m3` sort them together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    together: u32,
    /// Clean a segment after each write that finds more of all written blocks dead, not only where room is short:
    /// a log of any size, as SepBIT's authors have it
    #[arg(long, value_name = "PERCENT", value_parser = parse::garbage)]
    garbage: Option<u32>,
    /// Share of the usable blocks that holds data [list] [default: 90%]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', conflicts_with = "alpha")]
    fill: Vec<String>,
    /// Physical over logical blocks, in place of --fill [list]
    #[arg(long, value_name = "A", value_delimiter = ',')]
    alpha: Vec<String>,
}

/// The writes.
#[derive(clap::Args, Debug)]
struct Work {
    /// Workload: sequential, random, workstation, locality:90/10, zipf:0.99 or trace:FILE [list]
    #[arg(long, value_name = "NAME", default_value = "random", value_delimiter = ',')]
    access: Vec<String>,
    /// Writes before counting: a size, or 8x the logical blocks
    #[arg(long, value_name = "AMOUNT", default_value = "0")]
    warm_up: String,
    /// Writes that are counted: a size, or 6x the logical blocks [default: 192M; a trace once]
    #[arg(long, value_name = "AMOUNT")]
    write: Option<String>,
    /// Trace format [default: detected]
    #[arg(long, value_name = "NAME", conflicts_with = "pattern")]
    format: Option<String>,
    /// Read traces by a regular expression; its named groups are op, offset or sector, bytes or sectors,
    /// time, volume
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Number the blocks of a trace in the order of their first write
    #[arg(long)]
    compact: bool,
}

/// The three axes.
#[derive(clap::Args, Debug)]
struct Rules {
    /// Policy that chooses the segment to clean next: a name, or a module FILE.wasm or FILE.wat [list]
    #[arg(long, value_name = "NAME", default_value = "default", value_delimiter = ',')]
    victim: Vec<String>,
    /// Policy that chooses the head for a block: a name, or a module FILE.wasm or FILE.wat [list]
    #[arg(long, value_name = "NAME", default_value = "default", value_delimiter = ',')]
    placement: Vec<String>,
    /// Wear levelling [list]
    #[arg(long, value_name = "NAME", default_value = "default", value_delimiter = ',')]
    wear: Vec<String>,
}

impl Args {
    /// All combinations of the values that were given.
    pub(crate) fn setups(&self) -> Outcome<Vec<Setup>> {
        combine::setups(self)
    }

    pub(crate) fn run(&self) -> Outcome {
        let setups = self.setups()?;
        let progress = Progress::counted("simulating");
        if let [setup] = setups.as_slice()
            && !self.csv
        {
            let record = match &self.strip {
                Some(path) => {
                    let (record, life) = watch(setup, &progress)?;
                    staged::write(path, &strip(&life)?)?;
                    record
                }
                None => simulate(setup, &progress)?,
            };
            drop(progress);
            return match self.json {
                true => output::document("sim", json(&record)?),
                false => output::lines(show::one(&record)),
            };
        }
        if self.strip.is_some() {
            return Err(Failure::usage(
                "--strip draws one run (want one value for each option, and no --csv)",
            ));
        }
        let mut output = Output::new();
        let table = Table::new(&setups);
        if !self.json {
            output.line(if self.csv { Record::csv_head() } else { table.head() })?;
        }
        sweep(&plan(&setups)?, &progress, |_, record| {
            match (self.json, self.csv) {
                (true, _) => output.line(output::document_line("sim", json(record)?)?)?,
                (_, true) => output.line(record.csv())?,
                _ => output.line(table.row(record))?,
            }
            output.flush()
        })?;
        output.finish()
    }
}

fn json(record: &Record) -> Outcome<Value> {
    serde_json::to_value(record).map_err(|error| Failure::new(error.to_string()))
}
