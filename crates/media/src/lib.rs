//! Raw NAND chips and block devices behind two traits.
#![no_std]

extern crate alloc;

#[cfg(feature = "std")]
extern crate std;

mod chips;
#[cfg(feature = "std")]
mod container;
#[cfg(feature = "std")]
mod dump;
#[cfg(feature = "std")]
mod error;
mod faults;
#[cfg(feature = "std")]
mod file_store;
mod mem_store;
mod nand;
pub mod sim;
mod spec;
mod store;

pub use chips::chips;
#[cfg(feature = "std")]
pub use error::MediaError;
pub use faults::{BitFlip, CutMode, Endurance, FaultCounts, Faults, PowerCut, Rate, ReadDisturb};
#[cfg(feature = "std")]
pub use file_store::{ChipFile, FileStore};
pub use mem_store::MemStore;
pub use nand::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};
pub use sim::SimChip;
pub use spec::{ChipSpec, Ecc, SpareRange, SpecError};
pub use store::{PageState, Store, Wear};
