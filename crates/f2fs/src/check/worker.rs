//! The state of a thread of the check: its findings, and the work left for when all have come so far.

use super::{
    facts::Facts,
    findings::Findings,
    nat::NodeTable,
    owners::{Owners, Reached},
    quota::Usages,
};
use crate::{
    layout::{BlockAddr, Nid},
    volume::Volume,
};

/// A thread of the check.
pub(super) struct Worker<'a> {
    pub(super) volume: &'a Volume,
    pub(super) table: &'a NodeTable,
    pub(super) owners: Owners<'a>,
    pub(super) findings: Findings,
    pub(super) buffer: Vec<u8>,
    /// The facts of inodes that more is to be counted of.
    pub(super) facts: Vec<Facts>,
    /// The use by the inodes that are counted.
    pub(super) usage: Usages,
    /// Blocks of those that are counted.
    pub(super) blocks: u64,
    pub(super) left: Left,
    pub(super) twins: Vec<Twin>,
    pub(super) leaves: Vec<LeafRef>,
    pub(super) clusters: Vec<ClusterRef>,
}

/// The work left for when all nodes were read.
#[derive(Default)]
pub(super) struct Left {
    pub(super) references: Vec<Reference>,
    /// Digests of all names, each with its directory.
    pub(super) digests: Vec<u64>,
    /// Nodes that are no inodes: places in the table, and places in the tree of their inode.
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

/// An entry of a directory that seems to be there twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Twin {
    /// The digest of directory and name.
    pub(super) digest: u64,
    pub(super) directory: Nid,
    pub(super) block: u64,
    pub(super) slot: u32,
}

/// A block of directory entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafRef {
    pub(super) directory: Nid,
    pub(super) addr: BlockAddr,
    /// Block of the directory; `None` if it is the inode's own.
    pub(super) index: Option<u64>,
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
    pub(super) fn new(
        volume: &'a Volume,
        table: &'a NodeTable,
        reached: &'a Reached,
        findings: Findings,
    ) -> Worker<'a> {
        Worker {
            volume,
            table,
            owners: Owners::new(volume, reached),
            findings,
            buffer: Vec::new(),
            facts: Vec::new(),
            usage: Usages::default(),
            blocks: 0,
            left: Left::default(),
            twins: Vec::new(),
            leaves: Vec::new(),
            clusters: Vec::new(),
        }
    }
}

impl Left {
    pub(super) fn merge(&mut self, mut other: Left) {
        self.references.append(&mut other.references);
        self.digests.append(&mut other.digests);
        self.footers.append(&mut other.footers);
        self.sealed.append(&mut other.sealed);
    }
}
