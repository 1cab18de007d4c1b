//! F2FS, the flash-friendly file system of Linux (Lee et al., FAST 2015), on disk compatible with the kernel.
//!
//! [`layout`] declares what stands on the medium. [`Volume`] finds its way in it: super block, checkpoint, tables,
//! nodes, blocks. [`F2fs`] is a volume as a [`pumice_vfs::FileSystem`].

mod cache;
pub mod check;
mod cluster;
pub mod compress;
mod content;
pub mod crc;
pub mod crypt;
mod dir;
mod disks;
mod error;
pub mod fold;
mod fs;
pub mod hash;
pub mod layout;
mod map;
mod names;
mod overlay;
mod owner;
mod recovery;
mod sealed;
mod secrets;
pub mod verity;
mod volume;
mod xattr;

pub use cache::Block;
pub use error::{Corrupt, Error, Place, Result};
pub use fs::{F2fs, MountOptions};
pub use map::{Mapped, Run};
pub use owner::{Area, Owner};
pub use recovery::Recovery;
pub use volume::{LogHead, Node, OpenOptions, Volume, read_super_block, read_super_blocks};
