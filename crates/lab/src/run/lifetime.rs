//! The lifetime of a store.

use pumice_cleaning::Stats;

use super::LifetimeRecord;

/// Watches segments die.
#[derive(Clone, Debug)]
pub(super) struct Lifetime {
    block: u64,
    one_percent: u32,
    record: LifetimeRecord,
}

impl Lifetime {
    /// A store of `segments`, written in blocks of `block` bytes.
    pub(super) fn new(segments: u32, block: u64) -> Self {
        Self { block, one_percent: segments.div_ceil(100), record: LifetimeRecord::default() }
    }

    /// Takes note of deaths; called after each write.
    #[inline]
    pub(super) fn wrote(&mut self, stats: &Stats) {
        if stats.deaths == self.record.dead_segments {
            return;
        }
        self.record.dead_segments = stats.deaths;
        let bytes = stats.user_writes * self.block;
        self.record.first_death_bytes.get_or_insert(bytes);
        if stats.deaths >= self.one_percent {
            self.record.one_percent_bytes.get_or_insert(bytes);
        }
    }

    /// No more can be written.
    pub(super) fn exhausted(&mut self, stats: &Stats) {
        self.wrote(stats);
        self.record.exhausted_bytes = Some(stats.user_writes * self.block);
    }

    pub(super) fn record(&self) -> LifetimeRecord {
        self.record
    }
}
