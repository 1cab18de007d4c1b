//! Whether two file systems hold the same.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::Leeway;
use super::regions::compare_content;
use super::tools::list;
use crate::{Attr, FileKind, FileSystem, FsError, Ino};

type Outcome = core::result::Result<(), String>;

/// Compares two whole trees: names, kinds, attributes, times, content, targets, extended attributes, and which names
/// are links to one inode. Inode numbers, generations, the sizes of directories and the space taken may differ.
///
/// The error names the path, and both sides, `a` first.
pub fn compare_trees(a: &dyn FileSystem, b: &dyn FileSystem) -> core::result::Result<(), String> {
    compare_trees_with(a, b, Leeway::default())
}

/// [`compare_trees`], except for the differences in `leeway`.
pub fn compare_trees_with(
    a: &dyn FileSystem,
    b: &dyn FileSystem,
    leeway: Leeway,
) -> core::result::Result<(), String> {
    let mut walk = Walk { a, b, leeway, met: BTreeMap::new(), met_back: BTreeMap::new() };
    let mut pending = Vec::from([(Vec::new(), Ino::ROOT, Ino::ROOT)]);
    while let Some((path, ino_a, ino_b)) = pending.pop() {
        let step = walk.compare_inode(&path, ino_a, ino_b);
        pending.extend(step.map_err(|what| format!("{}: {what}", display(&path)))?);
    }
    Ok(())
}

struct Walk<'a> {
    a: &'a dyn FileSystem,
    b: &'a dyn FileSystem,
    leeway: Leeway,
    met: BTreeMap<Ino, Ino>,
    met_back: BTreeMap<Ino, Ino>,
}

/// A path and the inodes it leads to on both sides.
type Pending = (Vec<u8>, Ino, Ino);

impl Walk<'_> {
    /// Compares one inode; returns the pairs below it.
    fn compare_inode(&mut self, path: &[u8], a: Ino, b: Ino) -> core::result::Result<Vec<Pending>, String> {
        let known = (self.met.insert(a, b), self.met_back.insert(b, a));
        let (attr_a, attr_b) = (told(self.a.attr(a))?, told(self.b.attr(b))?);
        match known {
            (None, None) => {}
            (Some(old_b), Some(old_a)) if old_b == b && old_a == a => {
                let twice = attr_a.kind == FileKind::Dir;
                return if twice { Err("a directory with two names".into()) } else { Ok(Vec::new()) };
            }
            _ => return Err("linked to different inodes".into()),
        }
        // The root is as old as its file system.
        let leeway = Leeway { no_btime: self.leeway.no_btime || a == Ino::ROOT, ..self.leeway };
        compare_attr(&attr_a, &attr_b, leeway)?;
        compare_xattrs((self.a, a), (self.b, b))?;
        match attr_a.kind {
            FileKind::File => compare_content((self.a, a), (self.b, b), attr_a.size)?,
            FileKind::Symlink => same("target", &told(self.a.readlink(a))?, &told(self.b.readlink(b))?)?,
            FileKind::Dir => return self.compare_dir(path, a, b),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn compare_dir(&self, path: &[u8], a: Ino, b: Ino) -> core::result::Result<Vec<Pending>, String> {
        let (entries_a, entries_b) = (checked_entries(self.a, a)?, checked_entries(self.b, b)?);
        let names = |entries: &BTreeMap<Vec<u8>, Ino>| -> Vec<String> {
            entries.keys().map(|name| format!("{}", name.escape_ascii())).collect()
        };
        same("names", &names(&entries_a), &names(&entries_b))?;
        let both = entries_a.into_iter().zip(entries_b.into_values());
        Ok(both.map(|((name, a), b)| ([path, b"/", &name].concat(), a, b)).collect())
    }
}

fn display(path: &[u8]) -> String {
    if path.is_empty() { "/".into() } else { format!("{}", path.escape_ascii()) }
}

/// The entries of a directory, after a comparison of `readdir`, `lookup` and `parent`.
fn checked_entries(fs: &dyn FileSystem, dir: Ino) -> core::result::Result<BTreeMap<Vec<u8>, Ino>, String> {
    let mut entries = BTreeMap::new();
    for (name, ino, kind) in told(list(fs, dir))? {
        let found = told(fs.lookup(dir, &name))?;
        same("inode and kind of an entry by readdir and lookup", &(ino, kind), &(found.ino, found.kind))?;
        if kind == FileKind::Dir {
            same("parent", &told(fs.parent(ino))?, &dir)?;
        }
        if entries.insert(name.clone(), ino).is_some() {
            return Err(format!("{} is handed out twice", name.escape_ascii()));
        }
    }
    Ok(entries)
}

/// Compares the attributes that all file systems have.
pub(super) fn compare_attr(a: &Attr, b: &Attr, leeway: Leeway) -> Outcome {
    same("kind", &a.kind, &b.kind)?;
    same("perm", &a.perm, &b.perm)?;
    same("nlink", &a.nlink, &b.nlink)?;
    same("owner", &(a.uid, a.gid), &(b.uid, b.gid))?;
    same("rdev", &a.rdev, &b.rdev)?;
    if a.kind != FileKind::Dir {
        same("size", &a.size, &b.size)?;
    }
    if leeway.no_times {
        return Ok(());
    }
    same("atime", &a.atime, &b.atime)?;
    same("mtime", &a.mtime, &b.mtime)?;
    same("ctime", &a.ctime, &b.ctime)?;
    if leeway.no_btime { Ok(()) } else { same("btime", &a.btime, &b.btime) }
}

fn compare_xattrs((a, ino_a): (&dyn FileSystem, Ino), (b, ino_b): (&dyn FileSystem, Ino)) -> Outcome {
    let names: BTreeSet<Vec<u8>> = told(a.list_xattr(ino_a))?.into_iter().collect();
    same("names of extended attributes", &names, &told(b.list_xattr(ino_b))?.into_iter().collect())?;
    for name in &names {
        if told(a.xattr(ino_a, name))? != told(b.xattr(ino_b, name))? {
            return Err(format!("extended attribute {} differs", name.escape_ascii()));
        }
    }
    Ok(())
}

pub(super) fn same<T: PartialEq + Debug>(what: &str, a: &T, b: &T) -> Outcome {
    if a == b { Ok(()) } else { Err(format!("{what}: {a:?} and {b:?}")) }
}

fn told<T>(result: core::result::Result<T, FsError>) -> core::result::Result<T, String> {
    result.map_err(|error| format!("{error}"))
}
