//! The files of a mounted file system, in a form to compare.

use std::{collections::BTreeMap, fmt::Write};

use pumice_vfs::{FileKind, FileSystem, Ino};

use crate::common::manifest::escape;

/// The record of each path. Times are left out, and counts of a directory that may differ after recovery.
pub(crate) type Tree = BTreeMap<String, Record>;

/// An inode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) ino: Ino,
    /// All but the bytes of a file, in words.
    pub(crate) words: String,
    /// The bytes of a file: how many of the same stand in a row, and which.
    pub(crate) runs: Vec<(usize, u8)>,
}

impl Record {
    /// The bytes of a file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (count, byte) in &self.runs {
            bytes.resize(bytes.len() + count, *byte);
        }
        bytes
    }
}

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
pub(crate) fn record(fs: &dyn FileSystem, ino: Ino) -> Record {
    let attr = fs.attr(ino).unwrap();
    let mut words = format!("{:?} {:o} {} {} {}", attr.kind, attr.perm, attr.nlink, attr.uid, attr.gid);
    let mut runs = Vec::new();
    match attr.kind {
        FileKind::File => {
            let mut bytes = vec![0; usize::try_from(attr.size).unwrap()];
            assert_eq!(fs.read(ino, 0, &mut bytes).unwrap(), bytes.len());
            runs = in_runs(&bytes);
            write!(words, " {} {}", attr.size, attr.allocated).unwrap();
        }
        FileKind::Symlink => words += &escape(&fs.readlink(ino).unwrap()),
        _ => {}
    }
    for name in fs.list_xattr(ino).unwrap() {
        let value = fs.xattr(ino, &name).unwrap();
        write!(words, " {}={:08x}", escape(&name), pumice_f2fs::crc::checksum(&value)).unwrap();
    }
    Record { ino, words, runs }
}

fn in_runs(bytes: &[u8]) -> Vec<(usize, u8)> {
    let mut runs: Vec<(usize, u8)> = Vec::new();
    for piece in bytes.chunks(4096) {
        // Most pieces are the same byte all over, and this is seen at once.
        let is_one = piece[1..] == piece[..piece.len() - 1];
        let parts = if is_one { vec![piece] } else { piece.chunk_by(u8::eq).collect() };
        for part in parts {
            match runs.last_mut() {
                Some((count, byte)) if *byte == part[0] => *count += part.len(),
                _ => runs.push((part.len(), part[0])),
            }
        }
    }
    runs
}
