//! Names: who has one in a directory that the root leads to, and what the others may be.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pumice_vfs::{DirEntry, FileKind, FileSystem, Ino};

use super::names::{numbered, remembered};
use crate::{fs::F2fs, layout::Nid};

/// Levels of directories that a path may have.
const DEPTH_MAX: usize = 1024;

/// A directory, and its name there.
type Place = (Nid, Vec<u8>);

/// A file or directory that had a name in a part of the volume that is gone.
pub(super) struct Guess {
    pub(super) ino: Nid,
    /// The names that lead to it, its own the last. It remembered that one, and may have had another since.
    pub(super) path: Vec<Vec<u8>>,
}

/// The inodes that were found, by what their names are.
#[derive(Default)]
pub(super) struct Names {
    /// Directories, and other inodes, with a name.
    pub(super) directories: u64,
    pub(super) files: u64,
    /// Inodes with a guessed name, and what is in the directories among them.
    pub(super) guesses: Vec<Guess>,
    pub(super) guessed: u64,
    /// Inodes without a name, each once: not those that a directory among them names.
    pub(super) deleted: Vec<Nid>,
    /// Names of inodes that were not found.
    pub(super) missing: u64,
    /// All inodes with a name, a guessed one too, and quota files.
    pub(super) kept: BTreeSet<Nid>,
}

/// A walk over directories, from several starts.
struct Walk<'a> {
    fs: &'a F2fs,
    nids: &'a BTreeSet<Nid>,
    /// Every inode with a name so far.
    named: BTreeSet<Nid>,
    /// The place of each directory, of those that were not found, too.
    above: BTreeMap<Nid, Place>,
    /// Directories of which a part is gone.
    broken: BTreeSet<Nid>,
    missing: u64,
}

/// Looks at the names of all inodes in `nids`. Those in `promised` may have had one that no directory has yet.
///
/// Memory: about 40 bytes for each inode, and the name of each directory.
pub(super) fn names(fs: &F2fs, nids: &BTreeSet<Nid>, promised: &BTreeSet<Nid>) -> Names {
    let root = fs.volume().super_block().root();
    let (named, above, broken) = Default::default();
    let mut walk = Walk { fs, nids, named, above, broken, missing: 0 };
    walk.from(root);
    let mut all = Names { missing: walk.missing, kept: walk.named.clone(), ..Names::default() };
    all.directories = walk.named.iter().filter(|ino| walk.above.contains_key(*ino)).count() as u64;
    all.files = walk.named.len() as u64 - all.directories;
    let hidden = fs.volume().super_block().quota_inodes();
    all.kept.extend(hidden.iter().filter(|ino| nids.contains(ino)));
    let is_nameless = |ino: &&Nid| !walk.named.contains(ino) && !hidden.contains(ino);
    let nameless: Vec<Nid> = nids.iter().filter(is_nameless).copied().collect();
    // A whole tree misses nobody.
    let is_whole = walk.broken.is_empty();
    let tree = Tree { above: std::mem::take(&mut walk.above), broken: std::mem::take(&mut walk.broken) };
    walk.named.clear();
    for ino in &nameless {
        walk.below(*ino);
    }
    walk.above.clear();
    let inside = std::mem::take(&mut walk.named);
    for ino in nameless.iter().filter(|ino| !inside.contains(ino)) {
        let is_promised = promised.contains(ino);
        match tree.guess(fs, *ino, is_promised).filter(|_| !is_whole || is_promised) {
            Some(path) => all.guesses.push(Guess { ino: *ino, path }),
            None => all.deleted.push(*ino),
        }
    }
    for guess in &all.guesses {
        walk.from(guess.ino);
    }
    all.guessed = walk.named.len() as u64;
    all.kept.append(&mut walk.named);
    all
}

impl Walk<'_> {
    /// Goes through a directory and all below it, and takes the names.
    fn from(&mut self, start: Nid) {
        if !self.nids.contains(&start) {
            self.broken.insert(start);
            return;
        }
        self.named.insert(start);
        let mut todo = VecDeque::from([start]);
        if self.is_dir(start) {
            self.above.insert(start, (start, Vec::new()));
        }
        while let Some(dir) = todo.pop_front() {
            todo.extend(self.below(dir));
        }
    }

    fn is_dir(&self, ino: Nid) -> bool {
        self.fs.attr(Ino(ino.0.into())).is_ok_and(|attr| attr.kind == FileKind::Dir)
    }

    /// Takes the names in a directory; returns the directories that were not seen before.
    fn below(&mut self, dir: Nid) -> Vec<Nid> {
        let mut found = Vec::new();
        if !self.is_dir(dir) {
            return found;
        }
        let fs = self.fs;
        let listed = fs.readdir(Ino(dir.0.into()), 0, &mut |entry| {
            if let Ok(ino) = fs.nid(entry.ino) {
                found.extend(self.take(dir, &entry, ino));
            }
            true
        });
        if listed.is_err() {
            self.broken.insert(dir);
        }
        found
    }

    /// Takes a name; returns a directory that was not seen before.
    fn take(&mut self, dir: Nid, entry: &DirEntry<'_>, ino: Nid) -> Option<Nid> {
        let (is_there, is_dir) = (self.nids.contains(&ino), entry.kind == FileKind::Dir);
        if !is_there {
            self.missing += 1;
            if is_dir {
                self.broken.insert(ino);
            }
        }
        let is_first = !is_there || self.named.insert(ino);
        if !is_first || !is_dir || self.above.contains_key(&ino) {
            return None;
        }
        self.above.insert(ino, (dir, entry.name.to_vec()));
        is_there.then_some(ino)
    }
}

/// The directories that the root leads to.
struct Tree {
    above: BTreeMap<Nid, Place>,
    broken: BTreeSet<Nid>,
}

impl Tree {
    /// The path that an inode without a name may have had; `None` if the directory that it remembers is whole and no name
    /// was promised, or if it counts no names.
    fn guess(&self, fs: &F2fs, ino: Nid, is_promised: bool) -> Option<Vec<Vec<u8>>> {
        let (inode, _) = fs.inode(Ino(ino.0.into())).ok()?;
        let parent = inode.last_directory();
        let root = fs.volume().super_block().root();
        let is_gone = fs.nodes().inode(parent).is_err() || parent == ino;
        if !is_gone && !self.broken.contains(&parent) && !is_promised {
            return None;
        }
        let mut path = match self.above.get(&parent) {
            Some(_) => self.path(parent),
            None if parent == root => Vec::new(),
            None => vec![numbered(parent)],
        };
        path.push(remembered(&[fs], &inode).unwrap_or_else(|| numbered(ino)));
        Some(path)
    }

    fn path(&self, dir: Nid) -> Vec<Vec<u8>> {
        let (mut path, mut here) = (Vec::new(), dir);
        while let Some((above, name)) = self.above.get(&here).filter(|place| place.0 != here) {
            path.push(name.clone());
            here = *above;
            if path.len() >= DEPTH_MAX {
                break;
            }
        }
        path.reverse();
        path
    }
}
