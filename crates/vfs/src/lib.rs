//! The one trait that every file system implements and every front end calls, a reference model of it in
//! memory, and a conformance suite that any implementation can be put through.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod attr;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod fs;
#[cfg(feature = "std")]
pub mod model;

pub use attr::{Attr, Clock, FileKind, Ino, SetAttr, SpaceInfo, Timestamp};
pub use error::{Errno, FsError, Result};
pub use fs::{DirEntry, FileSystem, NewNode, RenameMode, Seek, SpaceMode, Stored, XattrMode, check_name};
