//! The search for nodes: every block of the main area that says it is one, and of each number the newest.
//!
//! Of two the newer was written behind the newer checkpoint. Behind the same checkpoint their order in the log counts: in
//! a segment by address, and from one to the next by where nodes say that the log goes on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use pumice_vfs::FileKind;

use crate::{
    layout::{BlockAddr, INODE_GENERATION_OFFSET, NatEntry, Nid, NodeFooter, NodeOffset, SegNo},
    volume::{Node, Volume},
    word::word,
};

/// Segments that the nodes behind one checkpoint are followed through, at most.
const STEPS_MAX: u32 = 1024;

/// The trust in a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Trust {
    /// Its segment holds other things by the look of it, its checksum is wrong, or the checkpoint does not have it.
    Doubtful,
    /// It is what it says.
    Sound,
    /// The NAT leads to it.
    Known,
}

/// A node that was found.
#[derive(Clone, Copy)]
struct Seen {
    trust: Trust,
    version: u32,
    addr: BlockAddr,
    ino: Nid,
    /// An inode that fsync gave its name.
    is_promised: bool,
}

/// A block that says it is a node.
struct Candidate<'b> {
    addr: BlockAddr,
    footer: NodeFooter,
    block: &'b [u8],
}

/// The result of a search.
pub(super) struct Found {
    /// The newest node of each number.
    pub(super) nodes: BTreeMap<Nid, NatEntry>,
    /// Inodes to which fsync promised a name behind the newest checkpoint of all nodes.
    pub(super) promised: BTreeSet<Nid>,
    /// Blocks of the main area that cannot be read.
    pub(super) unread: u64,
    /// The newest checkpoint that one of them was written behind.
    pub(super) version: u32,
}

/// The nodes that are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// The newest of each number.
    Newest,
    /// The same, where checkpoint and NAT are to be believed if nodes agree with them.
    Stored,
    /// The newest that the NAT has no more: not those in use, nor older copies of them.
    Deleted,
}

/// A search under way.
struct Scan<'a> {
    volume: &'a Volume,
    wanted: Wanted,
    newest: BTreeMap<Nid, Seen>,
    /// Nodes of the same number and version in other segments.
    equals: Vec<(Nid, Seen)>,
    /// The segment in which a log goes on behind another, with nodes of a version.
    leads: BTreeMap<(SegNo, u32), SegNo>,
    unread: u64,
}

/// Looks through the main area, once.
///
/// Time: one read of the main area. Memory: about 50 bytes for each number, and as many for each second node of the same
/// number and version.
pub(super) fn scan(volume: &Volume, wanted: Wanted) -> Found {
    let (newest, equals, leads) = Default::default();
    let mut scan = Scan { volume, wanted, newest, equals, leads, unread: 0 };
    let mut buffer = Vec::new();
    for segno in (0..volume.super_block().main_segments()).map(SegNo) {
        let start = volume.segment_start(segno);
        if u64::from(start.0).saturating_mul(volume.block_size().bytes_u64()) >= volume.device_bytes() {
            // An image that was cut short has nothing from here on.
            break;
        }
        scan.segment(segno, start, &mut buffer);
    }
    scan.decide();
    let version = scan.newest_version();
    let promised = scan.promised(version);
    let entry = |seen: Seen| NatEntry { version: 0, ino: seen.ino, addr: seen.addr };
    let nodes = scan.newest.into_iter().map(|(nid, seen)| (nid, entry(seen))).collect();
    Found { nodes, promised, unread: scan.unread, version }
}

impl Scan<'_> {
    fn segment(&mut self, segno: SegNo, start: BlockAddr, buffer: &mut Vec<u8>) {
        let width = self.volume.block_size().width();
        buffer.resize(self.volume.super_block().blocks_per_segment() as usize * width, 0);
        if self.volume.read_blocks(start, buffer).is_err() {
            self.read_singly(start, buffer);
        }
        let blocks = (0..).zip(buffer.chunks_exact(width));
        let found: Vec<Candidate<'_>> = blocks
            .filter_map(|(offset, block)| {
                let addr = start.plus(offset)?;
                Some(Candidate { addr, footer: node_footer(self.volume, block)?, block })
            })
            .collect();
        let stays = |found: &Candidate<'_>| {
            let next = self.volume.segment_of(found.footer.next).map(|(segno, _)| segno);
            found.footer.next == BlockAddr::NULL || next == Some(segno) && found.footer.next > found.addr
        };
        // The log of a segment goes on in it, but for the last node; nodes in a file that is an image itself lead elsewhere.
        let is_log = found.iter().filter(|found| stays(found)).count() * 2 >= found.len();
        let is_asked_for = |found: &Candidate<'_>| self.wanted != Wanted::Deleted || self.is_deleted(found);
        let asked = found.into_iter().filter(is_asked_for).map(|found| {
            let trust = self.trust(&found, is_log || found.addr.0 == start.0 + 511);
            (found, trust)
        });
        let asked: Vec<_> = asked.collect();
        for (candidate, trust) in asked {
            self.offer(segno, &candidate, trust);
        }
    }

    /// Reads each block by itself; those that cannot be read are zeros.
    fn read_singly(&mut self, start: BlockAddr, buffer: &mut [u8]) {
        for (offset, block) in (0..).zip(buffer.chunks_exact_mut(self.volume.block_size().width())) {
            if start.plus(offset).is_none_or(|addr| self.volume.read_blocks(addr, block).is_err()) {
                block.fill(0);
                self.unread += 1;
            }
        }
    }

    /// True for a node that is not in use and is no older copy of one that is: its number is free, or another's.
    fn is_deleted(&self, candidate: &Candidate<'_>) -> bool {
        let footer = &candidate.footer;
        // One whose entry cannot be read may be in use.
        let Ok(entry) = self.volume.stored_nat_entry(footer.nid) else { return false };
        if !entry.is_used() || footer.is_inode() != (entry.ino == footer.nid) {
            return true;
        }
        if !footer.is_inode() {
            return entry.ino != footer.ino;
        }
        let used = self.volume.block(entry.addr);
        entry.addr != candidate.addr
            && used.is_ok_and(|used| generation(&used) != generation(candidate.block))
    }

    fn trust(&self, candidate: &Candidate<'_>, is_log: bool) -> Trust {
        let Candidate { addr, footer, block } = candidate;
        if self.wanted == Wanted::Stored {
            let entry = self.volume.stored_nat_entry(footer.nid).unwrap_or_default();
            if (entry.addr, entry.ino) == (*addr, footer.ino) {
                return Trust::Known;
            }
            // Nodes behind the checkpoint count only as far as fsync promised them, and rolling forward finds those.
            let behind = low(self.volume.checkpoint().version());
            if !is_newer(behind, low(footer.cp_version)) {
                return Trust::Doubtful;
            }
        }
        let is_sound = !footer.is_inode() || {
            let node =
                Node { addr: *addr, footer: *footer, block: Arc::new(block.to_vec()), as_stored: true };
            self.volume.inode_in(footer.ino, node).is_ok()
        };
        if is_log && is_sound { Trust::Sound } else { Trust::Doubtful }
    }

    /// Keeps a node if it is newer than the one of its number.
    fn offer(&mut self, segno: SegNo, candidate: &Candidate<'_>, trust: Trust) {
        let (footer, version) = (&candidate.footer, low(candidate.footer.cp_version));
        let next = self.volume.segment_of(footer.next).map(|(segno, _)| segno);
        if let Some(next) = next.filter(|next| *next != segno && trust != Trust::Doubtful) {
            self.leads.insert((segno, version), next);
        }
        let is_promised = footer.is_inode() && footer.is_fsync && footer.is_dentry;
        let seen = Seen { trust, version, addr: candidate.addr, ino: footer.ino, is_promised };
        let Some(known) = self.newest.get_mut(&footer.nid) else {
            self.newest.insert(footer.nid, seen);
            return;
        };
        let is_other = self.volume.segment_of(known.addr).map(|(segno, _)| segno) != Some(segno);
        if (known.trust, known.version) == (trust, version) && is_other {
            self.equals.push((footer.nid, seen));
        } else if (known.trust, known.version) == (trust, version)
            || known.trust < trust
            || known.trust == trust && is_newer(version, known.version)
        {
            *known = seen;
        }
    }

    /// Decides between nodes of one number and one version: the log leads from the older to the newer.
    fn decide(&mut self) {
        for (nid, seen) in std::mem::take(&mut self.equals) {
            let Some(known) = self.newest.get(&nid).copied() else { continue };
            let is_equal = (known.trust, known.version) == (seen.trust, seen.version);
            if is_equal && self.leads_to(&known, &seen) {
                self.newest.insert(nid, seen);
            }
        }
    }

    fn sound(&self) -> impl Iterator<Item = (&Nid, &Seen)> {
        self.newest.iter().filter(|(_, seen)| seen.trust != Trust::Doubtful)
    }

    fn newest_version(&self) -> u32 {
        let newer = |one: u32, other: u32| if is_newer(other, one) { other } else { one };
        self.sound().map(|(_, seen)| seen.version).fold(0, newer)
    }

    fn promised(&self, newest: u32) -> BTreeSet<Nid> {
        let promised = self.sound().filter(|(_, seen)| seen.is_promised && seen.version == newest);
        promised.map(|(nid, _)| *nid).collect()
    }

    /// True if a log leads from the segment of one node to that of another, with nodes of their version.
    fn leads_to(&self, from: &Seen, to: &Seen) -> bool {
        let segment = |seen: &Seen| self.volume.segment_of(seen.addr).map(|(segno, _)| segno);
        let (Some(mut here), Some(end)) = (segment(from), segment(to)) else { return false };
        for _ in 0..STEPS_MAX {
            match self.leads.get(&(here, from.version)) {
                Some(next) if *next == end => return true,
                Some(next) => here = *next,
                None => return false,
            }
        }
        false
    }
}

/// The generation of an inode, which is another one for each file that had its number.
fn generation(block: &[u8]) -> Option<&[u8]> {
    block.get(INODE_GENERATION_OFFSET..INODE_GENERATION_OFFSET + 4)
}

/// The part of a version that is not a checksum.
fn low(version: u64) -> u32 {
    word(version & u64::from(u32::MAX))
}

/// Versions may wrap around; 0 is none.
fn is_newer(version: u32, other: u32) -> bool {
    version != 0 && (other == 0 || version.wrapping_sub(other).cast_signed() > 0)
}

/// The footer of a block, if it may be a node.
fn node_footer(volume: &Volume, block: &[u8]) -> Option<NodeFooter> {
    let footer = NodeFooter::of(block)?;
    let (root, limit) = (volume.super_block().root(), volume.super_block().nid_limit());
    let is_number = |nid: Nid| nid >= root && nid.0 < limit;
    let words = volume.block_size().node_words();
    // An inode, two direct nodes, three that lead to others, and those.
    let places = 6 + 2 * words + words * (words + 1);
    let is_place = footer.offset.0 < places || footer.offset == NodeOffset::XATTR;
    let fits = is_number(footer.nid)
        && is_number(footer.ino)
        && footer.is_inode() == (footer.offset == NodeOffset::INODE)
        && is_place
        && (footer.next == BlockAddr::NULL || volume.is_main(footer.next));
    let mode = block.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let is_kind = !footer.is_inode() || FileKind::from_mode(mode.into()).is_some();
    (fits && is_kind).then_some(footer)
}
