//! The three choices of the cleaner, by name.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use pumice_cleaning::select::DecliningCost;
use pumice_cleaning::victim::VictimPolicy;
use pumice_cleaning::wear::WearPolicy;
use pumice_cleaning::{
    Adaptive, ByHeat, BySegment, Chain, Dac, MultiLog, OneLog, Params, Placement, Regime, Selector, SepBit,
    Sfs, Sorted, Static, Wear,
};

use crate::anchor::Identity;
use crate::error::{FtlError, Result};
use crate::shape::Shape;

/// The name of the victims and the placement that adapt to what they see.
const DEFAULT: &str = "default";

/// Names of the policies that a disk is cleaned by; `pumice-cleaning` tells what they do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyNames {
    /// Which segment is cleaned next: `default`, or a name of [`VictimPolicy`].
    pub victim: String,
    /// Which head a block is written to: one of [`PolicyNames::PLACEMENTS`].
    pub placement: String,
    /// Which free segment is used next, and which cold data moves: a name of [`WearPolicy`].
    pub wear: String,
}

impl PolicyNames {
    /// Placements: the adaptive one, the six of the CAT paper (section 6.1.1), users and cleaner apart, and later ones.
    pub const PLACEMENTS: [&str; 13] =
        [DEFAULT, "m1", "m2", "m3", "m4", "m5", "m6", "apart", "dac", "multi-log", "sfs", "sepbit", "chain"];
}

impl Default for PolicyNames {
    fn default() -> PolicyNames {
        PolicyNames {
            victim: DEFAULT.to_string(),
            placement: DEFAULT.to_string(),
            wear: WearPolicy::Even.name().to_string(),
        }
    }
}

/// The policies at work.
pub(crate) struct Policies {
    pub(crate) selector: Box<dyn Selector + Send>,
    pub(crate) placement: Box<dyn Placement + Send>,
    pub(crate) wear: Box<dyn Wear + Send>,
}

impl Policies {
    /// Builds them for a disk on a chip of this shape; `seed` is for those that draw lots.
    pub(crate) fn new(disk: &Identity, shape: &Shape, seed: u64) -> Result<Policies> {
        let store = Params {
            endurance: disk.endurance,
            ..Params::new(shape.blocks, shape.capacity(), disk.logical_blocks)
        };
        let (placement, regime) = placement(&disk.policies.placement, &store)?;
        let wear: WearPolicy = disk.policies.wear.parse()?;
        let selector = match disk.policies.victim.as_str() {
            DEFAULT => Box::new(DecliningCost::new(store.segments, store.pages, store.logical, regime)),
            name => name.parse::<VictimPolicy>()?.selector(&store, seed),
        };
        Ok(Policies { selector, placement, wear: wear.rule(&store) })
    }
}

/// A placement, and what it tells the default's victims.
fn placement(name: &str, store: &Params) -> Result<(Box<dyn Placement + Send>, Regime)> {
    let blocks = store.logical;
    let rule: Box<dyn Placement + Send> = match name {
        DEFAULT => {
            let (rule, regime) = Adaptive::new(store.segments, store.pages, blocks);
            return Ok((Box::new(rule), regime));
        }
        "m1" => Box::new(OneLog),
        "m2" => Box::new(Sorted::by_age(blocks)),
        "m3" => Box::new(Sorted::by_heat(blocks)),
        "m4" => Box::new(BySegment),
        "m5" => Box::new(ByHeat::updates(blocks)),
        "m6" => Box::new(ByHeat::degree(blocks)),
        "apart" => Box::new(Static),
        "dac" => Box::new(Dac::new(6, blocks)),
        "multi-log" => Box::new(MultiLog::new(6, blocks)),
        "sfs" => Box::new(Sfs::new(6, blocks)),
        "sepbit" => Box::new(SepBit::new(6)),
        "chain" => Box::new(Chain::new(6)),
        _ => {
            let known = PolicyNames::PLACEMENTS.join(" ");
            return Err(FtlError::Policy(format!("unknown placement {name:?} (known: {known})")));
        }
    };
    Ok((rule, Regime::default()))
}
