//! Paths inside an image: bytes, absolute or relative to the root, which is the same.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use pumice_vfs::{Attr, Errno, FileKind, FileSystem, FsError, Ino};

use crate::failure::{Failure, Outcome};

/// Links that are followed before a path counts as a loop, as on Linux.
const LINKS_MAX: usize = 40;

/// Finds a path. A symbolic link at its end is not followed; links on the way are.
///
/// # Errors
/// What lookups fail with; an empty path is none, as on Linux.
pub(crate) fn find(fs: &dyn FileSystem, path: &OsStr) -> Outcome<Attr> {
    not_empty(path)?;
    walk(fs, path.as_bytes(), false).map_err(|error| Failure::inside(path.as_bytes(), &error))
}

/// The same, following a link at the end.
pub(crate) fn find_target(fs: &dyn FileSystem, path: &OsStr) -> Outcome<Attr> {
    not_empty(path)?;
    walk(fs, path.as_bytes(), true).map_err(|error| Failure::inside(path.as_bytes(), &error))
}

/// Splits a path into the directory of its last name and that name; an error for the root.
pub(crate) fn split<'a>(fs: &dyn FileSystem, path: &'a OsStr) -> Outcome<(Ino, &'a [u8])> {
    not_empty(path)?;
    let bytes = path.as_bytes();
    let fail = |errno: Errno| Failure::inside(bytes, &errno.into());
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let trimmed = bytes.get(..end).unwrap_or_default();
    let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let (dir, name) = trimmed.split_at(start);
    if name.is_empty() {
        return Err(Failure::new(format!(
            "{}: the root directory itself; name something in it",
            path.display()
        )));
    }
    if name == b"." || name == b".." {
        return Err(Failure::new(format!("{}: ends in a dot; give the name itself", path.display())));
    }
    let dir = walk(fs, dir, true).map_err(|error| Failure::inside(bytes, &error))?;
    if dir.kind != FileKind::Dir {
        return Err(fail(Errno::NotDir));
    }
    Ok((dir.ino, name))
}

fn not_empty(path: &OsStr) -> Outcome {
    if path.is_empty() { Err(Failure::new(format!("'': {}", Errno::NoEntry))) } else { Ok(()) }
}

/// Follows a path from the root. Names still to be walked are kept on a stack, so that the target of a link
/// takes the place of the link.
fn walk(fs: &dyn FileSystem, path: &[u8], follow_last: bool) -> Result<Attr, FsError> {
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
            return Err(FsError::new(
                Errno::Invalid,
                format!("more than {LINKS_MAX} symbolic links on the way"),
            ));
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

/// `dir/name`, for messages and lists.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = dir.to_vec();
    if !path.is_empty() && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{dir, link, memory};

    fn find_bytes(fs: &dyn FileSystem, path: &str) -> Result<Attr, String> {
        find_target(fs, OsStr::new(path)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn links_are_followed_within_the_image() {
        let fs = memory();
        let a = dir(&fs, Ino::ROOT, b"a");
        let b = dir(&fs, a, b"b");
        link(&fs, a, b"absolute", b"/a/b");
        link(&fs, b, b"up", b"../../a/absolute");
        for path in ["/a/b", "a/absolute", "/a//absolute/.", "a/b/up", "../../a/b/up/up"] {
            assert_eq!(find_bytes(&fs, path).map(|attr| attr.ino), Ok(b), "{path}");
        }
        assert_eq!(find(&fs, OsStr::new("a/absolute")).map(|attr| attr.kind).ok(), Some(FileKind::Symlink));
    }

    #[test]
    fn a_circle_of_links_ends() {
        let fs = memory();
        link(&fs, Ino::ROOT, b"x", b"y");
        link(&fs, Ino::ROOT, b"y", b"x");
        assert!(find_bytes(&fs, "x").is_err_and(|text| text.contains("40 symbolic links")));
    }

    #[test]
    fn the_root_cannot_be_split() {
        let fs = memory();
        assert!(split(&fs, OsStr::new("/")).is_err());
        for missing in [split(&fs, OsStr::new("")).map(drop), find(&fs, OsStr::new("")).map(drop)] {
            assert_eq!(missing.unwrap_err().to_string(), "'': no such file or directory");
        }
        assert_eq!(split(&fs, OsStr::new("/name/")).ok(), Some((Ino::ROOT, b"name".as_slice())));
    }
}
