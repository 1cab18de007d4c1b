//! Any [`pumice_vfs::FileSystem`] as a mount, through FUSE.
//!
//! The kernel checks permissions (`default_permissions` is always on) and caches names, attributes and
//! pages: the file system is only ever changed through its one mount, so what the kernel knows stays true.
//! Writes go through to the file system at once; the kernel holds none back, because then it would be the
//! kernel, not the file system, that decides modification times.
//!
//! What survives a power cut: everything that `fsync` was called on, and the rest at most a few seconds after
//! it was written. `sync(2)` and `syncfs(2)` do not reach a FUSE file system, so they promise nothing here.

mod acl;
mod attr;
mod dir;
mod error;
mod front;
mod idle;
mod node;
mod options;
mod refs;
mod reply;
mod server;
mod session;
mod volume;

pub use error::MountError;
pub use options::{MountOptions, OptionError};
pub use session::{Session, Unmounter, mount};
