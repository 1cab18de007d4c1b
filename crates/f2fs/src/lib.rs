//! F2FS, the flash-friendly file system of Linux (Lee et al., FAST 2015), on disk compatible with the kernel.
//!
//! Its floors, each standing on those before it:
//!
//! 1. [`layout`] declares what stands on the medium, and nothing else.
//! 2. [`Volume`] is an opened volume: super block, checkpoint, logs, tables, and a cache of blocks. What writes stands
//!    on it too.
//! 3. [`Nodes`] are inodes, addresses, attributes and directories, with what fsync promised rolled forward.
//! 4. The reader makes bytes and names of them; it owns keys and verifiers.
//! 5. [`F2fs`] is all that as a [`pumice_vfs::FileSystem`]; [`check`] looks at everything.

pub mod check;
pub mod compress;
pub mod crc;
pub mod crypt;
mod error;
pub mod fold;
mod fs;
pub mod hash;
mod ids;
pub mod layout;
mod nodes;
mod reader;
mod recovery;
pub mod verity;
mod volume;

pub use error::{Corrupt, Error, Place, Result};
pub use fs::{F2fs, MountOptions};
pub use nodes::{Mapped, Nodes, Owner, Run};
pub use recovery::Recovery;
pub use volume::{Area, Block, LogHead, Node, Volume, read_super_block, read_super_blocks};
