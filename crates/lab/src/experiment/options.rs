//! Options of a run of experiments.

use std::path::PathBuf;

/// Options for all experiments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each point, from 1.
    pub seeds: u64,
    /// The directory of traces; each file is one.
    pub traces: PathBuf,
    /// Run every point, also those on record.
    pub fresh: bool,
}
