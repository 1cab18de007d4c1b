//! The raw-NAND file system: log-structured, mounted in a bounded number of reads at any size, in a budget of
//! memory, safe against power cuts at any instant. Design and specification are in the `docs` folder.
//!
//! Make one on a simulated chip, append to a file until the power is cut, and mount it again:
//!
//! ```
//! use pumice_media::{ChipSpec, CutMode, SimChip};
//! use pumice_nandfs::{FormatOptions, MountOptions, NandFs, format};
//! use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};
//!
//! // 64 erase blocks of 64 pages, each of 2048 bytes with a spare area of 64.
//! let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:64:64")?);
//! format(&mut chip, &FormatOptions::default(), &mut |_, _| {})?;
//! let mount = |chip| {
//!     let clock = Box::new(Timestamp::default);
//!     NandFs::mount(chip, MountOptions::new(1 << 20, clock))
//! };
//!
//! // The 300th operation from now on is torn in the middle.
//! chip.cut_after(300, CutMode::Torn { seed: 1 });
//! let fs = mount(chip)?;
//! let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
//! let log = fs.create(Ino::ROOT, b"log", &node)?.ino;
//! let mut promised = 0;
//! while fs.write(log, promised, &[7; 100]).and_then(|()| fs.fsync(log, false)).is_ok() {
//!     promised += 100;
//! }
//! assert!(promised > 10_000);
//!
//! let mut chip = fs.abandon().ok_or("the chip is gone")?;
//! chip.power_on();
//! let fs = mount(chip)?;
//! let log = fs.lookup(Ino::ROOT, b"log")?;
//! assert!(log.size >= promised);
//! let mut bytes = vec![0; promised as usize];
//! fs.read(log.ino, 0, &mut bytes)?;
//! assert!(bytes.iter().all(|byte| *byte == 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod addr;
mod api;
mod begin;
mod block_cache;
mod blocks;
mod bucket;
mod check;
mod checkpoint;
mod checkpoint_record;
mod chunks;
mod claims;
mod clean;
mod codec;
mod commits;
mod dir;
mod emptying;
mod end_of_life;
mod error;
mod file;
mod files;
mod fs;
mod fsync;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod ids;
mod leveler;
mod lock;
mod log;
mod losses;
mod maintain;
mod mapping;
mod memory;
mod mount;
mod moving;
mod names;
mod namespace;
mod node;
mod nodes;
mod options;
mod pace;
mod pack;
mod packer;
mod pages;
mod params;
mod patrol;
mod placing;
mod pointers;
mod promise;
mod protection;
mod quick_scrub;
mod reach;
mod recorded;
mod recovery;
mod repair;
mod replay_names;
mod room;
mod settle;
mod status;
mod superblock;
mod survey;
mod table;
mod tag;
#[cfg(test)]
mod testing;
mod volume;
mod wear;
mod window;
mod write_back;
mod xattr;
mod xattr_list;

pub use api::{cache_least, check, format, probe, repair};
pub use fs::NandFs;
pub use options::{FormatOptions, Info, MountOptions, Progress, RepairOptions, Scrubbed, WearSpread};
pub use pack::Compression;
pub use placing::PolicyNames;
pub use protection::FsyncProtection;
