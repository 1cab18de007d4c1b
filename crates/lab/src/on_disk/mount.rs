//! Options of a mount.

use pumice_f2fs::{InPlace, Logging, Streams};

/// The options of a mount.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mount {
    /// The choice of the next segment of a log.
    pub logging: Logging,
    /// The writes that are made in place.
    pub in_place: InPlace,
    /// The number of logs.
    pub streams: Streams,
}
