//! All nodes that the NAT and its journal know.

use super::{
    codes::Code,
    findings::{Findings, Object},
    workers::share,
};
use crate::{
    layout::{BlockAddr, NatEntry, Nid},
    volume::{Volume, nat_entry_in},
};

/// Blocks of the NAT that a worker takes at once.
const BLOCKS_AT_ONCE: u32 = 128;
/// The numbers of the two inodes that exist only in memory; number 0 is none.
const HIDDEN: u32 = 2;

/// A node that the NAT knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct NatRow {
    pub(super) nid: Nid,
    pub(super) ino: Nid,
    pub(super) addr: BlockAddr,
    pub(super) version: u8,
}

impl NatRow {
    pub(super) fn is_inode(&self) -> bool {
        self.nid == self.ino
    }
}

/// Nodes with a possible address, in the order of their numbers.
pub(super) struct NodeTable {
    rows: Vec<NatRow>,
    /// The place of the first row of each block of the NAT, and the end of the last one's.
    starts: Vec<u32>,
    per_block: u32,
    /// Inodes that have other nodes besides their own, in the order of their numbers.
    with_nodes: Vec<Nid>,
    /// Numbers in use, for each block of the NAT that has any; the hidden ones count.
    pub(super) used_in_block: Vec<(u32, u32)>,
}

impl NodeTable {
    pub(super) fn rows(&self) -> &[NatRow] {
        &self.rows
    }

    pub(super) fn row(&self, place: u32) -> Option<&NatRow> {
        self.rows.get(place as usize)
    }

    /// The address of the node at a place.
    pub(super) fn addr(&self, place: u32) -> BlockAddr {
        debug_assert!((place as usize) < self.rows.len(), "place {place} of {}", self.rows.len());
        self.row(place).map_or(BlockAddr::NULL, |row| row.addr)
    }

    pub(super) fn find(&self, nid: Nid) -> Option<(usize, &NatRow)> {
        let block = (nid.0 / self.per_block) as usize;
        let (start, end) = (*self.starts.get(block)? as usize, *self.starts.get(block + 1)? as usize);
        let rows = self.rows.get(start..end)?;
        let at = rows.binary_search_by_key(&nid, |row| row.nid).ok()?;
        rows.get(at).map(|row| (start + at, row))
    }

    /// True if an inode has other nodes besides its own.
    pub(super) fn has_nodes(&self, ino: Nid) -> bool {
        self.with_nodes.binary_search(&ino).is_ok()
    }

    /// Reads the NAT and its journal. Entries that make no sense are told and left out.
    pub(super) fn load(volume: &Volume, threads: usize, findings: &mut Findings) -> NodeTable {
        let blocks = volume.nat_blocks();
        let jobs = blocks.div_ceil(BLOCKS_AT_ONCE) as usize;
        let new = || Loader { findings: findings.another(), ..Loader::default() };
        let workers = share(threads, jobs, new, |loader, job| {
            let first = u32::try_from(job).unwrap_or(u32::MAX).saturating_mul(BLOCKS_AT_ONCE);
            loader.load(volume, first, blocks.min(first.saturating_add(BLOCKS_AT_ONCE)));
        });
        let mut entries = Vec::new();
        let mut used_in_block = Vec::new();
        for mut worker in workers {
            entries.append(&mut worker.entries);
            used_in_block.extend(worker.used);
            findings.merge(worker.findings);
        }
        let journal = volume.nat_journal();
        for (nid, _) in entries.iter().filter(|(nid, entry)| entry.ino.is_null() && journal.contains_key(nid))
        {
            findings.add(Code::NatInode, Object::Node(*nid), || {
                "its inode is 0, which cannot be (the journal has a newer entry)".to_owned()
            });
        }
        entries.retain(|(nid, _)| !journal.contains_key(nid));
        for (nid, entry) in journal {
            if nid.is_null() || nid.0 >= volume.super_block().nid_limit() {
                let limit = volume.super_block().nid_limit();
                findings.add(Code::JournalNat, Object::Node(*nid), || {
                    format!("the number is not in 1 to {}", limit - 1)
                });
            } else if entry.is_used() {
                entries.push((*nid, *entry));
            }
        }
        let mut rows: Vec<_> =
            entries.into_iter().filter_map(|(nid, entry)| checked(volume, nid, entry, findings)).collect();
        rows.sort_unstable_by_key(|row| row.nid);
        used_in_block.sort_unstable();
        let table = NodeTable::new(rows, volume.block_size().nat_entries(), used_in_block);
        table.check_inodes(findings);
        table
    }

    fn new(rows: Vec<NatRow>, per_block: u32, used_in_block: Vec<(u32, u32)>) -> NodeTable {
        let blocks = rows.last().map_or(0, |row| row.nid.0 / per_block + 1);
        let mut starts = Vec::with_capacity(blocks as usize + 1);
        // There are no more rows than numbers, which have 32 bits.
        let mut place = 0;
        for row in &rows {
            starts.resize((row.nid.0 / per_block) as usize + 1, place);
            place += 1;
        }
        starts.push(place);
        let mut with_nodes: Vec<_> = rows.iter().filter(|row| !row.is_inode()).map(|row| row.ino).collect();
        with_nodes.sort_unstable();
        with_nodes.dedup();
        NodeTable { rows, starts, per_block, with_nodes, used_in_block }
    }

    /// The inode of each node must have a node of its own.
    fn check_inodes(&self, findings: &mut Findings) {
        let is_inode = |ino: Nid| self.find(ino).is_some_and(|(_, row)| row.is_inode());
        for row in self.rows.iter().filter(|row| !row.is_inode() && !is_inode(row.ino)) {
            findings.add(Code::NatInode, Object::Node(row.nid), || {
                format!("its inode {} does not exist", row.ino)
            });
        }
    }

    /// The places in [`NodeTable::rows`] of inodes, and of all other nodes, each in the order of their addresses.
    pub(super) fn by_address(&self, findings: &mut Findings) -> [Vec<u32>; 2] {
        let mut order: Vec<(BlockAddr, u32)> = self.rows.iter().map(|row| row.addr).zip(0..).collect();
        order.sort_unstable();
        for pair in order.windows(2) {
            if let [(first, one), (second, other)] = pair
                && first == second
                && let [Some(one), Some(other)] = [one, other].map(|at| self.row(*at))
            {
                findings.add(Code::NatShared, Object::Block(*first), || {
                    format!("nodes {} and {} both stand there", one.nid, other.nid)
                });
            }
        }
        let is_inode = |at: u32| self.row(at).is_some_and(NatRow::is_inode);
        [true, false].map(|own| {
            let count = self.rows.iter().filter(|row| row.is_inode() == own).count();
            let mut places = Vec::with_capacity(count);
            places.extend(order.iter().map(|(_, at)| *at).filter(|at| is_inode(*at) == own));
            places
        })
    }
}

/// An entry that can be followed; `None` if its address or its inode makes no sense.
fn checked(volume: &Volume, nid: Nid, entry: NatEntry, findings: &mut Findings) -> Option<NatRow> {
    let NatEntry { version, ino, addr } = entry;
    if nid.0 <= HIDDEN {
        return None;
    }
    if !volume.is_main(addr) {
        let (start, end) = (volume.super_block().main_start(), volume.super_block().main_end());
        findings.add(Code::NatAddress, Object::Node(nid), || {
            format!("its address is {addr}, and the main area is {start} to {}", end - 1)
        });
        return None;
    }
    if ino.is_null() || ino.0 >= volume.super_block().nid_limit() {
        findings
            .add(Code::NatInode, Object::Node(nid), || format!("its inode is {ino}, which is out of range"));
        return None;
    }
    Some(NatRow { nid, ino, addr, version })
}

#[derive(Default)]
struct Loader {
    entries: Vec<(Nid, NatEntry)>,
    used: Vec<(u32, u32)>,
    findings: Findings,
    buffer: Vec<u8>,
}

impl Loader {
    /// Blocks `first` to `end` - 1 of the NAT, as many at once as stand in a row.
    fn load(&mut self, volume: &Volume, first: u32, end: u32) {
        let width = volume.block_size().width();
        let mut index = first;
        while index < end {
            let start = volume.nat_addr(index);
            let run = (1..end - index)
                .take_while(|ahead| start.plus(*ahead) == Some(volume.nat_addr(index + ahead)));
            let count = u32::try_from(run.count()).unwrap_or(0) + 1;
            self.buffer.resize(count as usize * width, 0);
            let mut buffer = std::mem::take(&mut self.buffer);
            if let Err(error) = volume.read_blocks(start, &mut buffer) {
                self.findings.add(Code::BlockUnreadable, Object::Block(start), || error.to_string());
            } else {
                for (block, bytes) in (index..).zip(buffer.chunks_exact(width)) {
                    self.take(volume, block, bytes);
                }
            }
            self.buffer = buffer;
            index += count;
        }
    }

    fn take(&mut self, volume: &Volume, block: u32, bytes: &[u8]) {
        if block == 0 {
            self.check_own(bytes);
        }
        if is_zero(bytes) {
            return;
        }
        let per_block = volume.block_size().nat_entries();
        let mut used = 0;
        for slot in 0..per_block {
            let entry = nat_entry_in(bytes, slot);
            if entry.is_used() {
                used += 1;
                self.entries.push((Nid(block.saturating_mul(per_block).saturating_add(slot)), entry));
            }
        }
        self.used.push((block, used));
    }
}

impl Loader {
    /// Number 0 is free, and the two inodes that exist only in memory have address 1.
    fn check_own(&mut self, bytes: &[u8]) {
        for (nid, wanted) in [(0, 0), (1, 1), (HIDDEN, 1)] {
            let found = nat_entry_in(bytes, nid).addr.0;
            if found != wanted {
                self.findings.add(Code::NatAddress, Object::Node(Nid(nid)), || {
                    format!(
                        "its address is {found}, and the volume keeps that number for itself, with {wanted}"
                    )
                });
            }
        }
    }
}

/// True if all bytes are zero.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    // Whole groups are looked at without a branch for each byte.
    let (groups, rest) = bytes.as_chunks::<64>();
    let or = |group: &[u8; 64]| group.iter().fold(0, |all, byte| all | byte);
    groups.iter().all(|group| or(group) == 0) && rest.iter().all(|byte| *byte == 0)
}
