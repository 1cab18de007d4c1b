//! Any [`pumice_vfs::FileSystem`] as a mount, through FUSE.
//!
//! A file system of one file, mounted and read:
//!
//! ```
//! use std::{fs, path::Path, sync::Arc};
//!
//! use pumice_fuse::{MountOptions, mount};
//! use pumice_vfs::{Attr, DirEntry, Errno, FileKind, FileSystem, Ino, Result, SpaceInfo, Timestamp};
//!
//! const TEXT: &[u8] = b"hello\n";
//! const FILE: Ino = Ino(2);
//!
//! struct Hello;
//!
//! impl FileSystem for Hello {
//!     fn space(&self) -> Result<SpaceInfo> {
//!         Ok(SpaceInfo { block_bytes: 4096, name_max: 255, ..SpaceInfo::default() })
//!     }
//!
//!     fn attr(&self, ino: Ino) -> Result<Attr> {
//!         let (kind, perm, size) = match ino {
//!             Ino::ROOT => (FileKind::Dir, 0o555, 0),
//!             FILE => (FileKind::File, 0o444, TEXT.len() as u64),
//!             _ => return Err(Errno::Stale.into()),
//!         };
//!         let (time, nlink) = (Timestamp::default(), if kind == FileKind::Dir { 2 } else { 1 });
//!         Ok(Attr { ino, kind, perm, size, nlink, uid: 0, gid: 0, rdev: 0, allocated: size, generation: 0,
//!             atime: time, mtime: time, ctime: time, btime: time })
//!     }
//!
//!     fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Attr> {
//!         match (dir, name) {
//!             (Ino::ROOT, b"hello") => self.attr(FILE),
//!             (Ino::ROOT, b"." | b"..") => self.attr(Ino::ROOT),
//!             (Ino::ROOT, _) => Err(Errno::NoEntry.into()),
//!             _ => Err(Errno::NotDir.into()),
//!         }
//!     }
//!
//!     fn parent(&self, _dir: Ino) -> Result<Ino> {
//!         Ok(Ino::ROOT)
//!     }
//!
//!     fn read(&self, _ino: Ino, offset: u64, buffer: &mut [u8]) -> Result<usize> {
//!         let rest = TEXT.get(offset as usize..).unwrap_or_default();
//!         let count = rest.len().min(buffer.len());
//!         buffer[..count].copy_from_slice(&rest[..count]);
//!         Ok(count)
//!     }
//!
//!     fn readdir(&self, _dir: Ino, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
//!         if cookie == 0 {
//!             each(DirEntry { name: b"hello", ino: FILE, kind: FileKind::File, cookie: 1 });
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # if !Path::new("/dev/fuse").exists() {
//! #     eprintln!("SKIPPED: no /dev/fuse");
//! #     return Ok(());
//! # }
//! # let dir = tempfile::tempdir()?;
//! # let directory = dir.path();
//! let mut options = MountOptions::default();
//! options.apply("ro")?;
//! let session = mount(Arc::new(Hello), directory, &options)?;
//! assert_eq!(fs::read(directory.join("hello"))?, TEXT);
//! session.unmounter().unmount();
//! session.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The kernel checks permissions (`default_permissions` is always on) and caches names, attributes and
//! pages. The file system must be changed through this mount only, so that the cache stays right. The kernel
//! passes on each write at once, without write-back caching: otherwise the kernel, not the file system, would
//! set modification times.
//!
//! After a power cut, everything that `fsync` was called on is there, and everything else that is older than
//! a few seconds. `sync(2)` and `syncfs(2)` do not reach a FUSE file system, so they promise nothing here.

mod acl;
mod advise;
mod attr;
mod dir;
mod error;
mod flags;
mod front;
mod idle;
mod node;
mod options;
mod refs;
mod reply;
mod server;
mod session;
mod table;
mod volume;

pub use attr::now;
pub use error::MountError;
pub use options::{MountOptions, OptionError, Users};
pub use session::{Session, Unmounter, mount};
pub use table::mount_options;
