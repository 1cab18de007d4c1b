//! Options of a run of experiments.

use std::path::PathBuf;

/// Seeds of a point, at most: the list of runs is in memory.
pub const SEEDS_MAX: u64 = 10_000;

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
