//! The errors of the laboratory.

use std::{io, path::PathBuf};

use pumice_cleaning::{SimError, registry::PolicyError};
use pumice_vfs::FsError;

use crate::{module::ModuleError, trace::TraceError, workload::PatternError};

/// The reasons for which a run was not made.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A trace cannot be read.
    #[error("{}: {error}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: TraceError,
    },
    /// A policy of a user's own fails.
    #[error("{}: {error}", path.display())]
    Module {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: ModuleError,
    },
    /// A trace cannot be played on this store.
    #[error("{}: {why}", path.display())]
    Unplayable {
        /// The file.
        path: PathBuf,
        /// The cause, and a hint.
        why: String,
    },
    /// The simulator refuses.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// No policy has this name.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// No workload has this name.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A file system under measurement fails.
    #[error("the file system that is measured: {0}")]
    Fs(#[from] FsError),
    /// The parameters contradict each other.
    #[error("{0}")]
    Setup(String),
    /// A picture cannot be drawn.
    #[error("cannot draw a picture: {0}")]
    Picture(String),
    /// A file of records or a report cannot be written or read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}
