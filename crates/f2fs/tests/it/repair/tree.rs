//! The tree of a volume, damaged or not: what can be read of each path.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use pumice_f2fs::{F2fs, MountOptions, crc::checksum, crypt::Keyring};
use pumice_media::ReadAt;
use pumice_vfs::{Attr, FileKind, FileSystem, Ino, Timestamp};

/// Paths of a damaged volume that are looked at.
const PATHS_MOST: usize = 5000;

/// A record for each path; `None` where something of it cannot be read.
pub(crate) type Tree = BTreeMap<Vec<u8>, Option<String>>;

/// All paths from the root on. Nothing if the volume cannot be mounted.
pub(crate) fn tree(disk: Box<dyn ReadAt>) -> Tree {
    tree_by(disk, Keyring::default())
}

/// The same, with the keys of encrypted files.
pub(crate) fn tree_by(disk: Box<dyn ReadAt>, keys: Keyring) -> Tree {
    let options = MountOptions { cache_bytes: 1 << 20, keys, recover: Some(Timestamp::default()) };
    let mut all = Tree::new();
    let Ok(fs) = F2fs::mount(vec![disk], options) else { return all };
    let mut todo = vec![(b"/".to_vec(), Ino::ROOT)];
    let mut seen = BTreeSet::new();
    while let Some((path, ino)) = todo.pop() {
        let Ok(attr) = fs.attr(ino) else {
            all.insert(path, None);
            continue;
        };
        if attr.kind == FileKind::Dir && seen.insert(ino) {
            let _ = fs.readdir(ino, 0, &mut |entry| {
                let path = [&path[..], if path == b"/" { b"" } else { b"/" }, entry.name].concat();
                todo.push((path, entry.ino));
                todo.len() + seen.len() < PATHS_MOST
            });
        }
        all.insert(path, record(&fs, &attr));
    }
    all
}

/// Attributes and contents. The names in a directory stand for themselves.
fn record(fs: &F2fs, attr: &Attr) -> Option<String> {
    let mut digest = DefaultHasher::new();
    match attr.kind {
        FileKind::File => {
            let mut buffer = vec![0; 1 << 20];
            let mut at = 0;
            while at < attr.size.min(64 << 20) {
                let count = fs.read(attr.ino, at, &mut buffer).ok().filter(|count| *count > 0)?;
                checksum(&buffer[..count]).hash(&mut digest);
                at += count as u64;
            }
        }
        FileKind::Symlink => fs.readlink(attr.ino).ok()?.hash(&mut digest),
        _ => {}
    }
    for name in fs.list_xattr(attr.ino).ok()? {
        (&name, fs.xattr(attr.ino, &name).ok()?).hash(&mut digest);
    }
    // The size of a directory is a matter of its levels, and its time may be that of a new name.
    let is_dir = attr.kind == FileKind::Dir;
    let (size, mtime) = if is_dir { (0, Timestamp::default()) } else { (attr.size, attr.mtime) };
    Some(format!(
        "{:?} {:o} {}:{} {} {} {size} {mtime:?} {:?} {:x}",
        attr.kind,
        attr.perm,
        attr.uid,
        attr.gid,
        attr.rdev,
        if is_dir { 0 } else { attr.nlink },
        attr.atime,
        digest.finish()
    ))
}
