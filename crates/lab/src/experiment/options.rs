//! What whoever runs an experiment may choose.

use std::path::PathBuf;

/// Choices that hold for all experiments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each point, from 1; what has no lot to draw runs once.
    pub seeds: u64,
    /// Where traces lie; each file is one.
    pub traces: PathBuf,
}
