//! All nodes that the NAT and its journal know.

use std::collections::HashSet;

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
#[derive(Default)]
pub(super) struct NodeTable {
    rows: Vec<NatRow>,
    /// Numbers in use, for each block of the NAT that has any; the hidden ones count.
    pub(super) used_in_block: Vec<(u32, u32)>,
}

impl NodeTable {
    pub(super) fn rows(&self) -> &[NatRow] {
        &self.rows
    }

    pub(super) fn find(&self, nid: Nid) -> Option<(usize, &NatRow)> {
        let at = self.rows.binary_search_by_key(&nid, |row| row.nid).ok()?;
        self.rows.get(at).map(|row| (at, row))
    }

    /// Reads the NAT and its journal. Entries that make no sense are told and left out.
    pub(super) fn load(volume: &Volume, threads: usize, findings: &mut Findings) -> NodeTable {
        let blocks = volume.nat_blocks();
        let jobs = blocks.div_ceil(BLOCKS_AT_ONCE) as usize;
        let workers = share(threads, jobs, Loader::default, |loader, job| {
            let first = u32::try_from(job).unwrap_or(u32::MAX).saturating_mul(BLOCKS_AT_ONCE);
            loader.load(volume, first, blocks.min(first.saturating_add(BLOCKS_AT_ONCE)));
        });
        let mut entries = Vec::new();
        let mut used_in_block = Vec::new();
        for worker in workers {
            entries.extend(worker.entries);
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
        let table = NodeTable { rows, used_in_block };
        table.check_inodes(findings);
        table
    }

    /// The inode of each node must have a node of its own.
    fn check_inodes(&self, findings: &mut Findings) {
        let inodes: HashSet<_> = self.rows.iter().filter(|row| row.is_inode()).map(|row| row.nid).collect();
        for row in self.rows.iter().filter(|row| !inodes.contains(&row.ino)) {
            findings.add(Code::NatInode, Object::Node(row.nid), || {
                format!("its inode {} does not exist", row.ino)
            });
        }
    }

    /// The places in [`NodeTable::rows`] of inodes, and of all other nodes, each in the order of their addresses.
    pub(super) fn by_address(&self, findings: &mut Findings) -> [Vec<u32>; 2] {
        let mut order: Vec<u32> = (0..).take(self.rows.len()).collect();
        let row = |at: u32| self.rows.get(at as usize).copied();
        order.sort_unstable_by_key(|at| row(*at).map(|row| (row.addr, row.nid)));
        for pair in order.windows(2) {
            let [Some(first), Some(second)] =
                [pair.first(), pair.last()].map(|at| at.and_then(|at| row(*at)))
            else {
                continue;
            };
            if first.addr == second.addr {
                findings.add(Code::NatShared, Object::Block(first.addr), || {
                    format!("nodes {} and {} both stand there", first.nid, second.nid)
                });
            }
        }
        let (inodes, others) = order.into_iter().partition(|at| row(*at).is_some_and(|row| row.is_inode()));
        [inodes, others]
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
        findings.add(Code::NatInode, Object::Node(nid), || format!("its inode is {ino}, which cannot be"));
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
    let (head, words) = bytes.as_chunks::<16>();
    words.iter().all(|byte| *byte == 0) && head.iter().all(|chunk| u128::from_ne_bytes(*chunk) == 0)
}
