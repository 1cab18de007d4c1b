//! The time that requests wait while the store cleans.

use pumice_cleaning::Stats;

use super::{QueueRecord, clock::Costs};
use crate::workload::Poisson;

/// A single server: requests arrive in a Poisson process and are served in order, each with the cleaning it set off.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    costs: Costs,
    arrivals: Poisson,
    /// The time at which the server has done all that came so far.
    idle_ns: u64,
    copied: u64,
    erased: u64,
    count: u64,
    sum_ns: u128,
    most_ns: u64,
}

impl Queue {
    /// A queue with `rate` requests a second.
    pub(super) fn new(costs: Costs, rate: f64, seed: u64) -> Self {
        let arrivals = Poisson::new(rate, seed);
        Self { costs, arrivals, idle_ns: 0, copied: 0, erased: 0, count: 0, sum_ns: 0, most_ns: 0 }
    }

    /// Serves one request; called after each write.
    pub(super) fn wrote(&mut self, stats: &Stats) {
        let copies = stats.blocks_copied - self.copied;
        let erases = stats.erasures - self.erased;
        (self.copied, self.erased) = (stats.blocks_copied, stats.erasures);
        let Costs { read, program, erase } = self.costs;
        let service_ns = program + copies * (read + program) + erases * erase;
        let arrival_ns = self.arrivals.next().unwrap_or(u64::MAX);
        self.idle_ns = self.idle_ns.max(arrival_ns).saturating_add(service_ns);
        let response_ns = self.idle_ns - arrival_ns;
        self.count += 1;
        self.sum_ns += u128::from(response_ns);
        self.most_ns = self.most_ns.max(response_ns);
    }

    pub(super) fn record(&self) -> QueueRecord {
        let mean = self.sum_ns / u128::from(self.count.max(1));
        QueueRecord {
            response_mean_ns: u64::try_from(mean).unwrap_or(u64::MAX),
            response_max_ns: self.most_ns,
        }
    }
}
