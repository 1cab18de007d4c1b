//! The three choices of the cleaner.

use alloc::boxed::Box;

use pumice_cleaning::registry::{PlacementRule, Store, VictimRule, WearRule};
use pumice_cleaning::{Params, Placement, Selector};

use crate::error::{FtlError, Result};
use crate::supply::Supply;

/// The policies that a disk is cleaned by, as the registry of `pumice-cleaning` names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyNames {
    /// The choice of the segment to clean next.
    pub victim: VictimRule,
    /// The choice of the head for a block; no rule that has to be told the future.
    pub placement: PlacementRule,
    /// The choice of the free segment to use next, and of the cold data to move.
    pub wear: WearRule,
}

impl PolicyNames {
    /// Refuses policies that no disk can be cleaned by.
    pub(crate) fn check(&self) -> Result<()> {
        match self.placement.needs_future() {
            true => Err(FtlError::Oracle(self.placement)),
            false => Ok(()),
        }
    }
}

/// The policies at work.
pub(crate) struct Policies {
    pub(crate) selector: Box<dyn Selector + Send>,
    pub(crate) placement: Box<dyn Placement + Send>,
    pub(crate) wear: Supply,
}

impl Policies {
    /// Builds them for a store; `seed` is for those that draw at random.
    pub(crate) fn new(names: PolicyNames, params: &Params, seed: u64) -> Policies {
        let store = Store::new(*params, seed);
        let PolicyNames { victim, placement, wear } = names;
        Policies {
            selector: victim.build(&store),
            placement: placement.build(&store),
            wear: Supply::new(wear.build(&store)),
        }
    }
}
