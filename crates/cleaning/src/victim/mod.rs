//! Victim selection: a policy prices a segment, the cheapest is cleaned.

mod age_threshold;
mod cat;
mod choose;
mod cicl;
mod cost_benefit;
mod cost_benefit_written;
mod cost_hotness;
mod garbage_age;
mod greedy;
mod lfs;
mod root_age;

pub use age_threshold::{age_score, choose_aged};
pub use cat::Cat;
pub use choose::choose;
pub use cicl::Cicl;
pub use cost_benefit::CostBenefit;
pub use cost_benefit_written::CostBenefitWritten;
pub use cost_hotness::CostHotness;
pub use garbage_age::GarbageAge;
pub use greedy::Greedy;
pub use lfs::Lfs;
pub use root_age::RootAge;

use crate::SegmentView;

/// The price of a segment that yields nothing; it is never chosen.
pub const NEVER: u64 = u64::MAX;

/// A rule that prices segments.
pub trait Victim {
    /// The price of cleaning `s`; the lower, the sooner it is cleaned.
    ///
    /// A pure function, so equal views have equal prices. It is 0 if nothing is valid and [`NEVER`] if nothing is
    /// reclaimable; prices of different policies do not compare.
    fn cost(&self, s: &SegmentView) -> u64;

    /// False if the price depends on no age: then, of segments of one capacity, the emptiest is the cheapest.
    fn minds_age(&self) -> bool {
        true
    }
}
