//! Opening files so that two processes never write to the same medium.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use crate::MediaError;

/// Locks a file, for readers together (`shared`) or for one writer, without waiting.
pub(crate) fn lock(file: &File, path: &Path, shared: bool) -> Result<(), MediaError> {
    let locked = if shared { file.try_lock_shared() } else { file.try_lock() };
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => MediaError::Busy(path.to_path_buf()),
        TryLockError::Error(source) => MediaError::Io { what: "lock", path: path.to_path_buf(), source },
    })
}

/// Makes a file, or with `force` opens the one that is there, and locks it for writing. What it holds is not
/// touched yet, so that a file in use stays whole.
pub(crate) fn create_locked(path: &Path, force: bool) -> Result<File, MediaError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(force).create_new(!force).truncate(false).open(path);
    let file = file.map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => MediaError::Exists(path.to_path_buf()),
        _ => MediaError::Io { what: "create", path: path.to_path_buf(), source },
    })?;
    lock(&file, path, false)?;
    Ok(file)
}
