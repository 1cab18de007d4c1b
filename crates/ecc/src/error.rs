//! The errors of calls, and errors beyond a code.

use core::fmt;

use crate::limits::{LONGEST_PAGE, MOST_PARITY};

/// The reason why a code could not be made or used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CodeError {
    /// A page has another length than the code was made for, in bytes.
    Length {
        /// Bytes of the page.
        found: usize,
        /// Bytes that were expected.
        expected: usize,
    },
    /// A page that is empty, of an odd number of bytes, or longer than a code can take, in bytes.
    PageSize(usize),
    /// A number of parity pages other than 1 to [`MOST_PARITY`].
    ParityPages(usize),
    /// More errors than the code can correct.
    Uncorrectable,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { found, expected } => {
                write!(f, "a page of {found} bytes where {expected} are expected")
            }
            Self::PageSize(bytes) => {
                write!(f, "no code for pages of {bytes} bytes (want an even number, to {LONGEST_PAGE})")
            }
            Self::ParityPages(pages) => {
                write!(f, "no code with {pages} parity pages (want 1 to {MOST_PARITY})")
            }
            Self::Uncorrectable => write!(f, "more errors than the code can correct"),
        }
    }
}

impl core::error::Error for CodeError {}
