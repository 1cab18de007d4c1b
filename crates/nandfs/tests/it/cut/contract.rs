//! The trees that may be found after a power cut.
//!
//! A power cut leaves the tree of the last checkpoint, plus every promise of fsync since. Checkpoints come whenever the
//! file system likes between two calls, and `sync` and unmounting make one. With `done` calls finished, let `d` be the
//! number of the last that made a checkpoint for sure. The tree found must equal, in every name, byte, time and
//! attribute, one of these:
//!
//! - for some `j` in `d..=done`: the whole tree as it was after call `j`. But each inode that an fsync among the calls
//!   `j+1..=done` named is as it was at its last such fsync. A new one is under its name, with the times of its
//!   directory moved on to its birth;
//! - names have one order. An fsync of a directory makes all names as they are then. So does one of an inode with
//!   changed names, or of a new inode in a directory that is new or lost a name. Changed directories are as they are
//!   then, and so are new inodes that were in no fsync. Others with changed names have the links and the ctime of then;
//! - if the call that was cut is an fsync, the same with and without it.
//!
//! Nothing else: no call is half there, no name is lost or there twice, no block of a file is newer than another one's
//! fsync.

use std::collections::BTreeSet;
use std::sync::Arc;

use pumice_vfs::Ino;

use super::image::{Image, Mismatch, Node};

/// The promise of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    Nothing,
    /// This inode, by its number in the model.
    Inode(Ino),
    /// All names, and this directory.
    Names(Ino),
    Everything,
}

/// The changes of names by a call.
#[derive(Clone, Default, Debug)]
pub struct Touched {
    pub made: Vec<Ino>,
    /// Inodes that got or lost a name, and directories that lost or moved one.
    pub moved: Vec<Ino>,
    /// Directories of which anything changed.
    pub dirs: Vec<Ino>,
}

/// The changes of names since they were promised last.
#[derive(Default)]
struct Names {
    made: BTreeSet<Ino>,
    moved: BTreeSet<Ino>,
    dirs: BTreeSet<Ino>,
    /// Inodes that are in the log, whatever happened to names.
    logged: BTreeSet<Ino>,
}

impl Names {
    fn add(&mut self, touched: &Touched) {
        self.made.extend(&touched.made);
        self.moved.extend(&touched.moved);
        self.dirs.extend(&touched.dirs);
    }

    /// True if an inode cannot be promised without its names.
    fn bind(&self, ino: Ino, then: &Image) -> bool {
        let is_unruly = |dir: &Ino| self.made.contains(dir) || self.moved.contains(dir);
        let parents = || then.names_of(ino).into_iter().map(|(dir, _)| dir);
        self.moved.contains(&ino) || (self.made.contains(&ino) && parents().any(|dir| is_unruly(&dir)))
    }

    /// Makes all names as they were then.
    fn promise(&mut self, image: &mut Image, then: &Image) {
        for dir in &self.dirs {
            match then.0.get(dir) {
                Some(node) => image.0.insert(*dir, Arc::clone(node)),
                None => image.0.remove(dir),
            };
        }
        for ino in self.made.union(&self.moved).filter(|ino| !self.dirs.contains(ino)) {
            let Some(node) = then.0.get(ino) else { continue };
            if image.0.contains_key(ino) && (!self.made.contains(ino) || self.logged.contains(ino)) {
                if let Some(there) = image.edit(*ino) {
                    (there.attr.nlink, there.attr.ctime) = (node.attr.nlink, node.attr.ctime);
                }
            } else {
                image.0.insert(*ino, Arc::clone(node));
                self.logged.insert(*ino);
            }
        }
        self.made.clear();
        self.moved.clear();
        self.dirs.clear();
    }
}

/// The trees after each call, and the promises of the calls.
pub struct History {
    /// `images[i]` is the tree after `i` calls, from `first` on.
    images: Vec<Image>,
    promises: Vec<Promise>,
    touched: Vec<Touched>,
    /// Calls forgotten since: they cannot matter any more.
    first: usize,
}

impl History {
    pub fn new(start: Image) -> History {
        History { images: vec![start], promises: Vec::new(), touched: Vec::new(), first: 0 }
    }

    /// Calls finished.
    pub fn done(&self) -> usize {
        self.first + self.promises.len()
    }

    /// The tree after the last call.
    pub fn last(&self) -> &Image {
        &self.images[self.images.len() - 1]
    }

    /// A call is finished.
    pub fn push(&mut self, image: Image, promise: Promise, touched: Touched) {
        if promise == Promise::Everything {
            self.first += self.promises.len() + 1;
            self.promises.clear();
            self.touched.clear();
            self.images.clear();
        } else {
            self.promises.push(promise);
            self.touched.push(touched);
        }
        self.images.push(image);
    }

    /// All trees that may be found after a cut in a call of this promise, newest first, each with the call after which
    /// the checkpoint was made.
    pub fn allowed(&self, cut: Promise) -> impl Iterator<Item = (usize, Image)> + '_ {
        let with_cut = Some(cut).filter(|cut| matches!(cut, Promise::Inode(_) | Promise::Names(_)));
        let cuts = [None].into_iter().chain(with_cut.map(Some));
        let bases = (0..self.images.len()).rev();
        bases.flat_map(move |base| cuts.clone().map(move |cut| (base, cut))).filter_map(|(base, cut)| {
            let tree = self.tree(base, cut)?;
            Some((self.first + base, tree))
        })
    }

    /// Whether a tree may be found after a cut in a call of this promise. The error tells the faults against the newest
    /// allowed trees.
    pub fn judge(&self, found: &Image, cut: Promise) -> Result<(), String> {
        let mut wrong = Vec::new();
        for (base, want) in self.allowed(cut) {
            match want.compare(found) {
                Ok(()) => return Ok(()),
                Err(Mismatch(alike, what)) => wrong.push((alike, base, what)),
            }
        }
        // The best fits first.
        wrong.sort();
        let lines =
            wrong.iter().rev().take(5).map(|(_, base, what)| format!("\n  as after call {base}: {what}"));
        Err(format!("no allowed tree, {} calls done:{}", self.done(), lines.collect::<String>()))
    }

    /// The tree after call `base` with the fsyncs behind it; `None` if that cannot be.
    fn tree(&self, base: usize, cut: Option<Promise>) -> Option<Image> {
        let mut names = Names::default();
        let mut image = self.images[base].clone();
        for at in base..self.promises.len() {
            names.add(&self.touched[at]);
            Self::keep(&mut image, &mut names, self.promises[at], &self.images[at + 1])?;
        }
        if let Some(cut) = cut {
            Self::keep(&mut image, &mut names, cut, self.last())?;
        }
        Some(image)
    }

    /// Keeps the promise of a call that is made when the tree is `then`.
    fn keep(image: &mut Image, names: &mut Names, promise: Promise, then: &Image) -> Option<()> {
        match promise {
            Promise::Names(dir) => {
                names.dirs.insert(dir);
                names.promise(image, then);
            }
            Promise::Inode(ino) => {
                if names.bind(ino, then) {
                    names.promise(image, then);
                }
                names.logged.insert(ino);
                match image.0.get_mut(&ino) {
                    Some(node) => *node = Arc::clone(then.0.get(&ino)?),
                    None => adopt(image, ino, then)?,
                }
            }
            Promise::Nothing | Promise::Everything => {}
        }
        Some(())
    }
}

/// Puts a new inode under its name.
fn adopt(image: &mut Image, ino: Ino, then: &Image) -> Option<()> {
    let names = then.names_of(ino);
    let [(dir, name)] = names.as_slice() else { return None };
    let node: &Arc<Node> = then.0.get(&ino)?;
    let parent = image.edit(*dir)?;
    if parent.entries.insert(name.clone(), ino).is_some() {
        return None;
    }
    parent.attr.mtime = parent.attr.mtime.max(node.attr.btime);
    parent.attr.ctime = parent.attr.ctime.max(node.attr.btime);
    image.0.insert(ino, Arc::clone(node));
    Some(())
}
