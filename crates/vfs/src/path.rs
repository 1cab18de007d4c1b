//! Paths inside a file system: bytes, absolute or relative to the root, which is the same.

use alloc::{format, string::ToString, vec::Vec};

use crate::{Attr, Errno, FileKind, FileSystem, FsError, Ino, Result};

/// Links that are followed before a path counts as a loop, as on Linux.
const LINKS_MAX: usize = 40;

/// Finds a path. A symbolic link at its end is not followed; links on the way are, and stay inside the file system.
///
/// # Errors
/// Those of [`FileSystem::lookup`]; [`Errno::NoEntry`] for an empty path, [`Errno::NotDir`] on the way or for a path that
/// ends in `/`, [`Errno::Invalid`] for a circle of links.
pub fn find(fs: &dyn FileSystem, path: &[u8]) -> Result<Attr> {
    not_empty(path)?;
    walk(fs, path, false)
}

/// Finds a path, and follows a link at its end.
///
/// # Errors
/// Those of [`find`].
pub fn find_target(fs: &dyn FileSystem, path: &[u8]) -> Result<Attr> {
    not_empty(path)?;
    walk(fs, path, true)
}

/// Splits a path into the directory of its last name, which must be there, and that name.
///
/// # Errors
/// Those of [`find`]; [`Errno::Invalid`] for the root and for paths that end in a dot.
pub fn split<'a>(fs: &dyn FileSystem, path: &'a [u8]) -> Result<(Ino, &'a [u8])> {
    not_empty(path)?;
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let trimmed = path.get(..end).unwrap_or_default();
    let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let (dir, name) = trimmed.split_at(start);
    if name.is_empty() {
        return Err(refused("the root directory itself; name something in it"));
    }
    if name == b"." || name == b".." {
        return Err(refused("ends in a dot; give the name itself"));
    }
    let dir = walk(fs, dir, true)?;
    if dir.kind == FileKind::Dir { Ok((dir.ino, name)) } else { Err(Errno::NotDir.into()) }
}

/// `dir/name`.
pub fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = dir.to_vec();
    if !path.is_empty() && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

fn refused(why: &str) -> FsError {
    FsError::new(Errno::Invalid, why.to_string())
}

/// As on Linux.
fn not_empty(path: &[u8]) -> Result<()> {
    if path.is_empty() { Err(Errno::NoEntry.into()) } else { Ok(()) }
}

/// Follows a path from the root. Names still to be walked are kept on a stack, so that the target of a link takes the
/// place of the link.
fn walk(fs: &dyn FileSystem, path: &[u8], follow_last: bool) -> Result<Attr> {
    let wants_dir = path.ends_with(b"/");
    let follow_last = follow_last || wants_dir;
    let mut here = fs.attr(Ino::ROOT)?;
    let mut todo = names(path);
    let mut links = 0;
    while let Some(name) = todo.pop() {
        if here.kind != FileKind::Dir {
            return Err(Errno::NotDir.into());
        }
        let next = fs.lookup(here.ino, &name)?;
        if next.kind != FileKind::Symlink || (todo.is_empty() && !follow_last) {
            here = next;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            let why = format!("more than {LINKS_MAX} symbolic links on the way");
            return Err(FsError::new(Errno::Invalid, why));
        }
        let target = fs.readlink(next.ino)?;
        if target.starts_with(b"/") {
            here = fs.attr(Ino::ROOT)?;
        }
        todo.extend(names(&target));
    }
    if wants_dir && here.kind != FileKind::Dir {
        return Err(Errno::NotDir.into());
    }
    Ok(here)
}

/// The names of a path, last first. `..` of the root is the root, as the file system has it.
fn names(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').rev().filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
}
