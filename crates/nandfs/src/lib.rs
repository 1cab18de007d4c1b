//! The raw-NAND file system: log-structured, mounted in a bounded number of reads at any size, in a budget of
//! memory, safe against power cuts at any instant. DESIGN and SPEC stand in the `docs` folder.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod addr;
mod api;
mod block_cache;
mod blocks;
mod bucket;
mod check;
mod checkpoint;
mod checkpoint_record;
mod clean;
mod codec;
mod dir;
mod error;
mod file;
mod flash;
mod fs;
mod fsync;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod lock;
mod log;
mod mapping;
mod mount;
mod namespace;
mod node;
mod nodes;
mod params;
mod pointers;
mod recovery;
mod roots;
mod superblock;
mod table;
mod tag;
mod volume;
mod xattr;

pub use api::{CheckReport, Finding, FormatOptions, Info, MountOptions, Progress, check, format, probe};
pub use fs::NandFs;
