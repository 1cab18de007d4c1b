//! Victim selection, placement and wear levelling: pure decisions, no I/O, no clock.
//!
//! Three independent choices. A [`victim`] rule ranks segments for cleaning, and a [`select`] structure finds the best
//! without looking at all of them; [`pool`] keeps the candidates of a file system that cannot afford a table of all.
//! [`placement`] says which open head a page is written to. [`wear`] says which free segment a head gets and which cold
//! data has to move. [`registry`] has them all by name, [`sim`] drives any three of them.
//!
//! A policy of one's own, against greedy:
//!
//! ```
//! use pumice_cleaning::{
//!     Greedy, OneLog, Params, SegmentView, Sim, SimError, Victim, select::ByChange, victim::NEVER, wear::Fifo,
//! };
//!
//! /// The emptiest segment, but those that lost a page lately come after all others.
//! struct Patient;
//!
//! impl Victim for Patient {
//!     fn cost(&self, s: &SegmentView) -> u64 {
//!         match s.valid {
//!             0 => 0,
//!             valid if valid == s.capacity => NEVER,
//!             valid if s.invalidated < 100 => u64::from(valid + s.capacity),
//!             valid => u64::from(valid),
//!         }
//!     }
//! }
//!
//! let params = Params::new(200, 32, 5500);
//! // A tenth of the pages gets nine tenths of the writes.
//! let writes = (0..100_000_u32).map(|n| {
//!     let draw = n.wrapping_mul(2_654_435_761) >> 8;
//!     if n % 10 == 0 { draw % 5500 } else { draw % 550 }
//! });
//! fn waf(victim: impl Victim, params: Params, writes: impl Iterator<Item = u32>) -> Result<f64, SimError> {
//!     let selector = ByChange::new(victim, params.segments, params.pages);
//!     let mut sim = Sim::new(params, selector, OneLog, Fifo::default())?;
//!     sim.fill()?;
//!     sim.run(writes)?;
//!     Ok(sim.stats().waf())
//! }
//! let (ours, greedy) = (waf(Patient, params, writes.clone())?, waf(Greedy, params, writes)?);
//! assert!(ours < greedy, "{ours} {greedy}");
//! # Ok::<(), pumice_cleaning::SimError>(())
//! ```
//!
//! Time is the caller's write clock: a `u32` that advances by one with every unit a user writes (never with a
//! cleaner's copy) and may wrap. Ages are wrapping differences of it, so an age of 2^32 units or more appears
//! younger than it is; that costs copies, never correctness.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod packed;
pub mod placement;
pub mod pool;
pub mod registry;
pub mod segment;
pub mod select;
pub mod sim;
pub mod theory;
pub mod victim;
pub mod wear;

pub use placement::{
    Adaptive, ByHeat, BySegment, Chain, Cleaned, Dac, Hint, Midas, MultiLog, Old, OneLog, Oracle, Placement,
    ReadOnly, Regime, SepBit, SepBitPublished, Sfs, Sorted, Static, Temperature,
};
pub use pool::CandidatePool;
pub use segment::{Class, SegmentView};
pub use select::Selector;
pub use sim::{Geometry, Params, Sim, SimError, Stats, WearStats};
pub use victim::{
    Cat, Cicl, CostBenefit, CostBenefitWritten, CostHotness, GarbageAge, Greedy, Lfs, RootAge, Victim,
    choose, choose_aged,
};
pub use wear::{Relocation, Wear};
