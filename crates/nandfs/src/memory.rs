//! Memory for caches: what can be dropped has its share, and changes are written before they take more than theirs.

use crate::files::Files;
use crate::log::Log;

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

    /// All of it, in bytes.
    pub(crate) fn budget(&self) -> usize {
        self.budget
    }
}

impl Files {
    /// Keeps the caches within their budget; runs before any call.
    pub(crate) fn look(&mut self, log: &mut Log<'_>) {
        self.memory.calls = self.memory.calls.wrapping_add(1);
        if self.memory.calls.is_multiple_of(TRIM_EVERY) || self.is_bloated(log) {
            self.trim(log);
        }
    }

    /// Memory that waits to be written, in bytes.
    fn unwritten(&self, log: &Log<'_>) -> usize {
        let nodes = self.nodes.dirty() * (log.params.fanout() as usize * 8 + 200);
        let tables = (self.nodes.table.overlay.len() + log.blocks.table.overlay.len()) * 40;
        nodes + tables + self.cache.dirty_bytes()
    }

    /// An eighth of the memory left for droppable data.
    fn share(&self, log: &Log<'_>) -> usize {
        self.memory.budget.saturating_sub(self.unwritten(log)).max(self.memory.budget / 4) / 8
    }

    /// Brings the caches back into the budget.
    pub(crate) fn trim(&mut self, log: &mut Log<'_>) {
        let share = self.share(log);
        self.nodes.trim(self.memory.budget / 8 * 3);
        self.nodes.table.trim(share);
        log.blocks.table.trim(share);
        self.cache.trim(self.cache.dirty_bytes() + share * 2);
        log.pages.medium_mut().set_kept(share / 2 / log.params.payload as usize);
    }

    /// True if some cache holds more droppable data than its share.
    fn is_bloated(&self, log: &Log<'_>) -> bool {
        let share = self.share(log);
        self.cache.clean_bytes() > share * 2
            || self.nodes.table.cached_bytes() > share
            || log.blocks.table.cached_bytes() > share
    }

    /// True if unwritten changes take more than their share of memory.
    pub(crate) fn is_laden(&self, log: &Log<'_>) -> bool {
        self.unwritten(log) > self.memory.budget / 4 * 3
    }
}
