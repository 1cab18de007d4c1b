//! How a volume is mounted.

use pumice_f2fs::{InPlace, Logging, Streams};

/// What is chosen at a mount.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mount {
    /// Where logs go on.
    pub logging: Logging,
    /// What is written over where it stands.
    pub in_place: InPlace,
    /// How many logs are written to.
    pub streams: Streams,
}
