//! Progress of runs.

/// Receives the progress of runs, from several threads.
pub trait Progress: Sync {
    /// So many writes will be made.
    fn expect(&self, writes: u64);

    /// So many more writes were made.
    fn done(&self, writes: u64);
}

/// Ignores it.
impl Progress for () {
    fn expect(&self, _writes: u64) {}

    fn done(&self, _writes: u64) {}
}
