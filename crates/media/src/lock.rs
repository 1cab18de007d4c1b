//! Opening files so that two processes never write to the same medium.

use std::format;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::MediaError;

/// A locked file. The lock goes with it, and not with the last copy of its descriptor: a process that is being started
/// holds one for a moment.
#[derive(Debug)]
pub(crate) struct Locked(File);

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing it comes next.
        let _ = self.0.unlock();
    }
}

/// Opens a file or device, for readers together or for one writer, without waiting. A disk is not written to while it is mounted,
/// or held by anyone else of its kind.
pub(crate) fn open_locked(path: &Path, read_only: bool) -> Result<Locked, MediaError> {
    let mut options = OpenOptions::new();
    options.read(true).write(!read_only);
    if !read_only && fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device()) {
        // The kernel keeps this by device, whatever path leads to it, for mounts, swap, RAID and whoever else asks so.
        options.custom_flags(libc::O_EXCL);
    }
    let file = options.open(path).map_err(|source| match source.kind() {
        ErrorKind::ResourceBusy => MediaError::Busy { path: path.to_path_buf(), holder: None },
        _ => MediaError::Io { what: "open", path: path.to_path_buf(), source },
    })?;
    lock(file, path, read_only)
}

/// The process that holds a lock on a file, where Linux tells and can see it.
fn holder(file: &File) -> Option<u32> {
    let found = file.metadata().ok()?;
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let (major, minor) = (libc::major(found.dev()), libc::minor(found.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let of = |line: &str| {
        // A number, `FLOCK`, `ADVISORY`, `WRITE`, the process, the file.
        let mut words = line.split_whitespace().skip(4);
        let process = words.next()?.parse().ok().filter(|process| *process > 0)?;
        (words.next()? == wanted).then_some(process)
    };
    locks.lines().find_map(of)
}

/// Looks for the holder of a lock: Linux's list may leave one out while others come and go.
const LOOKS: u32 = 4;

/// Locks a file, for readers together (`shared`) or for one writer, without waiting.
pub(crate) fn lock(file: File, path: &Path, shared: bool) -> Result<Locked, MediaError> {
    let try_lock = || if shared { file.try_lock_shared() } else { file.try_lock() };
    let (mut locked, mut by) = (try_lock(), None);
    for _ in 0..LOOKS {
        if !matches!(locked, Err(TryLockError::WouldBlock)) || by.is_some() {
            break;
        }
        by = holder(&file);
        if by.is_none() {
            // It may have let go before it was looked for.
            locked = try_lock();
        }
    }
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => MediaError::Busy { path: path.to_path_buf(), holder: by },
        TryLockError::Error(source) => MediaError::Io { what: "lock", path: path.to_path_buf(), source },
    })?;
    Ok(Locked(file))
}

/// Makes a file, or with `force` opens the one that is there, and locks it for writing. Its contents are not touched
/// yet, so that a file in use stays whole.
pub(crate) fn create_locked(path: &Path, force: bool) -> Result<Locked, MediaError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(force).create_new(!force).truncate(false).open(path);
    let file = file.map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => MediaError::Exists(path.to_path_buf()),
        _ => MediaError::Io { what: "create", path: path.to_path_buf(), source },
    })?;
    lock(file, path, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock that goes while its holder is looked for is one that can be had.
    #[test]
    fn whoever_is_in_the_way_has_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("medium");
        drop(create_locked(&path, false).unwrap());
        for _ in 0..2000 {
            let locked = open_locked(&path, false).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| drop(locked));
                match open_locked(&path, false) {
                    Ok(_) | Err(MediaError::Busy { holder: Some(_), .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            });
        }
    }

    #[test]
    fn a_copy_of_the_descriptor_keeps_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("medium");
        let locked = create_locked(&path, false).unwrap();
        let copy = locked.try_clone().unwrap();
        assert!(
            matches!(create_locked(&path, true), Err(MediaError::Busy { holder: Some(own), .. }) if own == std::process::id())
        );
        drop(locked);
        assert!(create_locked(&path, true).is_ok());
        drop(copy);
    }
}
