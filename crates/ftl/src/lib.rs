//! The flash memory server: a block device on raw NAND, after the FMS of the CAT paper (section 4).
//!
//! Logical blocks are never updated in place. [`create`] makes a disk on a chip, [`Ftl::open`] starts a server, which is
//! a [`BlockDevice`](pumice_media::BlockDevice), and [`Ftl::close`] ends it. The format stands in `docs/ftl-spec.md`.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod anchor;
mod checkpoint;
mod clean;
mod device;
mod error;
mod flash;
mod ftl;
mod head;
mod info;
mod layout;
mod load;
mod log;
mod open;
mod policy;
mod recover;
mod segments;
mod shape;
mod space;
mod summary;
mod table;
mod tag;
mod trims;

pub use error::FtlError;
pub use ftl::Ftl;
pub use info::{Counters, Info, Start};
pub use open::{CreateOptions, Export, OpenOptions, create};
pub use policy::PolicyNames;
