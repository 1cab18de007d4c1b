//! F2FS, the flash-friendly file system of Linux (Lee et al., FAST 2015), on disk compatible with the kernel.
//!
//! Open an image and read a file:
//!
//! ```
//! use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring};
//! use pumice_media::FileDisk;
//! use pumice_vfs::{FileSystem, Ino, Timestamp};
//!
//! # let packed = std::fs::File::open("tests/images/basic.img.zst")?;
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("card.img");
//! # std::io::copy(&mut ruzstd::decoding::StreamingDecoder::new(packed)?, &mut std::fs::File::create(&path)?)?;
//! let card = FileDisk::open(path, 4096, true)?;
//! let options =
//!     MountOptions { cache_bytes: 8 << 20, keys: Keyring::default(), recover: Some(Timestamp::default()) };
//! let fs = F2fs::mount(vec![Box::new(card)], options)?;
//!
//! let tree = fs.lookup(Ino::ROOT, b"tree")?;
//! let mut names = Vec::new();
//! fs.readdir(tree.ino, 0, &mut |entry| {
//!     names.push(entry.name.to_vec());
//!     true
//! })?;
//! assert!(names.contains(&b"size-3400".to_vec()));
//!
//! let file = fs.lookup(tree.ino, b"size-3400")?;
//! let mut bytes = vec![0; file.size as usize];
//! assert_eq!(fs.read(file.ino, 0, &mut bytes)?, bytes.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Its floors, each standing on those before it:
//!
//! 1. [`layout`] declares the structures on the medium, and nothing else.
//! 2. [`Volume`] is an opened volume: super block, checkpoint, logs, tables, and a cache of blocks. The writer stands
//!    on it too.
//! 3. [`Nodes`] are inodes, addresses, attributes and directories, with the promises of fsync rolled forward.
//! 4. The reader makes bytes and names of them; it owns keys and verifiers.
//! 5. [`F2fs`] is all that as a [`pumice_vfs::FileSystem`]; [`check`] looks at everything.
//!
//! [`mkfs`] makes volumes, and [`WritableF2fs`] is one that is written to, as a file system.

pub mod check;
pub mod compress;
mod compression;
#[doc(hidden)]
pub mod crc;
pub mod crypt;
mod error;
#[doc(hidden)]
pub mod fold;
mod fs;
#[doc(hidden)]
pub mod hash;
mod ids;
#[doc(hidden)]
pub mod layout;
mod listing;
pub mod mkfs;
mod names;
mod nodes;
mod quota;
mod reader;
mod recovery;
pub mod repair;
pub mod rescue;
mod sealed;
mod secrets;
mod undo;
pub mod verity;
mod volume;
mod word;
mod writable;
mod write;

pub use compression::CompressionRule;
pub use error::{Corrupt, Error, Place, Result};
pub use fs::{F2fs, MountOptions};
pub use layout::{
    BlockAddr, BlockSize, CpFlags, Features, Inode, InodeFlags, Nid, NodeFooter, NodeOffset, SegNo, SitEntry,
    Summary, SummaryKind, SuperBlock,
};
pub use nodes::{Mapped, Nodes, Owner, Run};
pub use quota::{Grace, Lost, LostLimits, Quota, QuotaKind, Share};
pub use recovery::Recovery;
pub use volume::{Area, Block, LogHead, Node, PassedOver, Volume, read_super_block, read_super_blocks};
pub use writable::{
    IdleCleaning, InPlace, Logging, MasterKeys, Nonces, WritableF2fs, WritableOptions, check_writable,
};
pub use write::{discard_unit::DiscardUnit, streams::Streams};
