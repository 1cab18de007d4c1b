//! RCFFS (Kang, Miller: Adding Aggressive Error Correction to a High-Performance Compressing Flash File System) as its
//! paper describes it. It has segments of erase blocks with parity pages and parity blocks, a signature for each page,
//! a mu-tree, and compressed chunks of several files in one page. `docs/rcffs.md` has the choices where the paper is
//! silent. `cargo doc --document-private-items` shows the format, version 2, in the modules `layout`, `spare`, `pack`,
//! `inode`, `directory`, `mutree`, `segment` and `open`.
//!
//! ```
//! use pumice_media::{ChipSpec, PageId, SimChip};
//! use pumice_rcffs::{FormatOptions, MountOptions, Rcffs, format};
//! use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};
//!
//! let chip = format(SimChip::new(&ChipSpec::named("rcffs-128m")?), &FormatOptions::default())?;
//! let mount = |chip| {
//!     let clock = Box::new(Timestamp::default);
//!     Rcffs::mount(chip, MountOptions { read_only: false, cache_bytes: 1 << 20, clock })
//! };
//!
//! let fs = mount(chip)?;
//! let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
//! let note = fs.create(Ino::ROOT, b"note", &node)?.ino;
//! fs.write(note, 0, &[7; 100_000])?;
//!
//! // The first page of the segment that this went to cannot be read any more: parity brings it back.
//! let mut chip = fs.unmount()?;
//! chip.faults_mut().unreadable.insert(PageId(16 * 64));
//! let fs = mount(chip)?;
//! let note = fs.lookup(Ino::ROOT, b"note")?;
//! let mut bytes = vec![0; 100_000];
//! assert_eq!(fs.read(note.ino, 0, &mut bytes)?, 100_000);
//! assert!(bytes.iter().all(|byte| *byte == 7));
//! assert_eq!(fs.volume().repairs().in_block, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod directory;
mod error;
mod flash;
mod format;
mod info;
mod inode;
mod layout;
mod log;
mod mount;
mod mutree;
mod open;
mod pack;
mod recover;
mod repair;
mod scrub;
mod segment;
mod spare;
mod store;
mod volume;

pub use check::check;
pub use format::{FormatOptions, format, probe};
pub use info::Info;
pub use log::Written;
pub use pumice_common::MountOptions;
pub use scrub::Scrub;
pub use segment::FORMAT_VERSION;
pub use store::Repairs;
pub use volume::Volume;

/// A mounted RCFFS. A mount finds the newest segment by the next k (3.3), and reads its information and the root of the
/// mu-tree; after a crash, the spare areas of one segment more (3.2).
pub type Rcffs<N> = pumice_common::Mounted<Volume<'static>, N>;
