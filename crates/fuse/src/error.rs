//! Errors of mounting and serving.

use std::{fmt, io, path::PathBuf};

/// The reason why mounting failed, or why a session ended with an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum MountError {
    /// The kernel has no FUSE, or this process may not use it.
    NoFuse(io::Error),
    /// The mount point is missing, is not a directory, or may not be used.
    Mountpoint(PathBuf, io::Error),
    /// The kernel or `fusermount3` refused.
    Refused(PathBuf, String),
    /// The session ended with an error.
    Session(io::Error),
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MountError::NoFuse(error) => {
                write!(
                    f,
                    "cannot open /dev/fuse: {error}; load the kernel module (modprobe fuse) or check its permissions"
                )
            }
            MountError::Mountpoint(path, error) => {
                write!(f, "cannot mount on {}: {error}; name an existing directory", path.display())
            }
            MountError::Refused(path, why) => write!(f, "cannot mount on {}: {why}", path.display()),
            MountError::Session(error) => write!(f, "the connection to the kernel broke: {error}"),
        }
    }
}

impl std::error::Error for MountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MountError::NoFuse(error) | MountError::Mountpoint(_, error) | MountError::Session(error) => {
                Some(error)
            }
            MountError::Refused(..) => None,
        }
    }
}
