//! Every policy by name, one table for each axis: the names that `pumice sim`, the flash memory server and the file
//! systems offer, write on flash and read back.
//!
//! A name is a word, such as `greedy`, or a word with a number, such as `chain:4`; without the number it has its usual
//! value. A name may follow the word of a policy that is around another: `read-only:chain:4`. The word `default` is the
//! axis's default. A written name always carries the number, so that it means the same when a usual value changes.
//!
//! ```
//! use pumice_cleaning::{Params, Sim, registry::{PlacementRule, Store, VictimRule, WearRule}};
//!
//! let params = Params::new(192, 31, 5356);
//! let store = Store::new(params, 1);
//! let (victim, placement): (VictimRule, PlacementRule) = ("cat".parse()?, "sepbit:3".parse()?);
//! let wear = WearRule::default();
//! let mut sim = Sim::new(params, victim.build(&store), placement.build(&store), wear.build(&store))?;
//! sim.fill()?;
//! sim.run((0..50_000).map(|n| n * 7919 % 500))?;
//! assert!(sim.stats().waf() < 2.0);
//! assert_eq!(format!("{victim} {placement} {wear}"), "cat sepbit:3 even");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod placements;
mod rule;
mod store;
mod victims;
mod wears;

use alloc::boxed::Box;

pub use rule::{Axis, Entry, Parameter, PolicyError, Rule, Wrapper};
pub use store::Store;

use crate::{Params, Placement, Selector, Wear, wear::Swap};

/// The victim policy: the segment to be cleaned next.
pub type VictimRule = Rule<Box<dyn Selector + Send>>;
/// The placement policy: the head of each block.
pub type PlacementRule = Rule<Box<dyn Placement + Send>>;
/// The wear policy: the next free segment, and the cold data to move.
pub type WearRule = Rule<Box<dyn Wear + Send>>;

/// All rules have names here, not only the usual ones of nandfs: firmware leaves out what it does not ask for.
const EVERY: bool = cfg!(feature = "every");

impl Axis for Box<dyn Selector + Send> {
    const NAME: &'static str = "victim";
    const TABLE: &'static [Entry<Self>] = if EVERY { victims::TABLE } else { victims::USUAL };
}

impl Axis for Box<dyn Placement + Send> {
    const NAME: &'static str = "placement";
    const TABLE: &'static [Entry<Self>] = if EVERY { placements::TABLE } else { placements::USUAL };
    const WRAPPERS: &'static [Wrapper<Self>] = if EVERY { placements::WRAPPERS } else { &[] };
}

impl Axis for Box<dyn Wear + Send> {
    const NAME: &'static str = "wear rule";
    const TABLE: &'static [Entry<Self>] = if EVERY { wears::TABLE } else { wears::USUAL };
}

impl WearRule {
    /// The swaps of cold data into a worn segment that withstands `endurance` erases, for a caller with free segments
    /// in an order that is settled before their heads are. `None` for a rule that has to choose for each head.
    pub fn swap(&self, endurance: u32) -> Option<Box<dyn Swap + Send>> {
        let swap = wears::swaps().iter().find(|(name, _)| *name == self.entry().name);
        swap.map(|(_, make)| make(endurance, self.number()))
    }

    /// The names of those that [`Self::swap`] has.
    pub fn swap_names() -> impl Iterator<Item = &'static str> {
        wears::swaps().iter().map(|(name, _)| *name)
    }

    /// True for the one that takes free segments in the order of their erases.
    pub fn takes_least_worn(&self) -> bool {
        EVERY && self.entry().name == wears::LEAST_WORN
    }

    /// True for one that asks how often a segment can be erased.
    pub fn needs_endurance(&self) -> bool {
        self.entry().name == wears::END_OF_LIFE
    }
}

impl PlacementRule {
    /// True for one that keeps something for each page, however many there are: from one to some twenty bytes.
    pub fn keeps_pages(&self) -> bool {
        self.wrapper().is_some() || !placements::WITHOUT_PAGES.contains(&self.entry().name)
    }

    /// Heads that it always has; `None` for one without a number, which may find out how many pay. One around another
    /// always has as many, so one for a store of a single page tells them.
    pub fn heads(&self) -> Option<u32> {
        match self.wrapper() {
            None => self.parameter(),
            Some(_) => Some(self.build(&Store::new(Params::new(1, 1, 1), 0)).classes().into()),
        }
    }

    /// True for the one that has to be told every write beforehand ([`Store::with_future`]): a bound, not a policy.
    pub fn needs_future(&self) -> bool {
        self.entry().name == placements::ORACLE
    }
}
