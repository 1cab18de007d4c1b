//! The number of logs, of the six, that are written to.

use super::head::Log;
use crate::layout::Features;

/// The fineness of sorting blocks by temperature (F2FS paper, 2.4). Linux calls it `active_logs`. All six logs stay
/// open; the unused ones keep their segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Streams {
    /// Hot, warm and cold, of data and of nodes.
    #[default]
    Six,
    /// Two of data: hot, and all else; two of nodes: direct ones of files, and all else.
    Four,
    /// The same with data divided elsewhere: cold, and all else.
    FourByCold,
    /// One of data and one of nodes. Every fsync makes a checkpoint: rolling forward follows nodes of files alone.
    Two,
}

impl Streams {
    /// All, by their numbers.
    pub const NAMED: [(&'static str, Streams); 4] =
        [("6", Streams::Six), ("4", Streams::Four), ("4-cold", Streams::FourByCold), ("2", Streams::Two)];

    /// Those of a new volume: one that will only be read has two.
    pub(crate) fn of_new(features: Features) -> Streams {
        if features.has(Features::RO) { Streams::Two } else { Streams::Six }
    }

    /// The log that takes the blocks of another.
    pub(crate) fn log(self, log: Log) -> Log {
        match (self, log) {
            (Streams::Two, log) if log.is_node() => Log::HotNode,
            (Streams::Two, _) => Log::HotData,
            (Streams::Four, Log::WarmData) => Log::ColdData,
            (Streams::FourByCold, Log::HotData) => Log::WarmData,
            (Streams::Four | Streams::FourByCold, Log::HotNode) => Log::ColdNode,
            (Streams::Six | Streams::Four | Streams::FourByCold, log) => log,
        }
    }

    /// True if the nodes of files have a log of their own, so that writes of fsync can be rolled forward.
    pub(super) fn has_chain(self) -> bool {
        self != Streams::Two
    }
}
