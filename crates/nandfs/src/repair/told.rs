//! The content of records of names, where directories are rebuilt from tags.

use alloc::{collections::BTreeMap, vec::Vec};

use hashbrown::HashMap;

use crate::names::{Meaning, NameRecord};

/// A record as its page has it.
pub(super) struct Page {
    pub(super) seq: u64,
    /// Its place among those of one fsync.
    pub(super) place: u32,
    pub(super) is_last: bool,
    pub(super) record: NameRecord,
}

/// The meaning of a name by a record of this sequence number, with the print of the inode's birth.
#[derive(Clone, Copy)]
pub(super) struct Tale {
    pub(super) seq: u64,
    pub(super) meaning: Meaning,
    pub(super) born: u8,
}

/// The promises of fsync about names, each with the sequence number of the newest record that tells it.
#[derive(Default)]
pub(super) struct Told {
    pub(super) names: BTreeMap<u32, BTreeMap<Vec<u8>, Tale>>,
    gone: HashMap<u32, u64>,
    /// The records, in order.
    pub(super) records: Vec<(u64, NameRecord)>,
}

impl Told {
    /// Takes all records that the chip has: those of an fsync that did not end were promised by nobody.
    pub(super) fn of(mut pages: Vec<Page>) -> Told {
        pages.sort_by_key(|page| page.seq);
        let mut told = Told::default();
        let mut open = Vec::new();
        for Page { seq, place, is_last, record } in pages {
            if place == 0 {
                open.clear();
            }
            open.push((seq, record));
            if is_last {
                open.drain(..).for_each(|(seq, record)| told.add(seq, record));
            }
        }
        told
    }

    fn add(&mut self, seq: u64, record: NameRecord) {
        for change in &record.changes {
            let names = self.names.entry(change.dir).or_default();
            names.insert(change.name.clone(), Tale { seq, meaning: change.meaning, born: change.born });
        }
        let gone = record.links.iter().filter(|link| link.nlink == 0);
        self.gone.extend(gone.map(|link| (link.ino, seq)));
        self.records.push((seq, record));
    }

    /// True if an inode was taken away after this.
    pub(super) fn is_gone(&self, ino: u32, seq: u64) -> bool {
        self.gone.get(&ino).is_some_and(|gone| *gone > seq)
    }
}
