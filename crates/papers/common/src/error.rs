//! Errors, as callers of a file system tell them apart.

use pumice_media::NandError;
use pumice_vfs::{Errno, FsError};

/// The chip's errors as a file system's.
pub fn chip(error: NandError) -> FsError {
    let errno = if error.is_host_full() { Errno::NoSpace } else { Errno::Io };
    FsError::new(errno, error.to_string())
}

/// Something on flash that cannot be.
pub fn damaged(what: impl core::fmt::Display) -> FsError {
    FsError::new(Errno::Io, what.to_string())
}
