//! The kind of each inode, its own count of links, and the number of names found: nine bytes, for there may be millions
//! of them.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use pumice_vfs::FileKind;

use crate::layout::file_type;

/// The links by place in the table of nodes. Several threads count.
pub(super) struct Links {
    /// As entries of directories have it; 0 if the node is no inode, or none that makes sense.
    types: Vec<AtomicU8>,
    stored: Vec<AtomicU32>,
    names: Vec<AtomicU32>,
}

impl Links {
    /// Counts for a table of so many nodes, none read yet.
    pub(super) fn new(nodes: usize) -> Links {
        let words = || (0..nodes).map(|_| AtomicU32::new(0)).collect();
        Links { types: (0..nodes).map(|_| AtomicU8::new(0)).collect(), stored: words(), names: words() }
    }

    /// An inode was read, which counts so many links.
    pub(super) fn note(&self, place: usize, kind: FileKind, links: u32) {
        debug_assert!(place < self.types.len(), "node {place} is one of {}", self.types.len());
        if let (Some(kind_at), Some(stored)) = (self.types.get(place), self.stored.get(place)) {
            kind_at.store(file_type(kind), Ordering::Relaxed);
            stored.store(links, Ordering::Relaxed);
        }
    }

    /// An entry names an inode.
    pub(super) fn count_name(&self, place: usize) {
        if let Some(names) = self.names.get(place) {
            names.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The kind of an inode; `None` if none was read.
    pub(super) fn file_type(&self, place: usize) -> Option<u8> {
        let found = self.types.get(place)?.load(Ordering::Relaxed);
        (found != 0).then_some(found)
    }

    /// The links that an inode counts, and the names that it has.
    pub(super) fn of(&self, place: usize) -> Counts {
        let word = |words: &[AtomicU32]| words.get(place).map_or(0, |word| word.load(Ordering::Relaxed));
        Counts { links: word(&self.stored), names: word(&self.names) }
    }

    /// The number of inodes that are directories, and of all others.
    pub(super) fn kinds(&self) -> [u64; 2] {
        let mut counts = [0, 0];
        for found in (0..self.types.len()).filter_map(|place| self.file_type(place)) {
            let [directories, others] = &mut counts;
            *(if found == file_type(FileKind::Dir) { directories } else { others }) += 1;
        }
        counts
    }
}

/// Links of an inode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// As it counts them.
    pub(super) links: u32,
    /// As directories have them.
    pub(super) names: u32,
}
