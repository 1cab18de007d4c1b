//! The tags of all pages: the newest copy of every node, and the writes of fsync behind it.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use hashbrown::HashMap;
use pumice_vfs::Result;

use super::told::{Page, Told};
use crate::addr::Addr;
use crate::commits::Commits;
use crate::error::device;
use crate::log::Log;
use crate::names::NameRecord;
use crate::params::ANCHOR_BLOCKS;
use crate::replay_names::names_in;
use crate::survey::lengths_in;
use crate::tag::{ChunkKind, Desc, LogKind, TURNS, Tag};

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

/// The findings in the tags.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) nodes: BTreeMap<u32, Copy>,
    /// Nodes with a newer copy that does not count. They are written anew, or it would once this repair is the
    /// checkpoint.
    pub(super) outdated: BTreeSet<u32>,
    /// The time when each inode was written last.
    pub(super) inodes: HashMap<u32, u64>,
    /// The time when each page with buckets of directories was written.
    pub(super) buckets: HashMap<u32, u64>,
    /// The promises of fsync about names.
    pub(super) told: Told,
    /// Pages that fsync wrote, with the lengths of compressed blocks.
    writes: Vec<Write>,
    /// Pages with records of names.
    named: Vec<u32>,
    /// The highest sequence number.
    pub(super) seq: u64,
    /// A page behind the checkpoint counts others than those since: there was a later one.
    pub(super) is_outdated: bool,
}

/// A page that was written behind the newest checkpoint.
struct Late {
    page: u32,
    tag: Tag,
    names: Option<NameRecord>,
}

/// Pages that are believed or not by the tags of others.
#[derive(Default)]
struct Doubtful {
    told: Vec<Page>,
    repaired: Vec<(u32, Tag)>,
    late: Vec<Late>,
    /// The highest sequence number of a page that ends a repair, or belongs to none.
    ended: u64,
}

/// True if the pages behind a checkpoint were all written before the next one: each counts those before it. One whose
/// program was said to have failed, and did not, is there again.
fn is_one_epoch(late: &[Late]) -> bool {
    let mut counted: Vec<&Tag> =
        late.iter().map(|late| &late.tag).filter(|tag| tag.log.is_counted()).collect();
    counted.sort_by_key(|tag| tag.seq);
    counted.dedup_by(|next, tag| (tag.turn, &tag.descs) == (next.turn, &next.descs));
    (0..).zip(counted).all(|(pages, tag)| u32::from(tag.turn) == pages % u32::from(TURNS))
}

impl Scan {
    /// Reads every page of the log; unreadable pages, and those without proof, are passed over. Pages of repairs are
    /// believed up to the checkpoint of this sequence number; without one, if they ended. Behind it a node counts if an
    /// fsync promised it, or if there is no other: a checkpoint that was cut wrote some of the nodes that belong
    /// together.
    pub(super) fn of(log: &mut Log<'_>, checkpoint: Option<u64>) -> Result<Scan> {
        let (mut scan, mut doubtful) = (Scan::default(), Doubtful::default());
        for block in ANCHOR_BLOCKS..log.params.blocks {
            for index in 0..log.params.pages_per_block {
                let page = log.params.page(block, index);
                let Some(found) = log.pages.medium_mut().read_proved(page).map_err(device)? else {
                    continue;
                };
                scan.seq = scan.seq.max(found.tag.seq);
                let Some(tag) = Tag::of(&found, &log.params.tags) else { continue };
                if tag.log == LogKind::Sync {
                    let lengths = lengths_in(&tag, &found.payload, &log.params);
                    scan.writes.push(Write { page, tag: tag.clone(), lengths });
                }
                let names = names_in(&tag, &found.payload).filter(|_| tag.log != LogKind::Repair);
                scan.sort(page, tag, names, &mut doubtful, checkpoint);
            }
        }
        // Pages of a repair that did not end show a volume that there never was.
        let believed = checkpoint.unwrap_or(doubtful.ended);
        for (page, tag) in doubtful.repaired.iter().filter(|(_, tag)| tag.seq <= believed) {
            scan.add(*page, tag, |_| true);
        }
        scan.is_outdated = !is_one_epoch(&doubtful.late);
        scan.add_late(&doubtful.late);
        scan.told = Told::of(doubtful.told);
        Ok(scan)
    }

    /// Takes a page in, or puts it off.
    fn sort(
        &mut self,
        page: u32,
        tag: Tag,
        names: Option<(NameRecord, u32)>,
        doubtful: &mut Doubtful,
        checkpoint: Option<u64>,
    ) {
        if tag.log == LogKind::Repair {
            doubtful.ended = doubtful.ended.max(tag.commit.map_or(0, |_| tag.seq));
            doubtful.repaired.push((page, tag));
            return;
        }
        doubtful.ended = doubtful.ended.max(tag.seq);
        if let Some((record, place)) = names.clone() {
            self.named.push(page);
            doubtful.told.push(Page { seq: tag.seq, place, is_last: tag.commit.is_some(), record });
        }
        if checkpoint.is_some_and(|checkpoint| tag.seq >= checkpoint) {
            doubtful.late.push(Late { page, tag, names: names.map(|(record, _)| record) });
        } else {
            self.add(page, &tag, |_| true);
        }
    }

    /// Takes in pages written behind the checkpoint: the promises of an fsync, then nodes that have no other copy.
    fn add_late(&mut self, late: &[Late]) {
        let counted = late.iter().filter(|late| late.tag.log.is_counted());
        let Commits { last, .. } = Commits::of(counted.map(|late| (&late.tag, late.names.as_ref())));
        let is_promised = |tag: &Tag, desc: &Desc| {
            tag.log.is_counted() && last.get(&desc.index).is_some_and(|seq| *seq >= tag.seq)
        };
        for Late { page, tag, .. } in late {
            self.add(*page, tag, |desc| is_promised(tag, desc));
        }
        let known: BTreeSet<u32> = self.nodes.keys().copied().collect();
        for Late { page, tag, .. } in late {
            self.add(*page, tag, |desc| !known.contains(&desc.id));
            let nodes = tag.descs.iter().filter(|desc| desc.kind == ChunkKind::Node);
            let is_newer = |nid: &u32| self.nodes.get(nid).is_some_and(|copy| copy.seq < tag.seq);
            let newer: Vec<u32> = nodes.map(|desc| desc.id).filter(is_newer).collect();
            self.outdated.extend(newer.iter().filter(|nid| known.contains(nid)));
        }
    }

    /// The pages without which another scan would tell less.
    pub(super) fn needed(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = self.nodes.values().map(|copy| copy.addr.page);
        let (writes, _) = self.newer_writes();
        nodes.chain(writes.into_iter().map(|write| write.page)).chain(self.named.iter().copied())
    }

    /// Takes in the buckets of a page, and those of its nodes that count.
    fn add(&mut self, page: u32, tag: &Tag, mut counts: impl FnMut(&Desc) -> bool) {
        for (offset, desc) in tag.chunks() {
            match desc.kind {
                ChunkKind::Node if counts(&desc) => {
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

    /// Pages of fsync that are newer than the inode, in order, with the last commit of each. Other nodes prove nothing
    /// of that: cleaning copies unchanged ones, and an inode changes with each write.
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
