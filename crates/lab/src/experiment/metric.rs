//! Metrics of a record.

use super::Outcome;
use crate::{measured::Figure, run::Record};

/// A figure of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Segments erased.
    Erasures,
    /// Blocks copied.
    Copied,
    /// Copies of each block of read-only data.
    ReadOnlyCopies,
    /// Write amplification.
    Waf,
    /// Bytes a second that users could write if the chip did nothing else than it had to.
    Throughput,
    /// The same by the times that the CAT paper's own figures imply.
    ThroughputImplied,
    /// Percent of the chip's time that erasing takes.
    TimeErasing,
    /// The same by the implied times.
    TimeErasingImplied,
    /// Percent that copying takes.
    TimeCopying,
    /// Standard deviation of the erases of segments.
    WearDeviation,
    /// Most erases over mean erases.
    WearPeak,
    /// GiB written until the first segment died.
    FirstDeath,
    /// GiB written until 1 % were dead.
    OnePercent,
    /// GiB written until there was no room.
    Exhausted,
    /// A figure of a file system.
    Measured(Figure),
}

impl Metric {
    /// Those of the simulator.
    pub const SIMULATED: [Metric; 14] = [
        Metric::Waf,
        Metric::Erasures,
        Metric::Copied,
        Metric::ReadOnlyCopies,
        Metric::Throughput,
        Metric::ThroughputImplied,
        Metric::TimeErasing,
        Metric::TimeErasingImplied,
        Metric::TimeCopying,
        Metric::WearDeviation,
        Metric::WearPeak,
        Metric::FirstDeath,
        Metric::OnePercent,
        Metric::Exhausted,
    ];

    /// Its name as part of a file name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Erasures => "erasures",
            Self::Copied => "copied",
            Self::ReadOnlyCopies => "read-only-copies",
            Self::Waf => "waf",
            Self::Throughput => "throughput",
            Self::ThroughputImplied => "throughput-implied",
            Self::TimeErasing => "time-erasing",
            Self::TimeErasingImplied => "time-erasing-implied",
            Self::TimeCopying => "time-copying",
            Self::WearDeviation => "wear-deviation",
            Self::WearPeak => "wear-peak",
            Self::FirstDeath => "first-death",
            Self::OnePercent => "one-percent",
            Self::Exhausted => "exhausted",
            Self::Measured(figure) => figure.name(),
        }
    }

    /// Its name as the head of a column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Erasures => "erasures",
            Self::Copied => "blocks copied",
            Self::ReadOnlyCopies => "copies of each read-only block",
            Self::Waf => "write amplification",
            Self::Throughput => "throughput (KiB/s)",
            Self::ThroughputImplied => "throughput by implied times (KiB/s)",
            Self::TimeErasing => "time for erasing (%)",
            Self::TimeErasingImplied => "time for erasing by implied times (%)",
            Self::TimeCopying => "time for copying (%)",
            Self::WearDeviation => "standard deviation of wear",
            Self::WearPeak => "most over mean wear",
            Self::FirstDeath => "GiB until the first death",
            Self::OnePercent => "GiB until 1 % are dead",
            Self::Exhausted => "GiB until there is no room",
            Self::Measured(figure) => figure.title(),
        }
    }

    /// Digits after the point that are worth showing.
    pub fn digits(self) -> usize {
        match self {
            Self::Erasures | Self::Copied | Self::Throughput => 0,
            Self::TimeErasing | Self::TimeErasingImplied | Self::TimeCopying => 1,
            Self::Waf | Self::WearPeak => 3,
            Self::WearDeviation
            | Self::ThroughputImplied
            | Self::FirstDeath
            | Self::OnePercent
            | Self::Exhausted
            | Self::ReadOnlyCopies => 2,
            Self::Measured(figure) => figure.digits(),
        }
    }

    /// The figure; `None` if the outcome has none.
    pub fn of(self, outcome: &Outcome) -> Option<f64> {
        match outcome {
            Outcome::Simulated(record) => self.simulated(record),
            Outcome::Measured(measured) => measured.figures.get(self.name()).copied(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "for the eye")]
    fn simulated(self, record: &Record) -> Option<f64> {
        let gib = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / f64::from(1 << 30));
        let lifetime = record.lifetime.as_ref();
        match self {
            Self::Erasures => Some(record.erasures as f64),
            Self::Copied => Some(record.blocks_copied as f64),
            Self::ReadOnlyCopies => {
                let found = record.read_only?;
                Some(found.read_only_copied as f64 / f64::from(found.read_only_blocks))
            }
            Self::Waf => Some(record.waf),
            Self::Throughput => {
                let time = &record.time;
                let seconds = (time.read_ns + time.program_ns + time.erase_ns) as f64 / 1e9;
                Some((record.user_writes * record.parameters.block_bytes) as f64 / 1024.0 / seconds.max(1e-9))
            }
            Self::ThroughputImplied => {
                let (writing, erasing) = implied(record);
                let bytes = record.user_writes * record.parameters.block_bytes;
                Some(bytes as f64 / 1024.0 / (writing + erasing).max(1e-9))
            }
            Self::TimeErasingImplied => {
                let (writing, erasing) = implied(record);
                Some(100.0 * erasing / (writing + erasing).max(1e-9))
            }
            Self::TimeErasing => {
                let time = &record.time;
                let all = (time.read_ns + time.program_ns + time.erase_ns) as f64;
                Some(100.0 * time.erase_ns as f64 / all)
            }
            Self::TimeCopying => {
                // Users read nothing; the cleaner has its share of the programs.
                let (time, copied) = (&record.time, record.blocks_copied as f64);
                let all = (time.read_ns + time.program_ns + time.erase_ns) as f64;
                let share = copied / (copied + record.user_writes as f64);
                Some(100.0 * (time.read_ns as f64 + time.program_ns as f64 * share) / all)
            }
            Self::WearDeviation => Some(record.wear_stddev),
            Self::WearPeak => Some(f64::from(record.wear_max) / record.wear_mean.max(1e-9)),
            Self::FirstDeath => gib(lifetime?.first_death_bytes),
            Self::OnePercent => gib(lifetime?.one_percent_bytes),
            Self::Exhausted => gib(lifetime?.exhausted_bytes),
            Self::Measured(_) => None,
        }
    }
}

/// Seconds of writing and of erasing, by the times that solve two figures of the CAT paper's Pentium. Greedy's sequential
/// writes take 134,441 bytes/s with 1,567 erases for 192 MiB (table 4), and cleaning 72.06 % of that time (figure 11).
#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn implied(record: &Record) -> (f64, f64) {
    const BYTE: f64 = (1.0 - 0.7206) / 134_441.0;
    const ERASE: f64 = 0.7206 / 134_441.0 * 192.0 * 1_048_576.0 / 1567.0;
    let written = (record.user_writes + record.blocks_copied) * record.parameters.block_bytes;
    (written as f64 * BYTE, record.erasures as f64 * ERASE)
}
