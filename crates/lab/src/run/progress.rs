//! How far runs are.

/// Told how far the runs are, by several threads.
pub trait Progress: Sync {
    /// So many writes will be made.
    fn expect(&self, writes: u64);

    /// So many more writes were made.
    fn done(&self, writes: u64);
}

/// Nobody wants to know.
impl Progress for () {
    fn expect(&self, _writes: u64) {}

    fn done(&self, _writes: u64) {}
}
