//! A setup in pages and writes, before it is run.

use std::collections::HashMap;
use std::path::PathBuf;

use pumice_cleaning::Params;

use super::{
    Access, Setup, TraceFile,
    events::{Event, Events},
};
use crate::LabError;

/// What a run will do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// The store.
    pub(super) params: Params,
    /// Writes before counting.
    pub(super) warm_up: u64,
    /// Writes that are counted.
    pub(super) writes: u64,
}

/// What a trace writes.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    writes: u64,
    /// Pages from 0 that hold all it writes.
    pages: u32,
}

/// Plans runs; reads each trace once for all of them.
#[derive(Debug, Default)]
pub(super) struct Planner {
    scans: HashMap<(PathBuf, u64, bool), Scan>,
}

impl Planner {
    /// The plan of `setup`.
    pub(super) fn plan(&mut self, setup: &Setup) -> Result<Plan, LabError> {
        let block = setup.store.block;
        let scan = match &setup.access {
            Access::Pattern(_) => None,
            Access::Trace(trace) => Some((trace, self.scan(trace, block)?)),
        };
        let params = setup.params(scan.map(|(_, scan)| scan.pages))?;
        if let Some((trace, scan)) = scan
            && scan.pages > params.logical
        {
            let why = format!(
                "writes to {} blocks of {block} bytes, {} are there; want --compact, --alpha or more --flash",
                scan.pages, params.logical
            );
            return Err(LabError::Unplayable { path: trace.path.clone(), why });
        }
        let all = scan.map_or(0, |(_, scan)| scan.writes);
        let warm_up = setup.warm_up.writes(block, params.logical);
        let writes = match (setup.write, setup.endurance) {
            (Some(amount), _) => amount.writes(block, params.logical),
            (None, Some(_)) => u64::MAX,
            (None, None) => all.saturating_sub(warm_up),
        };
        Ok(Plan { params, warm_up, writes })
    }

    fn scan(&mut self, trace: &TraceFile, block: u64) -> Result<Scan, LabError> {
        let key = (trace.path.clone(), block, trace.compact);
        if let Some(known) = self.scans.get(&key) {
            return Ok(*known);
        }
        let mut scan = Scan::default();
        for event in Events::open(trace, block)? {
            if let Event::Write(page) = event? {
                scan.writes += 1;
                scan.pages = scan.pages.max(page + 1);
            }
        }
        if scan.writes == 0 {
            let why = "no block is written".to_owned();
            return Err(LabError::Unplayable { path: trace.path.clone(), why });
        }
        self.scans.insert(key, scan);
        Ok(scan)
    }
}

impl Plan {
    /// All writes, the filling too.
    pub(super) fn total(&self) -> u64 {
        u64::from(self.params.logical).saturating_add(self.warm_up).saturating_add(self.writes)
    }
}
