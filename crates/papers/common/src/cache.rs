//! Pages in memory by their place: a programmed page does not change.

use std::collections::BTreeMap;

struct Kept<P> {
    page: P,
    used: u64,
}

/// Pages `P` by their place `A`; of more than it may keep, the quarter goes that was not used for longest.
pub struct PageCache<A, P> {
    pages: BTreeMap<A, Kept<P>>,
    turn: u64,
    limit: usize,
}

impl<A: Copy + Ord, P> PageCache<A, P> {
    /// A cache of so many pages.
    pub fn new(limit: usize) -> PageCache<A, P> {
        PageCache { pages: BTreeMap::new(), turn: 0, limit }
    }

    /// The page from a place, if it is kept.
    pub fn get(&mut self, at: A) -> Option<&P> {
        self.turn += 1;
        let kept = self.pages.get_mut(&at)?;
        kept.used = self.turn;
        Some(&kept.page)
    }

    /// Keeps a page.
    pub fn insert(&mut self, at: A, page: P) {
        self.turn += 1;
        self.pages.insert(at, Kept { page, used: self.turn });
        if self.pages.len() > self.limit {
            self.evict();
        }
    }

    fn evict(&mut self) {
        let mut ages: Vec<u64> = self.pages.values().map(|kept| kept.used).collect();
        ages.sort_unstable();
        let Some(oldest) = ages.get(ages.len() / 4).copied() else { return };
        self.pages.retain(|_, kept| kept.used > oldest);
    }

    /// Drops the pages from one to before another: they are erased.
    pub fn forget(&mut self, from: A, to: A) {
        let gone: Vec<A> = self.pages.range(from..to).map(|(at, _)| *at).collect();
        for at in gone {
            self.pages.remove(&at);
        }
    }

    /// The number of pages kept.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// True if no page is kept.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}
