//! The parameters of a run, in full: enough to make it again.

use pumice_cleaning::Params;
use serde::{Deserialize, Serialize};

use super::{Access, Setup};
use crate::trace::Reading;

/// The program that makes records: runs of different programs need not agree.
pub(crate) const PROGRAM: &str = concat!("pumice ", env!("CARGO_PKG_VERSION"));

/// All parameters of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The workload.
    pub access: String,
    /// The victim rule.
    pub victim: String,
    /// The placement.
    pub placement: String,
    /// The wear rule.
    pub wear: String,
    /// The seed.
    pub seed: u64,
    /// Bytes of all segments.
    pub flash_bytes: u64,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Blocks of a segment that hold its header.
    pub header_blocks: u32,
    /// Segments.
    pub segments: u32,
    /// Blocks of a segment that hold data.
    pub segment_blocks: u32,
    /// Blocks that the store offers.
    pub logical_blocks: u32,
    /// Physical over logical blocks.
    pub alpha: f64,
    /// Segments kept free for the cleaner.
    pub reserve: u32,
    /// Free segments up to which cleaning goes on once it has begun, if more than the reserve.
    pub high_water: u32,
    /// Segments cleaned at once.
    pub together: u32,
    /// Percent of dead blocks above which a segment is cleaned, if not only where room is short.
    pub garbage_percent: Option<u32>,
    /// Writes before counting, without the filling.
    pub warm_up_writes: u64,
    /// Writes to be counted; none if the store is written until it can take no more.
    pub writes: Option<u64>,
    /// The chip that gives the timing.
    pub chip: String,
    /// Erases that a segment withstands, if it wears out.
    pub endurance: Option<u32>,
    /// Arrivals of requests a second, if their times are asked for.
    pub rate_per_second: Option<f64>,
    /// SHA-256 of the trace's file as it is, packed or not, in hexadecimal.
    pub trace_sha256: Option<String>,
    /// The format of the trace: `detect`, a format's name, or a regular expression.
    pub trace_format: Option<String>,
    /// True if the blocks of the trace were numbered in the order of their first write.
    pub trace_compact: Option<bool>,
    /// SHA-256 of the file of a victim policy of one's own, in hexadecimal.
    pub victim_sha256: Option<String>,
    /// SHA-256 of the file of a placement of one's own.
    pub placement_sha256: Option<String>,
    /// The program and its version.
    pub program: String,
}

/// SHA-256 of the files that a run reads, in hexadecimal.
#[derive(Default)]
pub(super) struct Hashes {
    pub(super) trace: Option<String>,
    pub(super) victim: Option<String>,
    pub(super) placement: Option<String>,
}

impl Parameters {
    /// The parameters of a setup that makes this store and so many writes: before counting, and counted.
    pub(super) fn new(
        setup: &Setup,
        params: &Params,
        (warm_up, writes): (u64, u64),
        hashes: Hashes,
    ) -> Parameters {
        let store = &setup.store;
        let trace = match &setup.access {
            Access::Pattern(_) => None,
            Access::Trace(trace) => Some(trace),
        };
        Parameters {
            access: setup.access.name(),
            victim: setup.victim.name(),
            placement: setup.placement.name(),
            wear: setup.wear.to_string(),
            seed: setup.seed,
            flash_bytes: u64::from(params.segments) * store.segment,
            segment_bytes: store.segment,
            block_bytes: store.block,
            header_blocks: store.header,
            segments: params.segments,
            segment_blocks: params.pages,
            logical_blocks: params.logical,
            alpha: params.alpha(),
            reserve: params.reserve,
            high_water: params.high_water,
            together: params.together,
            garbage_percent: store.garbage,
            warm_up_writes: warm_up,
            writes: Some(writes).filter(|writes| *writes != u64::MAX),
            chip: setup.chip.name().to_owned(),
            endurance: setup.endurance,
            rate_per_second: setup.rate,
            trace_sha256: hashes.trace,
            trace_format: trace.map(|trace| match &trace.reading {
                Reading::Detect => "detect".to_owned(),
                Reading::As(format) => format.name.to_owned(),
                Reading::Pattern(pattern) => pattern.to_string(),
            }),
            trace_compact: trace.map(|trace| trace.compact),
            victim_sha256: hashes.victim,
            placement_sha256: hashes.placement,
            program: PROGRAM.to_owned(),
        }
    }
}
