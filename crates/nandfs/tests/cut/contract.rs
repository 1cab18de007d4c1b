//! What may be found after a power cut.
//!
//! A power cut leaves the tree of the last checkpoint, plus everything that fsync promised since. Checkpoints
//! come whenever the file system likes between two calls, and `sync`, `fsync` of a directory and unmounting
//! make one. So with `done` calls finished, the last that made a checkpoint for sure being number `d`, the
//! tree found must equal, in every name, byte, time and attribute, one of these:
//!
//! - for some `j` in `d..=done`: the whole tree as it was after call `j`, in which each inode that an fsync
//!   among the calls `j+1..=done` named is as it was at its last such fsync; a new one under its name, with the
//!   times of its directory moved on to its birth. An inode whose names changed between `j` and its fsync
//!   rules that `j` out: such an fsync needs a checkpoint;
//! - if the call that was cut is an fsync, the same with and without it.
//!
//! Nothing else: no call is half there, no name is lost or there twice, no block of a file is newer than another
//! one's fsync.

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_vfs::Ino;

use super::image::{Image, Mismatch, Node};

/// What a call promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    Nothing,
    /// This inode, by its number in the model.
    Inode(Ino),
    Everything,
}

/// The trees after each call, and what the calls promised.
pub struct History {
    /// `images[i]` is the tree after `i` calls, from `first` on.
    images: Vec<Image>,
    promises: Vec<Promise>,
    /// Calls forgotten since: they cannot matter any more.
    first: usize,
}

impl History {
    pub fn new(start: Image) -> History {
        History { images: vec![start], promises: Vec::new(), first: 0 }
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
    pub fn push(&mut self, image: Image, promise: Promise) {
        if promise == Promise::Everything {
            self.first += self.promises.len() + 1;
            self.promises.clear();
            self.images.clear();
        } else {
            self.promises.push(promise);
        }
        self.images.push(image);
    }

    /// Starts again from what was found after a cut.
    pub fn restart(&mut self, image: Image) {
        self.push(image, Promise::Everything);
    }

    /// All trees that may be found after a cut in a call of this promise, newest first, each with the call after which
    /// the checkpoint was made.
    pub fn allowed(&self, cut: Promise) -> impl Iterator<Item = (usize, Image)> + '_ {
        let with_cut = Some(cut).filter(|cut| matches!(cut, Promise::Inode(_)));
        let cuts = [None].into_iter().chain(with_cut.map(Some));
        let bases = (0..self.images.len()).rev();
        bases.flat_map(move |base| cuts.clone().map(move |cut| (base, cut))).filter_map(|(base, cut)| {
            let tree = self.tree(base, cut)?;
            Some((self.first + base, tree))
        })
    }

    /// Whether a tree may be found after a cut in a call of this promise. The error tells what was wrong with the
    /// newest allowed trees.
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
        let mut synced: BTreeMap<Ino, usize> = BTreeMap::new();
        for (at, promise) in self.promises.iter().enumerate().skip(base) {
            if let Promise::Inode(ino) = promise {
                // An fsync changes nothing: the tree before it is the tree after it.
                synced.insert(*ino, at);
            }
        }
        if let Some(Promise::Inode(ino)) = cut {
            synced.insert(ino, self.images.len() - 1);
        }
        let mut image = self.images[base].clone();
        for (ino, at) in synced {
            let then = &self.images[at];
            if image.0.contains_key(&ino) {
                if image.names_of(ino) != then.names_of(ino) {
                    return None;
                }
                image.0.insert(ino, Arc::clone(then.0.get(&ino)?));
            } else {
                adopt(&mut image, ino, then)?;
            }
        }
        Some(image)
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
