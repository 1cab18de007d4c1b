//! What whoever runs an experiment may choose.

use std::path::PathBuf;

/// Choices that hold for all experiments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each point, from 1; what has no lot to draw runs once.
    pub seeds: u64,
    /// The directory of traces; each file is one.
    pub traces: PathBuf,
    /// Run every point, also those on record.
    pub fresh: bool,
}
