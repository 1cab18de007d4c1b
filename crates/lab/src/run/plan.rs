//! A setup in pages and writes, before it is run.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use pumice_cleaning::Params;

use super::{
    Access, Parameters, Setup, TraceFile,
    events::{Event, Events},
    parameters::Hashes,
    rules::{Modules, Started},
};
use crate::{LabError, module::Module, trace::sha256};

/// A setup with all that it will do.
#[derive(Clone, Debug)]
pub struct Planned {
    pub(super) setup: Setup,
    pub(super) plan: Plan,
    /// The parameters that its record will name.
    pub parameters: Parameters,
}

/// Plans runs; reads each trace once for all of them.
pub fn plan(setups: &[Setup]) -> Result<Vec<Planned>, LabError> {
    let mut planner = Planner::default();
    let all = setups.iter().map(|setup| {
        let plan = planner.plan(setup)?;
        let trace = match &setup.access {
            Access::Pattern(_) => None,
            Access::Trace(trace) => Some(&trace.path),
        };
        let module = |path: &PathBuf| plan.modules.get(path).map(|module| module.sha256().to_owned());
        let hashes = Hashes {
            trace: trace.map(|path| planner.hash(path)).transpose()?,
            victim: setup.victim.file().and_then(module),
            placement: setup.placement.file().and_then(module),
        };
        let parameters = Parameters::new(setup, &plan.params, (plan.warm_up, plan.writes), hashes);
        Ok(Planned { setup: setup.clone(), plan, parameters })
    });
    all.collect()
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The store.
    pub(super) params: Params,
    /// Writes before counting.
    pub(super) warm_up: u64,
    /// Writes that are counted.
    pub(super) writes: u64,
    /// The policies that are a user's own.
    pub(super) modules: Modules,
}

/// The writes of a trace.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    writes: u64,
    /// Pages from 0 that hold all it writes.
    pages: u32,
}

/// Remembers its scans of each trace, and the modules.
#[derive(Debug, Default)]
struct Planner {
    scans: HashMap<(PathBuf, u64, bool), Scan>,
    hashes: HashMap<PathBuf, String>,
    modules: Modules,
}

impl Planner {
    /// The SHA-256 of a file, in hexadecimal.
    fn hash(&mut self, path: &Path) -> Result<String, LabError> {
        if let Some(known) = self.hashes.get(path) {
            return Ok(known.clone());
        }
        let hash = sha256(path).map_err(|error| LabError::File { path: path.to_owned(), error })?;
        self.hashes.insert(path.to_owned(), hash.clone());
        Ok(hash)
    }

    /// The plan of `setup`.
    fn plan(&mut self, setup: &Setup) -> Result<Plan, LabError> {
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
        let modules = self.modules(setup)?;
        Started::check(setup, &params, &modules)?;
        Ok(Plan { params, warm_up, writes, modules })
    }

    /// The modules of a setup.
    fn modules(&mut self, setup: &Setup) -> Result<Modules, LabError> {
        let files = [setup.victim.file(), setup.placement.file()];
        let read = |path: &PathBuf| {
            if let Some(known) = self.modules.get(path) {
                return Ok((path.clone(), known.clone()));
            }
            let bytes = fs::read(path).map_err(|error| LabError::File { path: path.clone(), error })?;
            let module = Module::new(&bytes);
            self.modules.insert(path.clone(), module.clone());
            Ok((path.clone(), module))
        };
        files.into_iter().flatten().map(read).collect()
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
