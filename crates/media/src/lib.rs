//! Raw NAND chips and block devices behind two traits.
#![no_std]

extern crate alloc;

#[cfg(feature = "std")]
extern crate std;

mod block;
mod chips;
#[cfg(feature = "std")]
mod container;
#[cfg(feature = "std")]
mod dump;
#[cfg(feature = "std")]
mod error;
mod faults;
#[cfg(feature = "std")]
mod file_disk;
#[cfg(feature = "std")]
mod file_store;
mod layer;
#[cfg(feature = "std")]
mod lock;
mod mem_disk;
mod mem_store;
mod memory;
#[cfg(all(feature = "std", target_os = "linux"))]
mod mtd;
mod nand;
mod pairing;
mod read_at;
pub mod sim;
mod spec;
mod store;

pub use block::{BlockDevice, BlockError, BlockShape, Lba};
pub use chips::chips;
#[cfg(feature = "std")]
pub use error::MediaError;
pub use faults::{BitFlip, CutMode, Endurance, FaultCounts, Faults, PowerCut, Rate, ReadDisturb, Retention};
#[cfg(feature = "std")]
pub use file_disk::FileDisk;
#[cfg(feature = "std")]
pub use file_store::{ChipFile, FileStore};
pub use layer::Layer;
pub use mem_disk::MemDisk;
pub use mem_store::MemStore;
pub use memory::Memory;
#[cfg(all(feature = "std", target_os = "linux"))]
pub use mtd::MtdChip;
pub use nand::{BlockId, Geometry, Nand, NandError, NandStats, PageId, ReadOutcome, Timing};
pub use pairing::Pairing;
pub use read_at::ReadAt;
pub use sim::SimChip;
pub use spec::{ChipSpec, Ecc, SpareRange, SpecError};
pub use store::{Hold, PageState, Store, Wear};
