//! ScaleFFS (Jung, Kim, Kim, Lee, ACM TOMCCAP 5(1), 2008) as its paper describes it: a log-structured file system on
//! raw NAND with 512-byte pages. Its mount time and memory do not grow with the chip. `docs/scaleffs.md` has the
//! choices where the paper is silent. `cargo doc --document-private-items` shows the format, version 1, in the modules
//! `layout`, `spare`, `inode`, `index`, `directory` and `checkpoint`.
//!
//! ```
//! use pumice_media::{ChipSpec, SimChip};
//! use pumice_scaleffs::{FormatOptions, MountOptions, ScaleFs, format};
//! use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};
//!
//! let chip = format(SimChip::new(&ChipSpec::named("scaleffs-256m")?), &FormatOptions::default())?;
//! let mount = |chip| {
//!     let clock = Box::new(Timestamp::default);
//!     ScaleFs::mount(chip, MountOptions { read_only: false, cache_bytes: 1 << 20, clock })
//! };
//!
//! let fs = mount(chip)?;
//! let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
//! let song = fs.create(Ino::ROOT, b"song.mp3", &node)?.ino;
//! fs.write(song, 0, &[7; 100_000])?;
//!
//! let fs = mount(fs.unmount()?)?;
//! // Reading the checkpoint and one indirect inode map block.
//! assert!(fs.stats().device_ns > 0);
//! let song = fs.lookup(Ino::ROOT, b"song.mp3")?;
//! let mut bytes = vec![0; 100_000];
//! assert_eq!(fs.read(song.ino, 0, &mut bytes)?, 100_000);
//! assert!(bytes.iter().all(|byte| *byte == 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod check;
mod checkpoint;
mod directory;
mod flash;
mod format;
mod index;
mod info;
mod inode;
mod layout;
mod log;
mod spare;
mod volume;

pub use check::check;
pub use checkpoint::FORMAT_VERSION;
pub use format::{format, probe};
pub use info::{Blocks, Info, Memory};
pub use layout::BLOCK_BYTES;
pub use pumice_common::{FormatOptions, MountOptions};
pub use volume::Volume;

/// A mounted ScaleFFS. A mount reads the newest checkpoint and the indirect inode map; after a power cut, the spare areas
/// of later writes, too, 4 MB at the most (4.5).
pub type ScaleFs<N> = pumice_common::Mounted<Volume<'static>, N>;
