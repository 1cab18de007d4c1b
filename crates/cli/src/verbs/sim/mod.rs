//! `pumice sim`: the simulator of cleaning.

mod combine;
mod parse;
mod show;

use pumice_lab::run::{Record, simulate, sweep};
use serde_json::Value;

use crate::{
    failure::{Failure, Outcome},
    output::{self, Output},
    progress::Progress,
    verbs::sim::show::Table,
};

/// Simulate the cleaning of flash: what is erased, what is copied, how it wears
///
/// A store is filled in order, then written to, and what the cleaner has to do is counted. Options marked
/// [list] take several values, separated by commas; all combinations are run, on all cores, and each is one
/// line, written as soon as it is known.
#[derive(clap::Args, Debug)]
#[command(after_help = parse::names())]
pub(crate) struct Args {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    rules: Rules,
    /// For everything that is drawn by lot [list, or a range such as 1..4]
    #[arg(long, value_name = "N", default_value = "1", value_delimiter = ',')]
    seed: Vec<String>,
    /// Whose times are added up; see `pumice chips`
    #[arg(long, value_name = "NAME", default_value = "intel-s2plus-24m")]
    chip: String,
    /// Erases that a segment withstands; the run goes on until there is no room any more, or --write
    #[arg(long, value_name = "N")]
    endurance: Option<u32>,
    /// Requests a second, in a Poisson process, to know how long they take
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// Print one JSON document; one a line for several runs
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
}

/// The size of the store.
#[derive(clap::Args, Debug)]
struct Store {
    /// Size of the flash [list]; 24M, or with --alpha as much as a trace needs
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    flash: Vec<String>,
    /// Size of a segment, which is erased as a whole [list]
    #[arg(long, value_name = "SIZE", default_value = "128K", value_delimiter = ',')]
    segment: Vec<String>,
    /// Size of a block, which is written as a whole [list]
    #[arg(long, value_name = "SIZE", default_value = "4K", value_delimiter = ',')]
    block: Vec<String>,
    /// Blocks of each segment that its header takes
    #[arg(long, value_name = "N", default_value_t = 1)]
    header: u32,
    /// Segments kept free for the cleaner; with 0, survivors wait in memory while their segment is
    /// erased, as in the CAT paper
    #[arg(long, value_name = "N", default_value_t = 1)]
    reserve: u32,
    /// How much of the usable blocks holds data [list] [default: 90%]
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', conflicts_with = "alpha")]
    fill: Vec<String>,
    /// Physical blocks for each logical one, in place of --fill [list]
    #[arg(long, value_name = "A", value_delimiter = ',')]
    alpha: Vec<String>,
}

/// What is written.
#[derive(clap::Args, Debug)]
struct Work {
    /// sequential, random, locality:90/10, zipf:0.99 or trace:FILE [list]
    #[arg(long, value_name = "NAME", default_value = "random", value_delimiter = ',')]
    access: Vec<String>,
    /// Written after the filling and before counting: a size, or 8x the logical blocks
    #[arg(long, value_name = "AMOUNT", default_value = "0")]
    warm_up: String,
    /// Written while counting; of a trace all, once [default: 192M]
    #[arg(long, value_name = "AMOUNT")]
    write: Option<String>,
    /// The format of traces, in place of what they look like
    #[arg(long, value_name = "NAME", conflicts_with = "pattern")]
    format: Option<String>,
    /// Read traces by a regular expression with groups op, offset or sector, bytes or sectors, time, volume
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Number the blocks of a trace in the order in which they are first written
    #[arg(long)]
    compact: bool,
}

/// The three axes.
#[derive(clap::Args, Debug)]
struct Rules {
    /// Which segment is cleaned next [list]
    #[arg(long, value_name = "NAME", default_value = "default", value_delimiter = ',')]
    victim: Vec<String>,
    /// What is written beside what [list]
    #[arg(long, value_name = "NAME", default_value = "default", value_delimiter = ',')]
    placement: Vec<String>,
    /// How wear is spread [list]
    #[arg(long, value_name = "NAME", default_value = "default", value_delimiter = ',')]
    wear: Vec<String>,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let setups = combine::setups(self)?;
        let progress = Progress::counted("simulating");
        if let [setup] = setups.as_slice()
            && !self.csv
        {
            let record = simulate(setup, &progress)?;
            drop(progress);
            return match self.json {
                true => output::document("sim", json(&record)?),
                false => output::lines(show::one(&record)),
            };
        }
        let mut output = Output::new();
        let table = Table::new(&setups);
        if !self.json {
            output.line(if self.csv { Record::csv_head() } else { table.head() })?;
        }
        sweep(&setups, &progress, |_, record| {
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
