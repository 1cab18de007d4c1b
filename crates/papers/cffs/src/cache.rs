//! Section 2.3: the cache list. Files in it keep their index entries in memory; its size is a parameter.

use std::collections::BTreeMap;

use crate::layout::Addr;

struct Kept {
    page: Vec<u8>,
    used: u64,
}

/// Inode pages and index pages by their place: a programmed page does not change.
pub(crate) struct Cache {
    pages: BTreeMap<Addr, Kept>,
    turn: u64,
    limit: usize,
}

impl Cache {
    /// A cache of so many pages.
    pub(crate) fn new(limit: usize) -> Cache {
        Cache { pages: BTreeMap::new(), turn: 0, limit: limit.max(16) }
    }

    pub(crate) fn get(&mut self, at: Addr) -> Option<&[u8]> {
        self.turn += 1;
        let kept = self.pages.get_mut(&at)?;
        kept.used = self.turn;
        Some(&kept.page)
    }

    pub(crate) fn insert(&mut self, at: Addr, page: Vec<u8>) {
        self.turn += 1;
        self.pages.insert(at, Kept { page, used: self.turn });
        if self.pages.len() > self.limit {
            self.evict();
        }
    }

    /// Drops the quarter that was not used for longest.
    fn evict(&mut self) {
        let mut ages: Vec<u64> = self.pages.values().map(|kept| kept.used).collect();
        ages.sort_unstable();
        let Some(oldest) = ages.get(ages.len() / 4).copied() else { return };
        self.pages.retain(|_, kept| kept.used > oldest);
    }

    /// The pages from one to before another are erased.
    pub(crate) fn forget(&mut self, from: Addr, to: Addr) {
        let gone: Vec<Addr> = self.pages.range(from..to).map(|(at, _)| *at).collect();
        for at in gone {
            self.pages.remove(&at);
        }
    }

    /// Pages kept.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }
}
