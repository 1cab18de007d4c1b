//! The three choices of the cleaner.

use alloc::boxed::Box;

use pumice_cleaning::registry::{PlacementRule, Store, VictimRule, WearRule};
use pumice_cleaning::{Params, Placement, Selector};

use crate::error::{FtlError, Result};
use crate::supply::Supply;

/// The policies that a disk is cleaned by, as the registry of `pumice-cleaning` names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyNames {
    /// Which segment is cleaned next.
    pub victim: VictimRule,
    /// Which head a block is written to; not one that has to be told the future.
    pub placement: PlacementRule,
    /// Which free segment is used next, and which cold data moves.
    pub wear: WearRule,
}

impl PolicyNames {
    /// Refuses what no disk can be cleaned by.
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
