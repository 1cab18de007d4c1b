//! The common parts of the papers' file systems. Each of them says where bytes and names stand on flash; the calls of
//! a file system, and all that they check before anything is written, stand here once.
//!
//! A file system has a volume with [`Inodes`], [`Names`], [`Content`] and [`Volume`]; [`Mounted`] makes of it one that
//! several threads may call.
//!
//! ```
//! use pumice_common::{PageCache, pieces};
//!
//! // A write of 600 bytes at byte 1000, in blocks of 512 bytes.
//! let parts: Vec<_> = pieces(512, 1000, 600).map(|piece| (piece.number, piece.from, piece.bytes)).collect();
//! assert_eq!(parts, [(1, 488, 24), (2, 0, 512), (3, 0, 64)]);
//!
//! let mut cache = PageCache::new(4);
//! (0..5).for_each(|page| cache.insert(page, [page; 512]));
//! assert!(cache.get(0).is_none() && cache.get(4).is_some());
//! ```

mod attributes;
mod bytes;
mod cache;
mod content;
mod error;
mod identity;
mod inodes;
mod mode;
mod mounted;
mod names;
mod piece;
mod volume;
mod xattrs;

pub use attributes::Attributes;
pub use bytes::{get_time, get_u32, put_time, put_u32};
pub use cache::PageCache;
pub use content::{Content, Cover};
pub use error::{chip, damaged};
pub use identity::{FormatOptions, Identity, LABEL_MAX, is_of};
pub use inodes::{Inodes, ROOT};
pub use mode::Mode;
pub use mounted::{MountOptions, Mounted};
pub use names::{Found, In, Names};
pub use piece::{Piece, number_of, pieces};
pub use volume::Volume;
pub use xattrs::Xattrs;
