//! Which segment is cleaned next, and where data goes: pure decisions, no I/O, no clock.
//!
//! Two independent choices. [`victim`] ranks segments for cleaning; [`pool`] keeps the candidates of a file system
//! that cannot afford a table of all of them. [`placement`] says which open head a chunk is written to.
//!
//! Time is the caller's write clock: a `u32` that advances by one with every unit a user writes (never with a
//! cleaner's copy) and may wrap. Ages are wrapping differences of it, so an age of 2^32 units or more appears
//! younger than it is; that costs copies, never correctness.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

pub mod placement;
pub mod pool;
pub mod segment;
pub mod victim;

pub use placement::{Class, Placement, SepBit, Static};
pub use pool::CandidatePool;
pub use segment::SegmentView;
pub use victim::{CostBenefit, Greedy, RootAge, UnknownVictim, Victim, VictimPolicy, choose};
