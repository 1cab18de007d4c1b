//! The three choices of the cleaner, by name.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use pumice_cleaning::victim::VictimPolicy;
use pumice_cleaning::wear::Fifo;
use pumice_cleaning::{ByHeat, BySegment, OneLog, Params, Placement, Selector, SepBit, Sorted, Static, Wear};

use crate::error::{FtlError, Result};
use crate::shape::Shape;

/// Names of the policies that a disk is cleaned by; `pumice-cleaning` tells what they do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyNames {
    /// Which segment is cleaned next: a name of [`VictimPolicy`].
    pub victim: String,
    /// Which head a block is written to: one of [`PolicyNames::PLACEMENTS`].
    pub placement: String,
    /// Which free segment is used next, and which cold data moves: one of [`PolicyNames::WEARS`].
    pub wear: String,
}

impl PolicyNames {
    /// Placements: the six of the CAT paper (section 6.1.1), users and cleaner apart, and `SepBIT`.
    pub const PLACEMENTS: [&str; 8] = ["m1", "m2", "m3", "m4", "m5", "m6", "apart", "sepbit"];
    /// Ways to level wear.
    pub const WEARS: [&str; 1] = ["none"];
}

impl Default for PolicyNames {
    fn default() -> PolicyNames {
        PolicyNames { victim: "cost-benefit".into(), placement: "sepbit".into(), wear: "none".into() }
    }
}

/// The policies at work.
pub(crate) struct Policies {
    pub(crate) selector: Box<dyn Selector + Send>,
    pub(crate) placement: Box<dyn Placement + Send>,
    pub(crate) wear: Box<dyn Wear + Send>,
}

impl Policies {
    /// Builds them for a disk of `logical_blocks` on a chip of this shape; `seed` is for those that draw lots.
    pub(crate) fn new(
        names: &PolicyNames,
        shape: &Shape,
        logical_blocks: u32,
        seed: u64,
    ) -> Result<Policies> {
        let victim: VictimPolicy = names.victim.parse()?;
        let store = Params::new(shape.blocks, shape.capacity(), logical_blocks);
        Ok(Policies {
            selector: victim.selector(&store, seed),
            placement: placement(&names.placement, logical_blocks)?,
            wear: wear(&names.wear)?,
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
        _ => return Err(unknown("placement", name, &PolicyNames::PLACEMENTS)),
    })
}

fn wear(name: &str) -> Result<Box<dyn Wear + Send>> {
    Ok(match name {
        "none" => Box::new(Fifo::default()),
        _ => return Err(unknown("wear levelling", name, &PolicyNames::WEARS)),
    })
}

fn unknown(what: &str, name: &str, known: &[&str]) -> FtlError {
    FtlError::Policy(format!("unknown {what} {name:?} (known: {})", known.join(" ")))
}
