//! The source of the writes: a generated workload or a trace.

use std::{fmt, path::PathBuf};

use crate::{trace::Reading, workload::Workload};

/// The source of the pages.
#[derive(Clone, Debug)]
pub enum Access {
    /// Generated from a seed.
    Pattern(Workload),
    /// Read from a file.
    Trace(TraceFile),
}

/// A trace to replay.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its format.
    pub reading: Reading,
    /// Pages are renumbered in the order in which they are first written; volumes are kept apart. Without it the
    /// addresses are those of one volume.
    pub compact: bool,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(pattern) => pattern.fmt(f),
            Self::Trace(trace) => write!(f, "trace:{}", trace.path.display()),
        }
    }
}

impl Access {
    /// Its name in a record: of a trace the file's alone, for its bytes decide, not its place.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Pattern(pattern) => pattern.to_string(),
            Self::Trace(trace) => {
                let file = trace.path.file_name().unwrap_or(trace.path.as_os_str());
                format!("trace:{}", file.display())
            }
        }
    }
}
