//! Raw NAND chips and block devices behind two traits, [`Nand`] and [`BlockDevice`]: simulated chips with timing,
//! faults and power cuts ([`SimChip`]), chips in container files, Linux MTD devices, disks in memory and in files.
//!
//! ```
//! use pumice_media::{BlockId, ChipSpec, CutMode, Nand, NandError, PageId, SimChip};
//!
//! let mut chip = SimChip::new(&ChipSpec::named("slc-2k-2g")?);
//! let shape = chip.geometry();
//! let mut page = vec![0; shape.page_bytes as usize];
//! let mut spare = vec![0; shape.free_spare_bytes as usize];
//!
//! // An erased page reads as ones. A page is programmed once between two erases of its block.
//! chip.erase(BlockId(0))?;
//! chip.program(PageId(0), &vec![0x5A; page.len()], &spare)?;
//! assert!(matches!(chip.program(PageId(0), &page, &spare), Err(NandError::Violation(..))));
//! chip.read(PageId(0), &mut page, &mut spare)?;
//! assert_eq!(page[0], 0x5A);
//!
//! // The power goes in the middle of the next program; what was programmed before stays.
//! chip.cut_after(0, CutMode::Torn { seed: 1 });
//! assert_eq!(chip.program(PageId(1), &page, &spare), Err(NandError::PowerLost));
//! chip.power_on();
//! chip.read(PageId(0), &mut page, &mut spare)?;
//! assert_eq!(page[0], 0x5A);
//! println!("{} programs, {} ns", chip.stats().programs, chip.stats().device_ns);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;

#[cfg(feature = "std")]
extern crate std;

mod any_chip;
#[cfg(feature = "std")]
mod barriers;
mod block;
mod chips;
#[cfg(feature = "std")]
mod container;
#[cfg(feature = "std")]
mod dump;
mod errno;
#[cfg(feature = "std")]
mod error;
mod faults;
#[cfg(feature = "std")]
mod file_disk;
#[cfg(feature = "std")]
mod file_store;
#[cfg(feature = "std")]
mod host;
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
#[cfg(feature = "std")]
mod run;
pub mod sim;
#[cfg(feature = "std")]
mod sim_host;
mod spec;
mod store;

pub use any_chip::AnyChip;
pub use block::{BlockDevice, BlockError, BlockShape, Lba};
pub use chips::chips;
#[cfg(feature = "std")]
pub use error::MediaError;
pub use faults::{
    BitFlip, Codeword, CutMode, Endurance, FaultCounts, Faults, PowerCut, Rate, ReadDisturb, Retention,
};
#[cfg(feature = "std")]
pub use file_disk::FileDisk;
#[cfg(feature = "std")]
pub use file_store::{ChipFile, FileStore};
#[cfg(feature = "std")]
pub use host::HostFile;
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
#[cfg(feature = "std")]
pub use sim_host::SimHost;
pub use spec::{ChipSpec, Ecc, SpareRange, SpecError};
pub use store::{Hold, PageState, Store, Wear};
