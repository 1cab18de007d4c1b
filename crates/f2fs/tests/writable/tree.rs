//! What a mounted file system shows, in a form to compare.

use std::{collections::BTreeMap, fmt::Write};

use pumice_vfs::{FileKind, FileSystem, Ino};

use crate::manifest::escape;

/// Each path, and what is there, in words. Times are left out, and what recovery may count otherwise of a directory.
pub(crate) type Tree = BTreeMap<String, String>;

pub(crate) fn tree(fs: &dyn FileSystem) -> Tree {
    let mut all = Tree::new();
    let mut todo = vec![(".".to_owned(), Ino::ROOT)];
    while let Some((path, ino)) = todo.pop() {
        if fs.attr(ino).unwrap().kind == FileKind::Dir {
            let mut children = Vec::new();
            fs.readdir(ino, 0, &mut |entry| {
                children.push((format!("{path}/{}", escape(entry.name)), entry.ino));
                true
            })
            .unwrap();
            todo.extend(children);
        }
        let record = record(fs, ino);
        assert!(all.insert(path, record).is_none(), "a name is there twice");
    }
    all
}

/// One inode.
pub(crate) fn record(fs: &dyn FileSystem, ino: Ino) -> String {
    let attr = fs.attr(ino).unwrap();
    let mut text =
        format!("{} {:?} {:o} {} {} {}", ino.0, attr.kind, attr.perm, attr.nlink, attr.uid, attr.gid);
    match attr.kind {
        FileKind::File => {
            let mut bytes = vec![0; usize::try_from(attr.size).unwrap()];
            assert_eq!(fs.read(ino, 0, &mut bytes).unwrap(), bytes.len());
            let sum = pumice_f2fs::crc::checksum(&bytes);
            write!(text, " {} {} {sum:08x}", attr.size, attr.allocated).unwrap();
        }
        FileKind::Symlink => text += &escape(&fs.readlink(ino).unwrap()),
        _ => {}
    }
    for name in fs.list_xattr(ino).unwrap() {
        let value = fs.xattr(ino, &name).unwrap();
        write!(text, " {}={:08x}", escape(&name), pumice_f2fs::crc::checksum(&value)).unwrap();
    }
    text
}
