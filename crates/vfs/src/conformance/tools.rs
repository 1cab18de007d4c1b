//! Paths for tests: `/a/b`, without `.`, and symbolic links are not followed.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::{Attr, Errno, FileKind, FileSystem, FsError, Ino, NewNode, Result, SetAttr};

/// Bytes read at a time.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;

/// A new inode of a kind, permissions 0755 for directories and 0644 for others, owned by user and group 0.
pub(super) fn plain(kind: FileKind) -> NewNode<'static> {
    let perm = if kind == FileKind::Dir { 0o755 } else { 0o644 };
    NewNode { kind, perm, uid: 0, gid: 0, rdev: 0, target: b"" }
}

/// The inode at a path; `/` and the empty path are the root.
pub fn resolve(fs: &dyn FileSystem, path: &str) -> Result<Attr> {
    let mut at = fs.attr(Ino::ROOT)?;
    for name in names(path) {
        at = fs.lookup(at.ino, name)?;
    }
    Ok(at)
}

/// Makes a directory and those above it, as far as they are missing; returns the last.
pub fn mkdir_p(fs: &dyn FileSystem, path: &str) -> Result<Ino> {
    let mut at = Ino::ROOT;
    for name in names(path) {
        at = match fs.lookup(at, name) {
            Err(error) if error.errno() == Errno::NoEntry => fs.create(at, name, &plain(FileKind::Dir))?.ino,
            found => found?.ino,
        };
    }
    Ok(at)
}

/// Makes a regular file hold `data` and nothing else; its directory must be there.
pub fn write_file(fs: &dyn FileSystem, path: &str, data: &[u8]) -> Result<Ino> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = resolve(fs, above)?.ino;
    let ino = match fs.lookup(dir, name.as_bytes()) {
        Err(error) if error.errno() == Errno::NoEntry => {
            fs.create(dir, name.as_bytes(), &plain(FileKind::File))?.ino
        }
        found => fs.set_attr(found?.ino, &SetAttr { size: Some(0), ..SetAttr::default() })?.ino,
    };
    fs.write(ino, 0, data)?;
    Ok(ino)
}

/// All bytes of a regular file.
pub fn read_file(fs: &dyn FileSystem, path: &str) -> Result<Vec<u8>> {
    read_all(fs, resolve(fs, path)?.ino)
}

/// All bytes of a regular file, by its inode.
pub(super) fn read_all(fs: &dyn FileSystem, ino: Ino) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = fs.read(ino, content.len() as u64, &mut chunk)?;
        content.extend_from_slice(&chunk[..count]);
        if count < chunk.len() {
            return Ok(content);
        }
    }
}

/// The entries of a directory, in its own order: name, inode, kind.
pub fn list(fs: &dyn FileSystem, dir: Ino) -> Result<Vec<(Vec<u8>, Ino, FileKind)>> {
    let mut entries = Vec::new();
    fs.readdir(dir, 0, &mut |entry| {
        entries.push((entry.name.to_vec(), entry.ino, entry.kind));
        true
    })?;
    Ok(entries)
}

/// Everything there is, as paths and attributes, the root (an empty path) first and directories before their entries. A
/// directory met twice is [`Errno::Io`].
pub fn walk(fs: &dyn FileSystem) -> Result<Vec<(Vec<u8>, Attr)>> {
    let mut found = vec![(Vec::new(), fs.attr(Ino::ROOT)?)];
    let mut seen = BTreeSet::from([Ino::ROOT]);
    let mut next = 0;
    while let Some((path, attr)) = found.get(next).cloned() {
        next += 1;
        if attr.kind != FileKind::Dir {
            continue;
        }
        for (name, ino, kind) in list(fs, attr.ino)? {
            if kind == FileKind::Dir && !seen.insert(ino) {
                return Err(FsError::new(Errno::Io, "a directory has two names".to_string()));
            }
            found.push(([&path[..], b"/", &name].concat(), fs.attr(ino)?));
        }
    }
    Ok(found)
}

fn names(path: &str) -> impl Iterator<Item = &[u8]> {
    path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes)
}
