//! The list of faults, kept short however many there are.

use std::{collections::BTreeMap, fmt};

use super::codes::Code;
use crate::layout::{BlockAddr, Nid, SegNo, Summary};

/// Findings told in full for each code; further ones are only counted.
const TOLD: usize = 200;

/// The object of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// A super block, counted from 1.
    SuperBlock(u8),
    /// A checkpoint pack, 1 or 2.
    Checkpoint(u8),
    /// A log: 0 to 2 hot, warm and cold data, 3 to 5 hot, warm and cold nodes.
    Log(usize),
    /// A segment of the main area.
    Segment(SegNo),
    /// A block.
    Block(BlockAddr),
    /// A node.
    Node(Nid),
    /// An inode.
    Inode(Nid),
    /// A slot of a directory: its inode, the block in it, the slot.
    Entry {
        /// The directory.
        directory: Nid,
        /// Block of the directory; 0 if its entries stand in the inode.
        block: u64,
        /// The slot.
        slot: u32,
    },
    /// The quota of a user (0), group (1) or project (2).
    Quota {
        /// The one of the three.
        kind: usize,
        /// The user, group or project.
        id: u32,
    },
    /// Many of them.
    Several,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LOGS: [&str; 6] = ["hot data", "warm data", "cold data", "hot node", "warm node", "cold node"];
        const QUOTAS: [&str; 3] = ["user", "group", "project"];
        match self {
            Object::SuperBlock(number) => write!(f, "super block {number}"),
            Object::Checkpoint(pack) => write!(f, "checkpoint pack {pack}"),
            Object::Log(log) => write!(f, "{} log", LOGS.get(*log).copied().unwrap_or_default()),
            Object::Segment(segno) => write!(f, "segment {segno}"),
            Object::Block(addr) => write!(f, "block {addr}"),
            Object::Node(nid) => write!(f, "node {nid}"),
            Object::Inode(ino) => write!(f, "inode {ino}"),
            Object::Entry { directory, block, slot } => {
                write!(f, "slot {slot} of block {block} of directory {directory}")
            }
            Object::Quota { kind, id } => {
                write!(f, "quota of {} {id}", QUOTAS.get(*kind).copied().unwrap_or_default())
            }
            Object::Several => f.write_str("volume"),
        }
    }
}

/// The facts that a repair needs besides the place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Cure {
    /// None: the place says all.
    #[default]
    Place,
    /// The right number, or that of the inode that is named.
    Number(u64),
    /// The right owner of a block.
    Owner(Summary),
    /// The inodes and bytes that a quota has to count more, or fewer.
    Usage(i64, i64),
    /// The pointer that is wrong: an address of a node.
    Pointer(Nid, u16),
    /// The place in which a node is named: by node `from`, for a place of inode `ino`.
    Reference {
        /// The node that has the reference.
        from: Nid,
        /// The inode of both.
        ino: Nid,
        /// The place among the inode's nodes.
        offset: u32,
    },
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The kind of fault.
    pub code: Code,
    /// The place.
    pub object: Object,
    /// The value found, and the right one.
    pub detail: String,
    pub(crate) cure: Cure,
}

/// The findings so far.
pub(super) struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<Code, usize>,
    /// Findings told in full for each code.
    told: usize,
}

impl Default for Findings {
    fn default() -> Findings {
        Findings::told(TOLD)
    }
}

impl Findings {
    /// None yet; so many of each code are told in full.
    pub(super) fn told(told: usize) -> Findings {
        Findings { list: Vec::new(), counts: BTreeMap::new(), told }
    }

    /// None yet, for another thread.
    pub(super) fn another(&self) -> Findings {
        Findings::told(self.told)
    }

    pub(super) fn add(&mut self, code: Code, object: Object, detail: impl FnOnce() -> String) {
        self.add_with(code, object, Cure::Place, detail);
    }

    /// The same, with more for a repair.
    pub(super) fn add_with(
        &mut self,
        code: Code,
        object: Object,
        cure: Cure,
        detail: impl FnOnce() -> String,
    ) {
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= self.told {
            self.list.push(Finding { code, object, detail: detail(), cure });
        }
    }

    /// Takes over another worker's findings.
    pub(super) fn merge(&mut self, other: Findings) {
        let untold: Vec<_> =
            other.counts.iter().map(|(code, count)| (*code, count.saturating_sub(other.told))).collect();
        for finding in other.list {
            let Finding { code, object, detail, cure } = finding;
            self.add_with(code, object, cure, || detail);
        }
        for (code, count) in untold {
            *self.counts.entry(code).or_default() += count;
        }
    }

    /// The list in the order of codes and objects, so that it is the same for any order of discovery, and the number of
    /// all findings.
    pub(super) fn into_list(mut self) -> (Vec<Finding>, usize) {
        self.list.sort_by_cached_key(|finding| {
            (finding.code, format!("{:?}", finding.object), finding.detail.clone())
        });
        for (code, count) in &self.counts {
            if *count > self.told {
                let detail = format!("{} more of these", count - self.told);
                self.list.push(Finding { code: *code, object: Object::Several, detail, cure: Cure::Place });
            }
        }
        (self.list, self.counts.values().sum())
    }
}
