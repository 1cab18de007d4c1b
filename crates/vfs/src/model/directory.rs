//! The entries of a directory of the model.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Bound;

use crate::Ino;

/// Names, and the order in which they came: an entry keeps its cookie as long as its name is there, and
/// no cookie is used twice.
pub(super) struct Directory {
    pub(super) parent: Ino,
    by_name: BTreeMap<Vec<u8>, Entry>,
    by_cookie: BTreeMap<u64, Vec<u8>>,
    last_cookie: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    ino: Ino,
    cookie: u64,
}

impl Directory {
    pub(super) fn new(parent: Ino) -> Directory {
        Directory { parent, by_name: BTreeMap::new(), by_cookie: BTreeMap::new(), last_cookie: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<Ino> {
        self.by_name.get(name).map(|entry| entry.ino)
    }

    /// Points a name, new or old, to `ino`.
    pub(super) fn put(&mut self, name: &[u8], ino: Ino) {
        if let Some(entry) = self.by_name.get_mut(name) {
            entry.ino = ino;
            return;
        }
        self.last_cookie += 1;
        self.by_name.insert(name.to_vec(), Entry { ino, cookie: self.last_cookie });
        self.by_cookie.insert(self.last_cookie, name.to_vec());
    }

    pub(super) fn remove(&mut self, name: &[u8]) {
        if let Some(entry) = self.by_name.remove(name) {
            self.by_cookie.remove(&entry.cookie);
        }
    }

    /// The first entry behind `cookie`: its cookie, name and inode.
    pub(super) fn next(&self, cookie: u64) -> Option<(u64, &[u8], Ino)> {
        let (cookie, name) = self.by_cookie.range((Bound::Excluded(cookie), Bound::Unbounded)).next()?;
        Some((*cookie, name, self.get(name)?))
    }
}
