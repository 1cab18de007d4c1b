//! Which segment is cleaned next, where data goes, and how wear is spread: pure decisions, no I/O, no clock.
//!
//! Three independent choices. A [`victim`] rule ranks segments for cleaning, and a [`select`] structure finds the best
//! without looking at all of them; [`pool`] keeps the candidates of a file system that cannot afford a table of all.
//! [`placement`] says which open head a page is written to. [`wear`] says which free segment a head gets and which cold
//! data has to move. [`sim`] drives any three of them.
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
    ReadOnly, Regime, SepBit, Sfs, Sorted, Static, Temperature,
};
pub use pool::CandidatePool;
pub use segment::{Class, SegmentView};
pub use select::Selector;
pub use sim::{Geometry, Params, Sim, SimError, Stats, WearStats};
pub use victim::{
    Cat, Cicl, CostBenefit, CostBenefitWritten, CostHotness, Greedy, Lfs, RootAge, Victim, choose,
};
pub use wear::{Relocation, Wear};
