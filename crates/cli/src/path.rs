//! Paths inside an image, with messages that name them.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

pub(crate) use pumice_vfs::path::join;
use pumice_vfs::{Attr, FileSystem, FsError, Ino, path};

use crate::failure::{Failure, Outcome};

/// Finds a path. A symbolic link at its end is not followed; links on the way are.
pub(crate) fn find(fs: &dyn FileSystem, path: &OsStr) -> Outcome<Attr> {
    path::find(fs, path.as_bytes()).map_err(|error| named(path, &error))
}

/// The same, following a link at the end.
pub(crate) fn find_target(fs: &dyn FileSystem, path: &OsStr) -> Outcome<Attr> {
    path::find_target(fs, path.as_bytes()).map_err(|error| named(path, &error))
}

/// Splits a path into the directory of its last name and that name; an error for the root.
pub(crate) fn split<'a>(fs: &dyn FileSystem, path: &'a OsStr) -> Outcome<(Ino, &'a [u8])> {
    path::split(fs, path.as_bytes()).map_err(|error| named(path, &error))
}

fn named(path: &OsStr, error: &FsError) -> Failure {
    if path.is_empty() {
        Failure::new(format!("'': {error}"))
    } else {
        Failure::inside(path.as_bytes(), error)
    }
}
