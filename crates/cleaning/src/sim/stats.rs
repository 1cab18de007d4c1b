//! The counters of a simulation.

use alloc::{vec, vec::Vec};

use super::Params;

/// Counts of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Pages that users wrote.
    pub user_writes: u64,
    /// Pages that users trimmed.
    pub trims: u64,
    /// Segments erased.
    pub erasures: u64,
    /// Pages copied, by the cleaner and for wear.
    pub blocks_copied: u64,
    /// Pages of them that were copied for wear.
    pub relocated: u64,
    /// Segments that reached their endurance.
    pub deaths: u32,
    /// Entry v counts the segments cleaned with v live pages.
    pub victims: Vec<u64>,
}

impl Stats {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            user_writes: 0,
            trims: 0,
            erasures: 0,
            blocks_copied: 0,
            relocated: 0,
            deaths: 0,
            victims: vec![0; params.pages as usize + 1],
        }
    }

    pub(super) fn victim(&mut self, valid: u32) {
        if let Some(count) = self.victims.get_mut(valid as usize) {
            *count += 1;
        }
    }

    /// Write amplification: pages written per page that users wrote; 1 if they wrote none.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub fn waf(&self) -> f64 {
        1.0 + self.blocks_copied as f64 / (self.user_writes as f64).max(1.0)
    }
}

/// Erase counts over the segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WearStats {
    /// Mean.
    pub mean: f64,
    /// Standard deviation: the paper's degree of uneven wearing.
    pub stddev: f64,
    /// Least.
    pub min: u32,
    /// Most.
    pub max: u32,
}

impl WearStats {
    pub(super) fn of(erases: impl Iterator<Item = u32> + Clone) -> Self {
        let count = erases.clone().map(|_| 1.0).sum::<f64>().max(1.0);
        let mean = erases.clone().map(f64::from).sum::<f64>() / count;
        let variance =
            erases.clone().map(|e| (f64::from(e) - mean) * (f64::from(e) - mean)).sum::<f64>() / count;
        let (min, max) = (erases.clone().min().unwrap_or(0), erases.max().unwrap_or(0));
        Self { mean, stddev: libm::sqrt(variance), min, max }
    }
}
