//! Linux's file systems on the same disk: figures measured by [`PEERS`] in QEMU, and kept here.

use serde::{Deserialize, Serialize};

use super::{Known, Metric};
use crate::measured::{Figure, RequestMap};

/// The command that measures them.
pub const PEERS: &str = "cargo run --release -p xtask-peers";

/// One figure a line: experiment, file system, workload, figure, value, day. Several lines may have the same place: runs
/// of which mean and range are shown.
const MEASURED: &str = include_str!("peers.csv");

/// Maps of requests, one a line.
const MAPS: &str = include_str!("peers.jsonl");

/// The requests of one of Linux's file systems to its disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerMap {
    /// The experiment.
    pub experiment: String,
    /// The file system.
    pub file_system: String,
    /// The workload.
    pub workload: String,
    /// The day on which it was measured.
    pub date: String,
    /// Its requests.
    pub map: RequestMap,
}

/// Figures that are measured so.
const FIGURES: [Figure; 21] = [
    Figure::Mount,
    Figure::WriteRate,
    Figure::ReadRate,
    Figure::WriteShare,
    Figure::ReadShare,
    Figure::Latency,
    Figure::ReadTime,
    Figure::Written,
    Figure::Time,
    Figure::Space,
    Figure::Erases,
    Figure::Programs,
    Figure::TransactionRate,
    Figure::ExtraWrites,
    Figure::HotBlocks,
    Figure::Writes,
    Figure::WriteMean,
    Figure::WritesLarge,
    Figure::Discards,
    Figure::DiscardsSmall,
    Figure::DiscardedShare,
];

/// The figures that belong to an experiment.
pub(super) fn peers(experiment: &str) -> Vec<Known> {
    MEASURED
        .lines()
        .filter_map(|line| known(line).filter(|_| line.split(',').next() == Some(experiment)))
        .collect()
}

/// The maps that belong to an experiment.
pub(crate) fn maps(experiment: &str) -> Vec<PeerMap> {
    // The test below reads every line: none is left out.
    let maps = MAPS.lines().filter_map(|line| serde_json::from_str::<PeerMap>(line).ok());
    maps.filter(|map| map.experiment == experiment).collect()
}

fn known(line: &'static str) -> Option<Known> {
    let [_, series, x, figure, value, date] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
    let figure = FIGURES.into_iter().find(|known| known.name() == figure)?;
    Some(Known { series, x, metric: Metric::Measured(figure), value: value.parse().ok()?, kept: Some(date) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_figure() {
        for line in MEASURED.lines().skip(1) {
            assert!(known(line).is_some(), "{line}");
        }
        assert!(!peers("f2fs-fig3").is_empty() && !peers("f2fs-fig4").is_empty());
        for line in MAPS.lines() {
            serde_json::from_str::<PeerMap>(line).unwrap();
        }
        let of_the_file_server = maps("f2fs-fig5").into_iter().filter(|map| map.workload == "fileserver");
        assert_eq!(of_the_file_server.count(), 4);
    }
}
