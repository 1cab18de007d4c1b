//! The tags of all pages: the newest copy of every node, and what fsync wrote behind it.

use alloc::{collections::BTreeMap, vec::Vec};

use hashbrown::HashMap;
use pumice_vfs::Result;

use super::told::{Page, Told};
use crate::addr::Addr;
use crate::error::device;
use crate::params::ANCHOR_BLOCKS;
use crate::replay_names::names_in;
use crate::survey::lengths_in;
use crate::tag::{ChunkKind, LogKind, Tag};
use crate::volume::Volume;

/// The newest copy of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) addr: Addr,
    pub(super) seq: u64,
}

/// A page that fsync wrote, with the lengths of the compressed blocks that begin there, each with its place.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) page: u32,
    pub(super) tag: Tag,
    pub(super) lengths: Vec<(u16, usize)>,
}

/// What the tags tell.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) nodes: BTreeMap<u32, Copy>,
    /// When each inode was written last.
    pub(super) inodes: HashMap<u32, u64>,
    /// When each page was written that holds buckets of directories.
    pub(super) buckets: HashMap<u32, u64>,
    /// What fsync promised of names.
    pub(super) told: Told,
    /// Pages that fsync wrote, with the lengths of compressed blocks.
    writes: Vec<Write>,
    /// Pages with records of names.
    named: Vec<u32>,
    /// The highest sequence number.
    pub(super) seq: u64,
}

impl Scan {
    /// Reads every page of the log; those that cannot be read, or prove nothing, are passed over. Pages of repairs are
    /// believed up to the checkpoint of this sequence number; without one, if they ended.
    pub(super) fn of(volume: &mut Volume<'_>, checkpoint: Option<u64>) -> Result<Scan> {
        let (mut scan, mut told) = (Scan::default(), Vec::new());
        let (mut repaired, mut ended) = (Vec::new(), 0);
        for block in ANCHOR_BLOCKS..volume.params.blocks {
            for index in 0..volume.params.pages_per_block {
                let page = volume.params.page(block, index);
                if let Some(found) = volume.log.flash.medium.read_proved(page).map_err(device)? {
                    scan.seq = scan.seq.max(found.tag.seq);
                    if let Some(tag) = Tag::of(&found, &volume.params.tags) {
                        if tag.log == LogKind::Repair {
                            ended = ended.max(tag.commit.map_or(0, |_| tag.seq));
                            repaired.push((page, tag));
                            continue;
                        }
                        ended = ended.max(tag.seq);
                        scan.add(page, &tag);
                        if tag.log == LogKind::Sync {
                            let lengths = lengths_in(&tag, &found.payload, &volume.params);
                            scan.writes.push(Write { page, tag: tag.clone(), lengths });
                        }
                        if let Some((record, place)) = names_in(&tag, &found.payload) {
                            scan.named.push(page);
                            told.push(Page { seq: tag.seq, place, is_last: tag.commit.is_some(), record });
                        }
                    }
                }
            }
        }
        // Those of a repair that did not end tell of a volume that there never was.
        let believed = checkpoint.unwrap_or(ended);
        for (page, tag) in repaired.iter().filter(|(_, tag)| tag.seq <= believed) {
            scan.add(*page, tag);
        }
        scan.told = Told::of(told);
        Ok(scan)
    }

    /// The pages without which another scan would tell less.
    pub(super) fn needed(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = self.nodes.values().map(|copy| copy.addr.page);
        let (writes, _) = self.newer_writes();
        nodes.chain(writes.into_iter().map(|write| write.page)).chain(self.named.iter().copied())
    }

    fn add(&mut self, page: u32, tag: &Tag) {
        for (offset, desc) in tag.chunks() {
            match desc.kind {
                ChunkKind::Node => {
                    let copy = Copy { addr: Addr { page, offset, len: desc.len }, seq: tag.seq };
                    let known = self.nodes.entry(desc.id).or_insert(copy);
                    if known.seq <= copy.seq {
                        *known = copy;
                    }
                    if desc.id == desc.index {
                        let newest = self.inodes.entry(desc.id).or_default();
                        *newest = tag.seq.max(*newest);
                    }
                }
                ChunkKind::Data
                    if tag.log == LogKind::Meta || tag.log == LogKind::Unpromised || tag.log.is_aside() =>
                {
                    self.buckets.insert(page, tag.seq);
                }
                _ => {}
            }
        }
    }

    /// The same without nodes that are known from elsewhere.
    pub(super) fn without(mut self, known: &[u32]) -> Scan {
        self.nodes.retain(|nid, _| known.binary_search(nid).is_err());
        self
    }

    /// Pages of fsync that are newer than the inode, in order, with the last commit of each. Other nodes tell nothing of that:
    /// cleaning copies those that did not change, and an inode changes with each write.
    pub(super) fn newer_writes(&self) -> (Vec<Write>, HashMap<u32, u64>) {
        let is_newer = |tag: &Tag| {
            let first = tag.descs.first();
            first.and_then(|desc| self.inodes.get(&desc.id)).is_some_and(|seq| tag.seq > *seq)
        };
        let mut writes: Vec<Write> =
            self.writes.iter().filter(|write| is_newer(&write.tag)).cloned().collect();
        writes.sort_by_key(|write| write.tag.seq);
        let mut commits: HashMap<u32, u64> = HashMap::new();
        for tag in writes.iter().map(|write| &write.tag).filter(|tag| tag.commit.is_some()) {
            if let Some(first) = tag.descs.first() {
                commits.insert(first.id, tag.seq);
            }
        }
        (writes, commits)
    }
}
