//! Failures of a verb: one line for stderr and an exit code.

use std::{fmt, io, path::Path};

use pumice_lab::{LabError, trace::TraceError};
use pumice_vfs::FsError;

/// Exit codes that are everybody's.
pub(crate) mod code {
    /// Something failed while running.
    pub(crate) const FAILED: u8 = 1;
    /// The command line is invalid.
    pub(crate) const USAGE: u8 = 2;
    /// Added to the number of a signal, as shells do.
    pub(crate) const SIGNALLED: u8 = 128;
}

/// Letters of a path of the host that are shown.
const PATH_SHOWN: usize = 400;

/// One line and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

/// The result of every verb.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure while running.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: code::FAILED }
    }

    /// An invalid command line, where the parser alone cannot tell.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: code::USAGE }
    }

    /// A signal that asked to end.
    pub(crate) fn interrupted(signal: u8) -> Failure {
        Failure { message: "interrupted".into(), code: code::SIGNALLED + signal }
    }

    /// The same, followed by the measure taken.
    pub(crate) fn and(self, then: &str) -> Failure {
        Failure { message: format!("{}; {then}", self.message), ..self }
    }

    /// The same, with one path named in place of another.
    pub(crate) fn with_path(&self, path: &Path, named: &Path) -> Failure {
        let (path, named) = (path.to_string_lossy(), named.to_string_lossy());
        Failure { message: self.message.replace(&*path, &named), ..*self }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// A failed system call on a path of the host.
    pub(crate) fn host(path: &Path, error: &io::Error) -> Failure {
        Failure::new(format!("{}: {}", shortened(path), host_reason(error)))
    }

    /// A failed file system call on a name in an image.
    pub(crate) fn inside(name: &[u8], error: &FsError) -> Failure {
        Failure::new(format!("{}: {error}", crate::text::name(name)))
    }
}

/// A path of a host without its middle, where it is too long for a line.
fn shortened(path: &Path) -> String {
    let text = path.to_string_lossy();
    let letters = text.chars().count();
    if letters <= PATH_SHOWN {
        return text.into_owned();
    }
    let part = PATH_SHOWN / 2;
    let (first, last): (String, String) =
        (text.chars().take(part).collect(), text.chars().skip(letters - part).collect());
    format!("{first}...{last}")
}

/// The system's message without its number, in lower case.
pub(crate) fn host_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::line(self.message.trim()))
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match &error {
            LabError::File { path, error } | LabError::Trace { path, error: TraceError::Io(error) } => {
                Failure::host(path, error)
            }
            _ => Failure::new(error.to_string()),
        }
    }
}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Failure {
        Failure::new(error.to_string())
    }
}
