//! The rules of a run, made for its store.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use pumice_cleaning::{Params, Placement, Selector, Wear, registry::Store};

use super::{Policy, Setup, read_only::Counted};
use crate::{
    LabError,
    module::{self, Instance, Module, ModuleError},
};

/// Modules by their files.
pub(super) type Modules = BTreeMap<PathBuf, Module>;

/// A victim policy, a placement and a wear rule; of a user's own the modules that answer for them.
pub(super) struct Rules {
    pub(super) victim: Box<dyn Selector + Send>,
    pub(super) placement: Counted<Box<dyn Placement + Send>>,
    pub(super) wear: Box<dyn Wear + Send>,
    pub(super) started: Started,
}

/// The writes to come, as far as rules are told of them.
pub(super) struct Told {
    /// All of them, for the oracle.
    pub(super) future: Vec<u32>,
    /// The pages that are never written again, if the workload names some.
    pub(super) read_only: Vec<u32>,
}

impl Rules {
    /// The rules of a setup, for a store whose writes may have to be known.
    pub(super) fn new(
        setup: &Setup,
        params: Params,
        modules: &Modules,
        told: Told,
    ) -> Result<Rules, LabError> {
        let Told { future, read_only } = told;
        let store = Store::with_future(params, setup.seed, future);
        let store = if read_only.is_empty() { store } else { store.with_read_only(read_only.clone()) };
        let started = Started::new(modules, &params, setup.seed)?;
        let victim = match &setup.victim {
            Policy::Named(rule) => rule.build(&store),
            Policy::Own(path) => started.victim(path, &params)?,
        };
        let placement = match &setup.placement {
            Policy::Named(rule) => rule.build(&store),
            Policy::Own(path) => started.placement(path)?,
        };
        let placement = Counted::new(placement, &read_only);
        Ok(Rules { victim, placement, wear: setup.wear.build(&store), started })
    }
}

/// Modules that run, each once: a file that is victim policy and placement has one state.
pub(super) struct Started(BTreeMap<PathBuf, Instance>);

impl Started {
    fn new(modules: &Modules, params: &Params, seed: u64) -> Result<Started, LabError> {
        let start = |(path, module): (&PathBuf, &Module)| {
            let started = module.start(params, seed).map_err(|error| failed(path, error))?;
            Ok((path.clone(), started))
        };
        modules.iter().map(start).collect::<Result<_, _>>().map(Started)
    }

    /// Refuses a setup whose modules do not start, or are no policies of their kind.
    pub(super) fn check(setup: &Setup, params: &Params, modules: &Modules) -> Result<(), LabError> {
        let started = Started::new(modules, params, setup.seed)?;
        if let Some(path) = setup.victim.file() {
            started.victim(path, params)?;
        }
        if let Some(path) = setup.placement.file() {
            started.placement(path)?;
        }
        Ok(())
    }

    /// The first fault of a module, as an error.
    pub(super) fn fault(&self) -> Result<(), LabError> {
        let fault = self.0.iter().find_map(|(path, module)| Some((path, module.fault()?)));
        fault.map_or(Ok(()), |(path, fault)| Err(failed(path, fault)))
    }

    fn victim(&self, path: &Path, params: &Params) -> Result<Box<dyn Selector + Send>, LabError> {
        let rule = module::victim(self.of(path)?, params).map_err(|error| failed(path, error))?;
        Ok(Box::new(rule))
    }

    fn placement(&self, path: &Path) -> Result<Box<dyn Placement + Send>, LabError> {
        let rule = module::placement(self.of(path)?).map_err(|error| failed(path, error))?;
        Ok(Box::new(rule))
    }

    fn of(&self, path: &Path) -> Result<&Instance, LabError> {
        self.0.get(path).ok_or_else(|| LabError::Setup(format!("{}: was not read", path.display())))
    }
}

fn failed(path: &Path, error: ModuleError) -> LabError {
    LabError::Module { path: path.to_owned(), error }
}
