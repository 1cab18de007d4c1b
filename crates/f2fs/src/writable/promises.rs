//! The facts that an fsync needs of the time since the last checkpoint: those that rolling forward would find, and
//! those that it would get wrong.

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::Nid;

/// The changes since the last checkpoint.
#[derive(Default)]
pub(super) struct Promises {
    /// Inodes that it does not know: true once a node of theirs was promised that carries their name.
    made: BTreeMap<Nid, bool>,
    /// Files with nodes in the chain that no marked one of theirs follows.
    unmarked: BTreeSet<Nid>,
    /// Files that lost a node, directories that moved or got attributes: rolling forward would not see it.
    unsettled: BTreeSet<Nid>,
    /// Names that inodes left, by directory and hash: rolling forward would take the name from one that has others, and
    /// leave one that is the same but for its case.
    vacated: BTreeSet<(Nid, u32)>,
    /// Nodes that were promised.
    count: u64,
}

impl Promises {
    /// An inode was made.
    pub(super) fn make(&mut self, ino: Nid) {
        self.made.insert(ino, false);
    }

    /// An inode is gone.
    pub(super) fn drop(&mut self, ino: Nid) {
        self.made.remove(&ino);
        self.unmarked.remove(&ino);
        self.unsettled.remove(&ino);
    }

    /// True if the last checkpoint does not have an inode.
    pub(super) fn is_made(&self, ino: Nid) -> bool {
        self.made.contains_key(&ino)
    }

    /// True if rolling forward finds an inode only by a marked node that carries its name.
    pub(super) fn must_name(&self, ino: Nid) -> bool {
        self.made.get(&ino) == Some(&false)
    }

    /// A node of a file went to the chain without a mark.
    pub(super) fn leave_unmarked(&mut self, ino: Nid) {
        self.unmarked.insert(ino);
    }

    /// True if a file has nodes in the chain that were not promised.
    pub(super) fn is_unmarked(&self, ino: Nid) -> bool {
        self.unmarked.contains(&ino)
    }

    /// A marked node of a file is in the chain, one with its name if it must have that.
    pub(super) fn keep(&mut self, ino: Nid) {
        self.unmarked.remove(&ino);
        self.made.entry(ino).and_modify(|named| *named = true);
        self.count += 1;
    }

    /// An inode changed in a way that only a checkpoint keeps.
    pub(super) fn unsettle(&mut self, ino: Nid) {
        self.unsettled.insert(ino);
    }

    /// True if only a checkpoint keeps the present state of an inode.
    pub(super) fn is_unsettled(&self, ino: Nid) -> bool {
        self.unsettled.contains(&ino)
    }

    /// An inode lost the name with a hash in a directory.
    pub(super) fn vacate(&mut self, dir: Nid, hash: u32) {
        self.vacated.insert((dir, hash));
    }

    /// True if the last checkpoint may have a name with this hash that has to go.
    pub(super) fn is_vacated(&self, dir: Nid, hash: u32) -> bool {
        self.vacated.contains(&(dir, hash))
    }

    /// Nodes that were promised.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}
