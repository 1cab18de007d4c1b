//! The NAT as a writer keeps it: entries that are newer than the medium's, and which numbers are free.

use std::collections::BTreeMap;

use super::{medium::Medium, table::Table};
use crate::{
    error::Result,
    layout::{BlockAddr, NatEntry, NatJournalEntry, Nid, SuperBlock},
};

/// Entries that changed since the last checkpoint, and the numbers in use.
pub(crate) struct Nat {
    table: Table,
    limit: u32,
    changed: BTreeMap<Nid, NatEntry>,
    next_free: u32,
    nodes: u32,
    inodes: u32,
}

impl Nat {
    /// Of a volume that has no nodes yet: numbers from `first` on are free.
    pub(crate) fn fresh(sb: &SuperBlock, first: u32) -> Nat {
        let table = Table::nat(sb);
        Nat { table, limit: sb.nid_limit(), changed: BTreeMap::new(), next_free: first, nodes: 0, inodes: 0 }
    }

    /// Takes the next free number; `None` if there is none.
    pub(crate) fn take(&mut self) -> Option<Nid> {
        let nid = Nid(self.next_free);
        (nid.0 < self.limit).then(|| {
            self.next_free += 1;
            nid
        })
    }

    /// Says where a new node is.
    pub(crate) fn add(&mut self, nid: Nid, ino: Nid, addr: BlockAddr) {
        debug_assert!(nid.0 < self.next_free && addr.is_block());
        let old = self.changed.insert(nid, NatEntry { version: 0, ino, addr });
        debug_assert!(old.is_none(), "node {nid} was added twice");
        self.nodes += 1;
        self.inodes += u32::from(nid == ino);
    }

    /// Nodes in use, inodes among them, and the lowest number that may be free.
    pub(crate) fn counts(&self) -> (u32, u32, Nid) {
        (self.nodes, self.inodes, Nid(self.next_free))
    }

    /// The table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Numbers in use, in their order, those that no node has among them.
    pub(crate) fn used(&self) -> impl Iterator<Item = Nid> {
        [0, 1, 2].map(Nid).into_iter().chain(self.changed.keys().copied())
    }

    /// Brings what changed to the medium; returns the journal, of at most `room` bytes.
    pub(crate) fn write(&mut self, medium: &mut Medium, room: usize) -> Result<Vec<u8>> {
        let entries: Vec<NatJournalEntry> = self.changed.iter().map(|(nid, entry)| (*nid, *entry)).collect();
        self.table.write(medium, &entries, room)
    }
}
