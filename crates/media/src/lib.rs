//! Raw NAND chips and block devices behind two traits.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod chips;
mod faults;
mod mem_store;
mod nand;
pub mod sim;
mod spec;
mod store;

pub use chips::chips;
pub use faults::{BitFlip, CutMode, Endurance, FaultCounts, Faults, PowerCut, Rate, ReadDisturb};
pub use mem_store::MemStore;
pub use nand::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};
pub use sim::SimChip;
pub use spec::{ChipSpec, Ecc, SpareRange, SpecError};
pub use store::{PageState, Store, Wear};
