//! The flash memory server: a block device on raw NAND, after the FMS of the CAT paper (section 4).
//!
//! Logical blocks are never updated in place. [`create`] makes a disk on a chip, [`Ftl::open`] starts a server, which is
//! a [`BlockDevice`](pumice_media::BlockDevice), and [`Ftl::close`] ends it. The format is specified in
//! `docs/ftl-spec.md`.
//!
//! ```
//! use pumice_ftl::{CreateOptions, Ftl, OpenOptions, PolicyNames, create};
//! use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};
//!
//! let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:64:64")?);
//! let policies = PolicyNames { victim: "cat".parse()?, placement: "m6".parse()?, ..PolicyNames::default() };
//! create(&mut chip, &CreateOptions { policies, ..CreateOptions::default() }, &mut |_, _| {})?;
//!
//! let mut disk = Ftl::open(chip, OpenOptions::default())?;
//! disk.write(Lba(0), &[7; 4096])?;
//! disk.flush()?;
//! disk.write(Lba(0), &[8; 4096])?;
//! // The power goes: nothing is closed.
//! let chip = disk.chip().get::<SimChip>().ok_or("another chip")?.clone();
//!
//! let mut disk = Ftl::open(chip, OpenOptions::default())?;
//! let mut block = [0; 4096];
//! disk.read(Lba(0), &mut block)?;
//! assert!(block == [7; 4096] || block == [8; 4096]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod aftermath;
mod age;
mod check;
mod checkpoint;
mod clean;
mod clean_ahead;
mod commit;
mod counters;
mod device;
mod erase;
mod error;
mod findings;
mod flash;
mod freeing;
mod ftl;
mod gaps;
mod head;
mod identity;
mod idle;
mod info;
mod layout;
mod leaf;
mod leaves;
mod line;
mod listed;
mod load;
mod log;
mod lost_pages;
mod map;
mod map_log;
mod map_pages;
mod moving;
mod newest;
mod newest_page;
mod open;
mod opened;
mod pace;
mod packed;
mod patrol;
mod policy;
mod quick_scrub;
mod record;
mod recorded;
mod recover;
mod repair;
mod replay;
mod replaying;
mod rewrite;
mod roots;
mod sealing;
mod seek;
mod segment;
mod segments;
mod server;
mod shape;
mod space;
mod status;
mod stream;
mod summary;
mod supply;
mod survey;
mod table;
mod tag;
mod tails;
#[cfg(test)]
mod testing;
mod trims;
mod trust;
mod undo;
mod unsure;
mod waiting;
mod without_parity;

pub use check::{CheckReport, check};
pub use counters::{Counters, Start};
pub use error::{FtlError, Missing};
pub use findings::Finding;
pub use ftl::Ftl;
pub use info::Info;
pub use open::{CreateOptions, Export, OpenOptions, create, probe};
pub use patrol::Scrubbed;
pub use policy::PolicyNames;
pub use repair::{RepairOptions, repair};
