//! Errors of a simulation.

use core::fmt;

/// The reason why a simulation did not start or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The parameters make no store.
    Parameters(&'static str),
    /// A page that the store does not have.
    PageOutOfRange {
        /// The page asked for.
        page: u32,
        /// Logical pages of the store.
        pages: u32,
    },
    /// No segment is free and none has anything to reclaim.
    Full {
        /// Live pages.
        live: u32,
        /// Segments that reached their endurance.
        dead_segments: u32,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters(why) => f.write_str(why),
            Self::PageOutOfRange { page, pages } => write!(f, "page {page} of a store of {pages} pages"),
            Self::Full { live, dead_segments } => {
                write!(f, "nothing left to reclaim ({live} live pages, {dead_segments} dead segments)")
            }
        }
    }
}

impl core::error::Error for SimError {}
