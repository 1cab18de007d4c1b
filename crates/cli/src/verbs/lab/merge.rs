//! `pumice lab merge`: puts the records of several directories into one.

use std::path::PathBuf;

use pumice_lab::experiment::merge;

use super::description::{Description, with};
use crate::{
    failure::{Failure, Outcome},
    output,
};

/// Put the records of several directories into one
///
/// The parts that `pumice lab run --shard` made become what one run makes, to the byte. Records that are there stay.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Directories of records
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// Directory to add them to
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
    /// Directory of trace files
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
}

impl Args {
    pub(crate) fn run(&self) -> Outcome {
        let described = Description::beside(&self.dirs, &self.traces)?;
        let merged = merge(&with(&described), &self.dirs, &self.out, &self.traces)?;
        if merged.is_empty() {
            return Err(Failure::new("no records in these directories; `pumice lab run --shard` makes some"));
        }
        described.iter().try_for_each(|description| description.keep(&self.out))?;
        output::lines(merged.iter().map(|(name, records)| format!("{name}: {records} records")))
    }
}
