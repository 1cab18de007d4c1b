//! File systems in memory for unit tests.
#![allow(clippy::unwrap_used)]

use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp, model::MemFs};

/// An empty one, at a fixed time.
pub(crate) fn memory() -> MemFs {
    MemFs::new(Box::new(|| Timestamp { seconds: 1_000_000_000, nanos: 7 }))
}

/// A node without owner.
pub(crate) fn node(kind: FileKind, perm: u32) -> NewNode<'static> {
    NewNode { kind, perm, uid: 0, gid: 0, rdev: 0, target: b"" }
}

pub(crate) fn dir(fs: &dyn FileSystem, parent: Ino, name: &[u8]) -> Ino {
    fs.create(parent, name, &node(FileKind::Dir, 0o755)).unwrap().ino
}

pub(crate) fn file(fs: &dyn FileSystem, parent: Ino, name: &[u8], content: &[u8]) -> Ino {
    let ino = fs.create(parent, name, &node(FileKind::File, 0o644)).unwrap().ino;
    fs.write(ino, 0, content).unwrap();
    ino
}

pub(crate) fn link(fs: &dyn FileSystem, parent: Ino, name: &[u8], target: &[u8]) -> Ino {
    fs.create(parent, name, &NewNode { target, ..node(FileKind::Symlink, 0o777) }).unwrap().ino
}
