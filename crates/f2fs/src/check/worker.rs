//! What a thread of the check has: what it found, and what is left to be looked at when all have come so far.

use super::{
    facts::Facts,
    findings::Findings,
    owners::{Owners, Reached},
};
use crate::{
    layout::{BlockAddr, Nid},
    volume::Volume,
};

/// A thread of the check.
pub(super) struct Worker<'a> {
    pub(super) volume: &'a Volume,
    pub(super) owners: Owners<'a>,
    pub(super) findings: Findings,
    pub(super) buffer: Vec<u8>,
    pub(super) facts: Vec<Facts>,
    pub(super) left: Left,
    pub(super) leaves: Vec<LeafRef>,
    pub(super) clusters: Vec<ClusterRef>,
}

/// What is looked at when all nodes were read.
#[derive(Default)]
pub(super) struct Left {
    pub(super) references: Vec<Reference>,
    pub(super) names: Vec<Name>,
    /// Places in the table of nodes, and their places in the tree of their inode.
    pub(super) footers: Vec<(u32, u32)>,
    /// Files with fs-verity.
    pub(super) sealed: Vec<Nid>,
}

/// A pointer from a node to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) from: Nid,
    pub(super) to: Nid,
    pub(super) ino: Nid,
    /// The place that `to` has in the tree of its inode.
    pub(super) offset: u32,
}

/// An entry of a directory other than `.` and `..`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) directory: Nid,
    pub(super) block: u64,
    pub(super) slot: u32,
    pub(super) ino: Nid,
    pub(super) file_type: u8,
    /// A digest of the name, folded where case is ignored.
    pub(super) digest: u64,
}

/// A block of directory entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafRef {
    pub(super) directory: Nid,
    pub(super) addr: BlockAddr,
    /// Block of the directory.
    pub(super) index: u64,
}

/// The first stored block of a compressed cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterRef {
    pub(super) ino: Nid,
    pub(super) addr: BlockAddr,
    /// Block of the file.
    pub(super) index: u64,
    /// Blocks that are stored.
    pub(super) stored: u32,
}

impl<'a> Worker<'a> {
    pub(super) fn new(volume: &'a Volume, reached: &'a Reached) -> Worker<'a> {
        Worker {
            volume,
            owners: Owners::new(volume, reached),
            findings: Findings::default(),
            buffer: Vec::new(),
            facts: Vec::new(),
            left: Left::default(),
            leaves: Vec::new(),
            clusters: Vec::new(),
        }
    }
}

impl Left {
    pub(super) fn merge(&mut self, other: Left) {
        self.references.extend(other.references);
        self.names.extend(other.names);
        self.footers.extend(other.footers);
        self.sealed.extend(other.sealed);
    }
}
