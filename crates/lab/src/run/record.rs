//! The result of a run.

use pumice_cleaning::{Stats, WearStats};
use serde::{Deserialize, Serialize};

use super::{Parameters, clock::Costs};

/// Bins of the histogram of victims.
const BINS: u64 = 20;

/// One run: its parameters and its counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The parameters of the run.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// Blocks that users wrote.
    pub user_writes: u64,
    /// Blocks that users read.
    pub user_reads: u64,
    /// Blocks that users trimmed.
    pub user_trims: u64,
    /// Segments erased.
    pub erasures: u64,
    /// Blocks copied by the cleaner and for wear.
    pub blocks_copied: u64,
    /// Those of them that were copied for wear.
    pub blocks_relocated: u64,
    /// Blocks written for each that users wrote.
    pub waf: f64,
    /// Mean erases of a segment, since it was new.
    pub wear_mean: f64,
    /// Their standard deviation: the paper's degree of uneven wearing.
    pub wear_stddev: f64,
    /// The fewest.
    pub wear_min: u32,
    /// The most.
    pub wear_max: u32,
    /// Mean part of a victim that was live.
    pub victim_utilization_mean: f64,
    /// Victims by the part that was live: from 0 to below 5 %, and so on; wholly live ones count as the last.
    pub victim_utilization: Vec<u64>,
    /// Device time.
    #[serde(flatten)]
    pub time: TimeSplit,
    /// The lifetime, if an endurance was given.
    #[serde(flatten)]
    pub lifetime: Option<LifetimeRecord>,
    /// The times of requests, if a rate was given.
    #[serde(flatten)]
    pub queue: Option<QueueRecord>,
    /// The copies of read-only data, if the workload has such.
    #[serde(flatten)]
    pub read_only: Option<ReadOnlyRecord>,
}

/// The time of a chip, divided by operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSplit {
    /// Nanoseconds of reading, for users and cleaner.
    pub read_ns: u64,
    /// Nanoseconds of programming.
    pub program_ns: u64,
    /// Nanoseconds of erasing.
    pub erase_ns: u64,
}

/// The deaths of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifetimeRecord {
    /// Segments that died.
    pub dead_segments: u32,
    /// Bytes that users had written when the first died.
    pub first_death_bytes: Option<u64>,
    /// - when 1 % were dead.
    pub one_percent_bytes: Option<u64>,
    /// - when there was no room any more.
    pub exhausted_bytes: Option<u64>,
}

/// The times of requests from arrival to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRecord {
    /// Mean.
    pub response_mean_ns: u64,
    /// Longest.
    pub response_max_ns: u64,
}

/// The copies of data that is only filled and never written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOnlyRecord {
    /// Blocks of it.
    pub read_only_blocks: u32,
    /// Copies of them by the cleaner.
    pub read_only_copied: u64,
}

/// The simulator's state at the end of a run.
pub(super) struct Outcome<'a> {
    pub(super) stats: &'a Stats,
    pub(super) wear: WearStats,
    pub(super) user_reads: u64,
    pub(super) costs: Costs,
}

impl Record {
    pub(super) fn new(parameters: Parameters, outcome: &Outcome<'_>) -> Record {
        let Outcome { stats, wear, costs, .. } = outcome;
        let (utilization, histogram) = victims(&stats.victims);
        Record {
            parameters,
            user_writes: stats.user_writes,
            user_reads: outcome.user_reads,
            user_trims: stats.trims,
            erasures: stats.erasures,
            blocks_copied: stats.blocks_copied,
            blocks_relocated: stats.relocated,
            waf: stats.waf(),
            wear_mean: wear.mean,
            wear_stddev: wear.stddev,
            wear_min: wear.min,
            wear_max: wear.max,
            victim_utilization_mean: utilization,
            victim_utilization: histogram,
            time: TimeSplit {
                read_ns: (stats.blocks_copied + outcome.user_reads).saturating_mul(costs.read),
                program_ns: (stats.user_writes + stats.blocks_copied).saturating_mul(costs.program),
                erase_ns: stats.erasures.saturating_mul(costs.erase),
            },
            lifetime: None,
            queue: None,
            read_only: None,
        }
    }
}

/// Mean and histogram of the utilization of victims, from their numbers by live blocks.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn victims(by_live: &[u64]) -> (f64, Vec<u64>) {
    let capacity = (by_live.len() as u64).saturating_sub(1).max(1);
    let mut bins = vec![0; usize::try_from(BINS).unwrap_or(0)];
    let (mut count, mut live_sum) = (0, 0);
    for (live, number) in (0_u64..).zip(by_live) {
        let bin = (live * BINS / capacity).min(BINS - 1);
        if let Some(bin) = usize::try_from(bin).ok().and_then(|bin| bins.get_mut(bin)) {
            *bin += number;
        }
        count += number;
        live_sum += live * number;
    }
    (live_sum as f64 / (count.max(1) * capacity) as f64, bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_fall_into_bins_of_five_percent() {
        let mut by_live = vec![0; 41];
        (by_live[0], by_live[1], by_live[2], by_live[39], by_live[40]) = (4, 1, 1, 1, 1);
        let (mean, bins) = victims(&by_live);
        assert_eq!((bins[0], bins[1], bins[19], bins.iter().sum::<u64>()), (5, 1, 2, 8));
        assert!((mean - 82.0 / 320.0).abs() < 1e-12);
        assert!(victims(&[3]).0.abs() < 1e-12);
    }
}
