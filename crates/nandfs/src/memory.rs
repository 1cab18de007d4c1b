//! Memory for caches.

/// Calls between two looks at the size of the caches.
const TRIM_EVERY: u32 = 256;

/// Memory for caches.
pub(crate) struct Memory {
    budget: usize,
    /// Calls so far: not each looks at the size of the caches.
    calls: u32,
}

impl Memory {
    /// So many bytes.
    pub(crate) fn new(budget: usize) -> Memory {
        Memory { budget, calls: 0 }
    }

    /// A call begins; true if it looks at the size of the caches, whatever that is.
    pub(crate) fn begin_call(&mut self) -> bool {
        self.calls = self.calls.wrapping_add(1);
        self.calls.is_multiple_of(TRIM_EVERY)
    }

    /// All of it, in bytes.
    pub(crate) fn budget(&self) -> usize {
        self.budget
    }
}
