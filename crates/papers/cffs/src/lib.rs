//! CFFS (Lim, Park: An Efficient NAND Flash File System for Flash Memory Storage, IEEE Transactions on Computers 55(7),
//! 2006) as its paper describes it: each inode has a page of its own, with its name and most of its index; inodes lie
//! apart from data, so that a mount reads inodes alone. `docs/cffs.md` has the choices where the paper is silent.
//! `cargo doc --document-private-items` shows the format, version 1, in the modules `layout`, `spare`, `inode`, `index`,
//! `map_block` and `record`.
//!
//! ```
//! use pumice_cffs::{Cffs, FormatOptions, MountOptions, format};
//! use pumice_media::{ChipSpec, SimChip};
//! use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};
//!
//! let chip = format(SimChip::new(&ChipSpec::named("k9s1208")?), &FormatOptions::default())?;
//! let mount = |chip| {
//!     let clock = Box::new(Timestamp::default);
//!     Cffs::mount(chip, MountOptions { read_only: false, cache_bytes: 1 << 20, clock })
//! };
//!
//! let fs = mount(chip)?;
//! let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
//! let note = fs.create(Ino::ROOT, b"note", &node)?.ino;
//! fs.write(note, 0, &[7; 10_000])?;
//! // An inode, twenty chunks, and the inode again.
//! let written = fs.volume().written();
//! assert_eq!((written.inodes, written.data), (2, 20));
//!
//! let fs = mount(fs.unmount()?)?;
//! let note = fs.lookup(Ino::ROOT, b"note")?;
//! let mut bytes = vec![0; 10_000];
//! assert_eq!(fs.read(note.ino, 0, &mut bytes)?, 10_000);
//! assert!(bytes.iter().all(|byte| *byte == 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod flash;
mod format;
mod index;
mod info;
mod inode;
mod layout;
mod map_block;
mod record;
mod spare;
mod store;
mod tree;
mod usage;
mod volume;

pub use check::check;
pub use format::{format, probe};
pub use info::Info;
pub use pumice_common::{FormatOptions, MountOptions};
pub use record::FORMAT_VERSION;
pub use store::Written;
pub use volume::Volume;

/// A mounted CFFS. A mount reads the inode-stored blocks, and the index pages of the files they tell of (2.2); an unmount
/// writes the `InodeMapBlock`.
pub type Cffs<N> = pumice_common::Mounted<Volume<'static>, N>;
