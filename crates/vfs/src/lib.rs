//! The one trait that every file system implements and every front end calls ([`FileSystem`]), a reference model of it
//! in memory (`model`), and a conformance suite for any implementation (`conformance`, a feature).
//!
//! The model is a whole file system:
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use pumice_vfs::{Errno, FileKind, FileSystem, Ino, NewNode, RenameMode, Timestamp, model::MemFs};
//!
//! let fs = MemFs::new(Box::new(Timestamp::default));
//! let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
//! let file = fs.create(Ino::ROOT, b"draft", &node)?;
//! fs.write(file.ino, 0, b"hello")?;
//! fs.rename(Ino::ROOT, b"draft", Ino::ROOT, b"final", RenameMode::NoReplace)?;
//! assert_eq!(fs.lookup(Ino::ROOT, b"draft").unwrap_err().errno(), Errno::NoEntry);
//! assert_eq!(fs.lookup(Ino::ROOT, b"final")?.size, 5);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that uses a file system finds paths, reads files as `std` does, and walks trees:
//!
//! ```
//! use std::io::Read;
//! use pumice_vfs::{File, FileKind, FileSystem, Ino, NewNode, Timestamp, model::MemFs, walk::{Step, walk}};
//!
//! let fs = MemFs::new(Box::new(Timestamp::default));
//! let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
//! fs.write(fs.create(Ino::ROOT, b"stone", &node)?.ino, 0, b"pumice")?;
//!
//! let mut text = String::new();
//! File::open(&fs, b"/stone")?.read_to_string(&mut text)?;
//! assert_eq!(text, "pumice");
//!
//! let mut files = 0;
//! let root = fs.attr(Ino::ROOT)?;
//! walk(&fs, b"/", &root, &mut |step| -> Result<(), String> {
//!     match step {
//!         Step::Enter(place) => files += u32::from(place.attr.kind == FileKind::File),
//!         Step::Leave(_) => {}
//!         Step::Lost { path, error } => return Err(format!("{}: {error}", path.escape_ascii())),
//!     }
//!     Ok(())
//! })?;
//! assert_eq!(files, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file system of one's own needs six calls if it is only read; the front page of `pumice-fuse` writes one and mounts
//! it. Whether one that is written keeps the trait's promises, the suite finds out:
//!
//! ```
//! # #[cfg(feature = "conformance")] {
//! use pumice_vfs::{FileSystem, Result, conformance::{Subject, TestClock, run_random, run_scripted}, model::MemFs};
//!
//! struct Mine(MemFs);
//!
//! impl Subject for Mine {
//!     fn fs(&self) -> &dyn FileSystem {
//!         &self.0
//!     }
//!
//!     fn remount(&mut self) -> Result<()> {
//!         self.0.remount();
//!         Ok(())
//!     }
//! }
//!
//! let fresh = |clock: &TestClock| -> Box<dyn Subject> { Box::new(Mine(MemFs::new(clock.clock()))) };
//! run_scripted(&fresh)?;
//! // 20 random sequences of 100 operations, drawn with seed 1, against the model.
//! run_random(&fresh, 20, 100, 1)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod attr;
#[cfg(feature = "conformance")]
pub mod conformance;
mod counts;
mod error;
#[cfg(feature = "std")]
mod file;
pub mod flag;
mod fs;
#[cfg(feature = "std")]
pub mod model;
pub mod path;
mod report;
pub mod walk;

pub use attr::{Attr, Clock, FileKind, FlagChange, Flags, Ino, SetAttr, SpaceInfo, Timestamp};
pub use counts::Counts;
pub use error::{Errno, FsError, Result};
#[cfg(feature = "std")]
pub use file::File;
pub use fs::{
    Access, AsFileSystem, DirEntry, FileSystem, NewNode, RenameMode, Seek, SpaceMode, Stored, XattrMode,
    check_name,
};
pub use report::{CheckReport, Finding};
