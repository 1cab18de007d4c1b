//! The three choices of the cleaner, by name.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use pumice_cleaning::victim::VictimPolicy;
use pumice_cleaning::wear::WearPolicy;
use pumice_cleaning::{ByHeat, BySegment, OneLog, Params, Placement, Selector, SepBit, Sorted, Static, Wear};

use crate::anchor::Identity;
use crate::error::{FtlError, Result};
use crate::shape::Shape;

/// Names of the policies that a disk is cleaned by; `pumice-cleaning` tells what they do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyNames {
    /// Which segment is cleaned next: a name of [`VictimPolicy`].
    pub victim: String,
    /// Which head a block is written to: one of [`PolicyNames::PLACEMENTS`].
    pub placement: String,
    /// Which free segment is used next, and which cold data moves: a name of [`WearPolicy`].
    pub wear: String,
}

impl PolicyNames {
    /// Placements: the six of the CAT paper (section 6.1.1), users and cleaner apart, and `SepBIT`.
    pub const PLACEMENTS: [&str; 8] = ["m1", "m2", "m3", "m4", "m5", "m6", "apart", "sepbit"];
}

impl Default for PolicyNames {
    fn default() -> PolicyNames {
        PolicyNames { victim: "cost-benefit".into(), placement: "sepbit".into(), wear: "even".into() }
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
        let victim: VictimPolicy = disk.policies.victim.parse()?;
        let wear: WearPolicy = disk.policies.wear.parse()?;
        let store = Params {
            endurance: disk.endurance,
            ..Params::new(shape.blocks, shape.capacity(), disk.logical_blocks)
        };
        Ok(Policies {
            selector: victim.selector(&store, seed),
            placement: placement(&disk.policies.placement, disk.logical_blocks)?,
            wear: wear.rule(&store),
        })
    }
}

fn placement(name: &str, blocks: u32) -> Result<Box<dyn Placement + Send>> {
    Ok(match name {
        "m1" => Box::new(OneLog),
        "m2" => Box::new(Sorted::by_age(blocks)),
        "m3" => Box::new(Sorted::by_heat(blocks)),
        "m4" => Box::new(BySegment),
        "m5" => Box::new(ByHeat::updates(blocks)),
        "m6" => Box::new(ByHeat::degree(blocks)),
        "apart" => Box::new(Static),
        "sepbit" => Box::new(SepBit::new(6)),
        _ => return Err(unknown(name)),
    })
}

fn unknown(name: &str) -> FtlError {
    let known = PolicyNames::PLACEMENTS.join(" ");
    FtlError::Policy(format!("unknown placement {name:?} (known: {known})"))
}
