//! A server's counters, and the kind of its start.

/// The kind of a server's start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The disk was closed: the checkpoint was enough.
    Checkpoint,
    /// The power was cut: the checkpoint and the headers of everything written since.
    Recovered,
    /// No checkpoint can be read: the headers of all segments.
    Headers,
}

/// The work done, counted in logical blocks unless said otherwise. The first four are kept over restarts, as far as the
/// last checkpoint knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Written by users.
    pub user_writes: u64,
    /// Copied by the cleaner, moved for wear, or moved out of failing segments.
    pub copied: u64,
    /// Segments erased.
    pub erases: u64,
    /// Trimmed.
    pub trimmed: u64,
    /// Those of the copied ones that were moved for wear, since the start.
    pub relocated: u64,
    /// Segments cleaned since the start.
    pub cleaned: u64,
}

impl Counters {
    /// Write amplification: blocks written to the chip for each that a user wrote; 1 if nothing was.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn waf(&self) -> f64 {
        if self.user_writes == 0 {
            return 1.0;
        }
        (self.user_writes + self.copied) as f64 / self.user_writes as f64
    }
}
