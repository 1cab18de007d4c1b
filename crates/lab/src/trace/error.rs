//! The errors of a trace.

use std::io;

/// The reason why a trace cannot be read, and the place.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened or read, or its compression is damaged.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is not of the format.
    #[error("line {line}, read as {format}: {problem}")]
    Line {
        /// The line, from 1, after decompression.
        line: u64,
        /// The format read.
        format: &'static str,
        /// The fault of the line.
        problem: Problem,
    },
    /// A line is longer than any record.
    #[error("line {line} is longer than {most} bytes: not a trace in text form")]
    Long {
        /// The line, from 1.
        line: u64,
        /// Bytes a line may have.
        most: usize,
    },
    /// The first lines are of no known format.
    #[error("the first lines are of no known trace format (known: {known})")]
    Unknown {
        /// The names of the known ones.
        known: String,
    },
    /// No format has this name.
    #[error("unknown trace format `{name}` (known: {known})")]
    UnknownName {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A user's regular expression does not serve.
    #[error("bad pattern: {0}")]
    Pattern(String),
}

/// The fault of a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It ends before this field.
    #[error("no {0}")]
    Missing(&'static str),
    /// A field has an unexpected value.
    #[error("{field} is `{text}`, want {want}")]
    Field {
        /// The field.
        field: &'static str,
        /// The field's text, cut to 40 letters.
        text: String,
        /// The expected value.
        want: &'static str,
    },
    /// The line as a whole is not of the format.
    #[error("want {0}")]
    Line(&'static str),
}

impl Problem {
    /// A wrong field.
    pub(super) fn field(field: &'static str, text: &str, want: &'static str) -> Problem {
        Problem::Field { field, text: text.chars().take(40).collect(), want }
    }
}
