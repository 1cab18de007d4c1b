//! Everything about a tree but the content of its files, to be compared.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

/// The compared attributes of one inode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    mode: u32,
    owner: (u32, u32),
    device: u64,
    /// 0 for directories: their size is the file system's own affair.
    size: u64,
    mtime: (i64, i64),
    target: Option<PathBuf>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The first name met of the same inode.
    same_as: PathBuf,
}

pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

/// Everything under each of `names` in `root`, by path from `root`.
pub(crate) fn tree(root: &Path, names: &[PathBuf]) -> Tree {
    let mut walk = Walk { root, tree: Tree::new(), inodes: HashMap::new() };
    for name in names {
        walk.enter(name);
    }
    walk.tree
}

struct Walk<'a> {
    root: &'a Path,
    tree: Tree,
    inodes: HashMap<(u64, u64), PathBuf>,
}

impl Walk<'_> {
    fn enter(&mut self, name: &Path) {
        let path = self.root.join(name);
        let found = fs::symlink_metadata(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let first = self.inodes.entry((found.dev(), found.ino())).or_insert_with(|| name.into());
        let entry = Entry {
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            device: found.rdev(),
            size: if found.is_dir() { 0 } else { found.size() },
            mtime: (found.mtime(), found.mtime_nsec()),
            target: found.is_symlink().then(|| fs::read_link(&path).unwrap()),
            xattrs: xattrs(&path),
            same_as: first.clone(),
        };
        self.tree.insert(name.into(), entry);
        if found.is_dir() {
            let mut below: Vec<_> =
                fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            below.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
            for child in below {
                self.enter(&name.join(child));
            }
        }
    }
}

fn xattrs(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut list = vec![0; 1 << 16];
    let Ok(length) = rustix::fs::llistxattr(path, &mut list[..]) else { return BTreeMap::new() };
    let names = list[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; 1 << 16];
        let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
        value.truncate(length);
        value
    };
    names.map(|name| (name.to_vec(), value(name))).collect()
}

/// Lists the first few differences.
#[track_caller]
pub(crate) fn assert_same(wanted: &Tree, got: &Tree) {
    let keys: std::collections::BTreeSet<_> = wanted.keys().chain(got.keys()).collect();
    let mut differences = keys.into_iter().filter(|path| wanted.get(*path) != got.get(*path)).peekable();
    if differences.peek().is_some() {
        let line = |path: &PathBuf| {
            format!("{}\n  want {:?}\n  have {:?}\n", path.display(), wanted.get(path), got.get(path))
        };
        let lines: Vec<String> = differences.map(line).collect();
        panic!("{} differences, first of all:\n{}", lines.len(), lines[..lines.len().min(5)].concat());
    }
}
