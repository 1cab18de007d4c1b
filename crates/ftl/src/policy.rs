//! The three choices of the cleaner, by name.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use pumice_cleaning::select::ByChange;
use pumice_cleaning::victim::VictimPolicy;
use pumice_cleaning::{OneLog, Placement, Selector, SepBit, Wear, wear::Fifo};

use crate::error::{FtlError, Result};
use crate::shape::Shape;

/// Names of the policies a disk is cleaned by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyNames {
    /// Which segment is cleaned next.
    pub victim: String,
    /// Which head a block is written to.
    pub placement: String,
    /// Which free segment is used next, and which cold data moves.
    pub wear: String,
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
    /// Builds them for a disk of `logical_blocks` on a chip of this shape.
    pub(crate) fn new(names: &PolicyNames, shape: &Shape, _logical_blocks: u32) -> Result<Policies> {
        let victim: VictimPolicy = names.victim.parse()?;
        let unknown = |what: &str| FtlError::Policy(what.to_string());
        let placement: Box<dyn Placement + Send> = match names.placement.as_str() {
            "m1" => Box::new(OneLog),
            "sepbit" => Box::new(SepBit::new(6)),
            _ => return Err(unknown("unknown placement (known: m1 sepbit)")),
        };
        let wear: Box<dyn Wear + Send> = match names.wear.as_str() {
            "none" => Box::new(Fifo::default()),
            _ => return Err(unknown("unknown wear levelling (known: none)")),
        };
        let selector = Box::new(ByChange::new(victim, shape.blocks, shape.capacity()));
        Ok(Policies { selector, placement, wear })
    }
}
