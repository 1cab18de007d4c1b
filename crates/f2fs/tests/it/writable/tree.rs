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
    /// The bytes of a file, in pieces.
    pub(crate) pieces: Vec<Piece>,
}

/// A piece of a file's bytes: a run of the same, or a block of many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    Same(usize, u8),
    Any(Vec<u8>),
}

impl Record {
    /// The bytes of a file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Same(count, byte) => bytes.resize(bytes.len() + count, *byte),
                Piece::Any(piece) => bytes.extend_from_slice(piece),
            }
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
    let mut pieces = Vec::new();
    match attr.kind {
        FileKind::File => {
            let mut bytes = vec![0; usize::try_from(attr.size).unwrap()];
            assert_eq!(fs.read(ino, 0, &mut bytes).unwrap(), bytes.len());
            pieces = in_pieces(&bytes);
            write!(words, " {} {}", attr.size, attr.allocated).unwrap();
        }
        FileKind::Symlink => words += &escape(&fs.readlink(ino).unwrap()),
        _ => {}
    }
    for name in fs.list_xattr(ino).unwrap() {
        let value = fs.xattr(ino, &name).unwrap();
        write!(words, " {}={:08x}", escape(&name), pumice_f2fs::crc::checksum(&value)).unwrap();
    }
    Record { ino, words, pieces }
}

/// Runs of the same byte in a block: more take more room than the block.
const RUNS_MOST: usize = 64;

/// The same bytes are in the same pieces.
fn in_pieces(bytes: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in bytes.chunks(4096) {
        // Most are the same byte all over, and this is seen at once.
        let is_one = piece[1..] == piece[..piece.len() - 1];
        let runs = if is_one { vec![piece] } else { piece.chunk_by(u8::eq).take(RUNS_MOST + 1).collect() };
        if runs.len() > RUNS_MOST {
            pieces.push(Piece::Any(piece.to_vec()));
            continue;
        }
        for run in runs {
            match pieces.last_mut() {
                Some(Piece::Same(count, byte)) if *byte == run[0] => *count += run.len(),
                _ => pieces.push(Piece::Same(run.len(), run[0])),
            }
        }
    }
    pieces
}
