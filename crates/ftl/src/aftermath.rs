//! The traces of a power cut that a start found, as far as they are of use after it.

use crate::error::Missing;
use crate::gaps::Doubted;
use crate::survey::Surveys;
use crate::unsure::Unsure;

/// The traces.
#[derive(Default)]
pub(crate) struct Aftermath {
    /// Segments that this start has read.
    pub(crate) surveys: Surveys,
    /// The newest page, if it could not be read after a power cut, and its blocks.
    pub(crate) doubted: Option<Doubted>,
    /// The newest page, if it could be read after a power cut, and its blocks.
    pub(crate) unsure: Unsure,
    /// Pages that were complete, cannot be read, and are not named by others.
    pub(crate) missing: Option<Missing>,
}
