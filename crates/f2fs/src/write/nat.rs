//! The NAT as a writer keeps it: entries that are newer than the medium's, and which numbers are free.

use super::{medium::Medium, table::Table};
use crate::{
    error::{Place, Result, corrupt},
    layout::{BlockAddr, NatEntry, NatJournalEntry, Nid, RawNatJournalEntry, SuperBlock},
    undo::Tracked,
    volume::{Volume, nat_entry_in},
};

/// Entries that are newer than the table's, and the numbers in use.
pub(crate) struct Nat {
    table: Table,
    limit: u32,
    newer: Tracked<Nid, NatEntry>,
    /// Blocks of the table with all newer entries in their other copy, which no checkpoint knows.
    ahead: Tracked<u32, ()>,
    /// The place where the search for the next of them begins.
    ahead_cursor: u32,
    /// Numbers that were given up since the last checkpoint, which still has their nodes.
    given_up: Tracked<Nid, ()>,
    /// The place where the search for the next free number begins.
    cursor: u32,
    /// Numbers from here on were never used.
    unused_from: u32,
    nodes: u32,
    inodes: u32,
    /// The place of the search, nodes and inodes when the call under way began.
    before: (u32, u32, u32),
}

impl Nat {
    /// The NAT of a volume that has no nodes yet: numbers from `first` on are free.
    pub(crate) fn fresh(sb: &SuperBlock, first: u32) -> Nat {
        Nat {
            table: Table::nat(sb),
            limit: sb.nid_limit(),
            newer: Tracked::empty(),
            ahead: Tracked::empty(),
            ahead_cursor: 0,
            given_up: Tracked::empty(),
            cursor: first,
            unused_from: first,
            nodes: 0,
            inodes: 0,
            before: (0, 0, 0),
        }
    }

    /// As the checkpoint of a volume left it.
    pub(crate) fn load(volume: &Volume) -> Nat {
        let (sb, raw) = (volume.super_block(), volume.checkpoint().raw());
        let (_, versions) = volume.versions();
        let limit = sb.nid_limit();
        let next = raw.next_free_nid.get();
        Nat {
            table: Table::nat(sb).with_versions(versions),
            limit,
            newer: Tracked::new(volume.nat_journal().clone()),
            ahead: Tracked::empty(),
            ahead_cursor: 0,
            given_up: Tracked::empty(),
            cursor: if next < limit { next } else { sb.root().0 },
            unused_from: limit,
            nodes: raw.valid_node_count.get(),
            inodes: raw.valid_inode_count.get(),
            before: (0, 0, 0),
        }
    }

    /// A call begins, which may be taken back.
    pub(crate) fn begin(&mut self) {
        self.newer.begin();
        self.ahead.begin();
        self.given_up.begin();
        self.before = (self.cursor, self.nodes, self.inodes);
    }

    /// Keeps the changes of the call.
    pub(crate) fn keep(&mut self) {
        self.newer.keep();
        self.ahead.keep();
        self.given_up.keep();
    }

    /// Undoes the changes of the call.
    pub(crate) fn take_back(&mut self) {
        self.newer.take_back();
        self.ahead.take_back();
        self.given_up.take_back();
        (self.cursor, self.nodes, self.inodes) = self.before;
    }

    /// The entry of a node.
    pub(crate) fn entry(&self, medium: &Medium, nid: Nid) -> Result<NatEntry> {
        if nid.is_null() || nid.0 >= self.limit {
            return Err(corrupt(Place::Node(nid), "the number is", nid.0, self.limit));
        }
        if let Some(entry) = self.newer.get(&nid) {
            return Ok(*entry);
        }
        if nid.0 >= self.unused_from {
            return Ok(NatEntry::default());
        }
        let per_block = self.table.per_block();
        let block = medium.read(self.table.place(nid.0 / per_block))?;
        Ok(nat_entry_in(&block, nid.0 % per_block))
    }

    /// Finds the next free number, which is free no more; `None` if there is none.
    pub(crate) fn take(&mut self, medium: &Medium) -> Result<Option<Nid>> {
        // Numbers of a new volume are handed out once.
        let again = if self.unused_from < self.limit { 0..0 } else { 0..self.cursor.min(self.limit) };
        for nid in (self.cursor..self.limit).chain(again) {
            if self.is_free(medium, Nid(nid))? {
                self.cursor = nid + 1;
                return Ok(Some(Nid(nid)));
            }
        }
        Ok(None)
    }

    fn is_free(&self, medium: &Medium, nid: Nid) -> Result<bool> {
        if nid.0 >= self.unused_from {
            return Ok(true);
        }
        // The first numbers are the volume's own.
        Ok(nid.0 > 3 && !self.given_up.contains_key(&nid) && !self.entry(medium, nid)?.is_used())
    }

    /// A number gets a node, which may be nowhere yet ([`BlockAddr::NEW`]).
    pub(crate) fn add(&mut self, medium: &Medium, nid: Nid, ino: Nid, addr: BlockAddr) -> Result<()> {
        let old = self.entry(medium, nid)?;
        debug_assert!(!old.is_used(), "node {nid} was added twice");
        self.set(nid, NatEntry { version: old.version, ino, addr });
        self.nodes += 1;
        self.inodes += u32::from(nid == ino);
        Ok(())
    }

    /// A node went elsewhere.
    pub(crate) fn moved(&mut self, medium: &Medium, nid: Nid, addr: BlockAddr) -> Result<()> {
        let old = self.entry(medium, nid)?;
        debug_assert!(old.is_used() && addr.is_block());
        self.set(nid, NatEntry { addr, ..old });
        Ok(())
    }

    fn set(&mut self, nid: Nid, entry: NatEntry) {
        self.newer.put(nid, entry);
        self.ahead.remove(&(nid.0 / self.table.per_block()));
    }

    /// Gives a number up. Its next node has another version, if this one ever stood anywhere.
    pub(crate) fn remove(&mut self, medium: &Medium, nid: Nid) -> Result<()> {
        let old = self.entry(medium, nid)?;
        debug_assert!(old.is_used());
        let version = if old.addr.is_block() { old.version.wrapping_add(1) } else { old.version };
        self.set(nid, NatEntry { version, ino: old.ino, addr: BlockAddr::NULL });
        self.given_up.put(nid, ());
        self.nodes = self.nodes.saturating_sub(1);
        self.inodes = self.inodes.saturating_sub(u32::from(nid == old.ino));
        Ok(())
    }

    /// Numbers that were given up since the last checkpoint.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.len() as u64
    }

    /// Nodes in use, inodes among them, and where the next free number is looked for.
    pub(crate) fn counts(&self) -> (u32, u32, Nid) {
        (self.nodes, self.inodes, Nid(self.cursor))
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Numbers in use, in their order, those that no node has among them, if all of them are known.
    pub(crate) fn used(&self) -> Option<impl Iterator<Item = Nid>> {
        let known = self.unused_from < self.limit;
        known.then(|| [0, 1, 2].map(Nid).into_iter().chain(self.newer.keys().copied()))
    }

    /// Brings newer entries to the medium; returns the journal, of at most `room` bytes.
    pub(crate) fn write(&mut self, medium: &mut Medium, room: usize) -> Result<Vec<u8>> {
        debug_assert!(self.newer.values().all(|entry| entry.addr != BlockAddr::NEW));
        let entries: Vec<NatJournalEntry> = self.newer.iter().map(|(nid, entry)| (*nid, *entry)).collect();
        let ahead = &self.ahead;
        self.table.write(medium, &entries, room, |index| ahead.contains_key(&index))
    }

    /// Blocks of the table that a checkpoint would write now; none if a journal has room for all that is newer.
    pub(crate) fn behind(&self, journal_bytes: usize) -> u64 {
        if self.newer.len() * size_of::<RawNatJournalEntry>() + 2 <= journal_bytes {
            return 0;
        }
        self.behind_from(0).count() as u64
    }

    /// These blocks, from one on.
    fn behind_from(&self, first: u32) -> impl Iterator<Item = u32> {
        let per_block = self.table.per_block();
        let mut next = first;
        std::iter::from_fn(move || {
            loop {
                let (nid, _) = self.newer.range(Nid(next.saturating_mul(per_block))..).next()?;
                let index = nid.0 / per_block;
                next = index + 1;
                if !self.ahead.contains_key(&index) {
                    return Some(index);
                }
            }
        })
    }

    /// Writes one of these blocks, in turn, to its other copy: only blocks with all nodes on the medium.
    pub(crate) fn write_ahead(&mut self, medium: &mut Medium) -> Result<()> {
        let per_block = self.table.per_block();
        let entries = |index: u32| {
            let span = Nid(index * per_block)..Nid((index + 1).saturating_mul(per_block));
            self.newer.range(span).map(|(nid, entry)| (*nid, *entry)).collect::<Vec<NatJournalEntry>>()
        };
        let stands =
            |entries: &Vec<NatJournalEntry>| entries.iter().all(|(_, entry)| entry.addr != BlockAddr::NEW);
        let mut turn = self
            .behind_from(self.ahead_cursor)
            .chain(self.behind_from(0).take_while(|index| *index < self.ahead_cursor));
        let found =
            turn.find_map(|index| Some((index, entries(index))).filter(|(_, entries)| stands(entries)));
        drop(turn);
        let Some((index, entries)) = found else { return Ok(()) };
        self.table.write_other(medium, &entries)?;
        self.ahead.put(index, ());
        self.ahead_cursor = index + 1;
        Ok(())
    }

    /// Takes note of a checkpoint: the table has everything, unless it stands in a journal.
    pub(crate) fn committed(&mut self, in_journal: bool) {
        self.given_up.clear();
        self.ahead.clear();
        if !in_journal {
            self.newer.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::example::{medium, super_block};

    /// The first free numbers come behind the last number; in a new volume nothing was given back yet.
    #[test]
    fn numbers_start_again_at_the_end() {
        let (sb, medium) = (super_block(0), medium());
        let limit = sb.nid_limit();
        let mut nat = Nat { cursor: limit - 2, unused_from: limit, ..Nat::fresh(&sb, 4) };
        nat.add(&medium, Nid(5), Nid(5), BlockAddr::NEW).unwrap();
        let taken = |nat: &mut Nat| nat.take(&medium).unwrap().map(|nid| nid.0);
        assert_eq!([0; 4].map(|_| taken(&mut nat)), [limit - 2, limit - 1, 4, 6].map(Some));
        let mut nat = Nat { cursor: limit - 2, unused_from: 4, ..Nat::fresh(&sb, 4) };
        assert_eq!([0; 3].map(|_| taken(&mut nat)), [Some(limit - 2), Some(limit - 1), None]);
    }
}
