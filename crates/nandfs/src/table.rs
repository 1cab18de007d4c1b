//! A table too large for memory: pages of entries in the pages, under pages of addresses, up to one root.
//!
//! The node table (F2FS's NAT) and the block table (its SIT) are such tables. Changes gather in an overlay in
//! memory; a checkpoint either carries the overlay along or writes it into the pages.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use hashbrown::HashMap;
use pumice_vfs::Result;

use crate::addr::Addr;
use crate::codec::len32;
use crate::pages::Pages;
use crate::tag::{ChunkKind, Desc, desc};

/// Bytes of an address in a page of addresses.
const POINTER: u32 = 8;

/// Pages that one search for the end of the keys in use looks at.
const LOOKS: u32 = 4096;

/// A page in memory.
struct Cached {
    bytes: Vec<u8>,
    used: u64,
}

/// A page on its way to the log.
pub(crate) struct Page {
    pub(crate) level: u8,
    pub(crate) index: u32,
    pub(crate) desc: Desc,
    pub(crate) bytes: Vec<u8>,
}

/// A table of entries of `E` bytes; entries never set are all zeros.
pub(crate) struct Table<const E: usize> {
    kind: ChunkKind,
    page_bytes: u32,
    /// Addresses of the topmost pages, as many as a checkpoint holds.
    pub(crate) roots: Vec<Addr>,
    /// Levels of pages, 0 for an empty table.
    pub(crate) height: u8,
    /// Changed entries.
    pub(crate) overlay: HashMap<u32, [u8; E]>,
    cache: HashMap<(u8, u32), Cached>,
    /// Pages changed in the cache and not yet written; lower levels come first.
    dirty: BTreeSet<(u8, u32)>,
    tick: u64,
}

impl<const E: usize> Table<E> {
    pub(crate) fn new(kind: ChunkKind, page_bytes: u32, roots: usize) -> Table<E> {
        Table {
            kind,
            page_bytes,
            roots: vec![Addr::NONE; roots],
            height: 0,
            overlay: HashMap::new(),
            cache: HashMap::new(),
            dirty: BTreeSet::new(),
            tick: 0,
        }
    }

    /// Entries of a page at the lowest level.
    pub(crate) fn per_leaf(&self) -> u32 {
        self.page_bytes / len32(E)
    }

    pub(crate) fn per_inner(&self) -> u32 {
        self.page_bytes / POINTER
    }

    /// Entries that `height` levels hold.
    fn reach(&self, height: u8) -> u64 {
        if height == 0 {
            0
        } else {
            let under_root = u64::from(self.per_leaf())
                * u64::from(self.per_inner()).saturating_pow(u32::from(height) - 1);
            under_root.saturating_mul(self.roots.len() as u64)
        }
    }

    /// Pages of a table of so many entries, on all levels.
    pub(crate) fn pages_of(&self, entries: u32) -> u64 {
        let (mut pages, mut sum) = (u64::from(entries.div_ceil(self.per_leaf())), 0);
        for _ in 0..self.height.max(1) {
            sum += pages;
            pages = pages.div_ceil(self.per_inner().into());
        }
        sum
    }

    /// Bytes of pages that could be dropped.
    pub(crate) fn cached_bytes(&self) -> usize {
        (self.cache.len() - self.dirty.len().min(self.cache.len())) * (self.page_bytes as usize + 64)
    }

    /// Drops the pages least recently used until `bytes` of cache remain.
    pub(crate) fn trim(&mut self, bytes: usize) {
        let keep = bytes / self.page_bytes as usize;
        if self.cache.len() <= keep {
            return;
        }
        let mut ages: Vec<u64> = self.cache.values().map(|page| page.used).collect();
        ages.sort_unstable_by(|a, b| b.cmp(a));
        let oldest = ages.get(keep / 2).copied().unwrap_or(0);
        let dirty = &self.dirty;
        self.cache.retain(|place, page| page.used > oldest || dirty.contains(place));
    }

    fn desc(&self, (level, index): (u8, u32)) -> Desc {
        desc(self.kind, u32::from(level), index, self.page_bytes as usize)
    }

    /// The entry at `key`.
    pub(crate) fn get(&mut self, pages: &mut Pages<'_>, key: u32) -> Result<[u8; E]> {
        if let Some(entry) = self.overlay.get(&key) {
            return Ok(*entry);
        }
        if u64::from(key) >= self.reach(self.height) {
            return Ok([0; E]);
        }
        let (leaf, slot) = (key / self.per_leaf(), key % self.per_leaf());
        let start = slot as usize * E;
        let page = self.page(pages, (0, leaf))?;
        let entry =
            page.and_then(|bytes| bytes.get(start..start + E)).and_then(|bytes| bytes.try_into().ok());
        Ok(entry.unwrap_or([0; E]))
    }

    /// The number of entries below the highest page that cannot be read on the way to `key`: to look at each of its leaves
    /// would have no end.
    pub(crate) fn lost_with(&mut self, pages: &mut Pages<'_>, key: u32) -> u32 {
        for level in (1..self.height).rev() {
            let below = self.per_inner().saturating_pow(level.into()).saturating_mul(self.per_leaf());
            if self.page(pages, (level, key / below)).is_err() {
                return below;
            }
        }
        self.per_leaf()
    }

    /// Keys on a page of the lowest level with all zeros in their entries, as of the last write of changes to the
    /// pages.
    pub(crate) fn unused_on(&mut self, pages: &mut Pages<'_>, index: u32) -> Result<Vec<u32>> {
        let first = index.saturating_mul(self.per_leaf());
        let used: Vec<u32> = match self.page(pages, (0, index))? {
            Some(bytes) => used_in::<E>(bytes).collect(),
            None => Vec::new(),
        };
        let keys = (0..self.per_leaf()).filter(|slot| used.binary_search(slot).is_err());
        let keys = keys.filter_map(|slot| first.checked_add(slot));
        Ok(keys.filter(|key| !self.overlay.contains_key(key)).collect())
    }

    /// The end of the keys in use below `end`: behind the last entry that is not all zeros. With many empty pages, some
    /// way towards it.
    pub(crate) fn end_of_use(&mut self, pages: &mut Pages<'_>, end: u32) -> u32 {
        let changed = self.overlay.iter().filter(|(key, entry)| **key < end && **entry != [0; E]);
        let changed = changed.map(|(key, _)| key + 1).max().unwrap_or(0);
        let reach = u32::try_from(self.reach(self.height)).unwrap_or(u32::MAX);
        let mut at = end.min(reach);
        for _ in 0..LOOKS {
            let Some(last) = at.checked_sub(1).filter(|_| at > changed) else { break };
            let index = last / self.per_leaf();
            let first = index * self.per_leaf();
            let used: Vec<u32> = match self.page(pages, (0, index)) {
                Ok(Some(bytes)) => used_in::<E>(bytes).collect(),
                Ok(None) => Vec::new(),
                // The keys in use there are unknown.
                Err(_) => break,
            };
            let mut keys = used.into_iter().map(|slot| first + slot).filter(|key| *key < at);
            match keys.rfind(|key| !self.overlay.contains_key(key)) {
                Some(key) => {
                    at = key + 1;
                    break;
                }
                None => at = first,
            }
        }
        at.max(changed)
    }

    /// Changes the entry at `key`.
    pub(crate) fn set(&mut self, key: u32, entry: [u8; E]) {
        self.overlay.insert(key, entry);
    }

    /// A page of the table, read if need be; `None` where none was ever written.
    pub(crate) fn page(&mut self, pages: &mut Pages<'_>, at: (u8, u32)) -> Result<Option<&mut Vec<u8>>> {
        self.tick += 1;
        if !self.cache.contains_key(&at) {
            let addr = self.addr_of(pages, at)?;
            if !addr.is_stored() {
                return Ok(None);
            }
            let bytes = pages.read(addr, &self.desc(at), <[u8]>::to_vec)?;
            self.cache.insert(at, Cached { bytes, used: 0 });
        }
        let tick = self.tick;
        Ok(self.cache.get_mut(&at).map(|page| {
            page.used = tick;
            &mut page.bytes
        }))
    }

    /// The same, made of zeros if none was ever written.
    fn page_or_new(&mut self, pages: &mut Pages<'_>, at: (u8, u32)) -> Result<&mut Vec<u8>> {
        self.page(pages, at)?;
        let (length, used) = (self.page_bytes as usize, self.tick);
        let page = self.cache.entry(at);
        Ok(&mut page.or_insert_with(|| Cached { bytes: vec![0; length], used }).bytes)
    }

    /// The place of a page on the chip.
    pub(crate) fn addr_of(&mut self, pages: &mut Pages<'_>, (level, index): (u8, u32)) -> Result<Addr> {
        // A level may come from a tag that nothing has proved.
        if level.saturating_add(1) >= self.height {
            let root = self.roots.get(index as usize).filter(|_| level.saturating_add(1) == self.height);
            return Ok(root.copied().unwrap_or(Addr::NONE));
        }
        let (parent, start) = self.parent_slot(index);
        let page = self.page(pages, (level + 1, parent))?;
        let raw = page.and_then(|bytes| bytes.get(start..start + 8)).and_then(|raw| raw.try_into().ok());
        Ok(raw.map_or(Addr::NONE, |raw| Addr::from_u64(u64::from_le_bytes(raw))))
    }

    fn parent_slot(&self, index: u32) -> (u32, usize) {
        (index / self.per_inner(), (index % self.per_inner() * POINTER) as usize)
    }

    /// Notes a page's place; its parent becomes dirty.
    pub(crate) fn set_addr(&mut self, pages: &mut Pages<'_>, at: (u8, u32), addr: Addr) -> Result<()> {
        let (level, index) = at;
        if level + 1 >= self.height {
            if let Some(root) = self.roots.get_mut(index as usize) {
                *root = addr;
            }
            return Ok(());
        }
        let (parent, start) = self.parent_slot(index);
        put(self.page_or_new(pages, (level + 1, parent))?, start, &addr.to_u64().to_le_bytes());
        self.dirty.insert((level + 1, parent));
        Ok(())
    }

    /// The pages that writing the overlay will replace: leaves and all above them.
    pub(crate) fn pages_to_write(&self) -> BTreeSet<(u8, u32)> {
        let mut pages = BTreeSet::new();
        for key in self.overlay.keys() {
            let mut index = key / self.per_leaf();
            for level in 0..self.height.max(1) {
                if !pages.insert((level, index)) {
                    break;
                }
                index /= self.per_inner();
            }
        }
        pages
    }

    /// Takes over a page that will be written again; returns its old place.
    pub(crate) fn detach(&mut self, pages: &mut Pages<'_>, place: (u8, u32)) -> Result<Addr> {
        let (level, index) = place;
        let old = self.addr_of(pages, (level, index))?;
        if old.is_stored() {
            self.page(pages, (level, index))?;
            self.dirty.insert(place);
            self.set_addr(pages, (level, index), Addr::NONE)?;
        }
        Ok(old)
    }

    /// Puts the overlay into the pages in memory and makes the table high enough for it. Entries of unreadable pages
    /// stay in the overlay.
    pub(crate) fn absorb_overlay(&mut self, pages: &mut Pages<'_>) -> Result<()> {
        let mut entries: Vec<(u32, [u8; E])> = self.overlay.drain().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let Some((highest, _)) = entries.last().copied() else { return Ok(()) };
        while u64::from(highest) >= self.reach(self.height) {
            self.grow(pages)?;
        }
        for (key, entry) in entries {
            let (leaf, start) = (key / self.per_leaf(), (key % self.per_leaf()) as usize * E);
            let Ok(page) = self.page_or_new(pages, (0, leaf)) else {
                self.overlay.insert(key, entry);
                continue;
            };
            put(page, start, &entry);
            self.dirty.insert((0, leaf));
        }
        Ok(())
    }

    /// Adds a level: the pages under the roots hang under its first page from now on.
    fn grow(&mut self, pages: &mut Pages<'_>) -> Result<()> {
        let none = vec![Addr::NONE; self.roots.len()];
        let old = core::mem::replace(&mut self.roots, none);
        self.height += 1;
        if let Some(below) = self.height.checked_sub(2) {
            for (index, addr) in (0..).zip(old) {
                self.set_addr(pages, (below, index), addr)?;
            }
        }
        Ok(())
    }

    /// The next page to write, lowest level first. An empty one has no bytes and is not written: it lies nowhere from
    /// here on.
    pub(crate) fn next_dirty(&mut self, pages: &mut Pages<'_>) -> Result<Option<Page>> {
        let Some((level, index)) = self.dirty.pop_first() else { return Ok(None) };
        let desc = self.desc((level, index));
        let mut bytes = self.page_or_new(pages, (level, index))?.clone();
        if bytes.iter().all(|byte| *byte == 0) {
            self.cache.remove(&(level, index));
            bytes.clear();
        }
        Ok(Some(Page { level, index, desc, bytes }))
    }

    /// Takes a level away that leads to no more pages than there are roots; returns the address of the only root's
    /// page. Nothing may wait to be written.
    pub(crate) fn lower(&mut self, pages: &mut Pages<'_>) -> Result<Option<Addr>> {
        debug_assert!(!self.is_dirty(), "pages of the table wait to be written");
        let Some((top, others)) = self.roots.split_first().filter(|_| self.height > 0) else {
            return Ok(None);
        };
        let (top, level) = (*top, self.height - 1);
        if others.iter().any(|root| *root != Addr::NONE) || (level == 0 && top != Addr::NONE) {
            return Ok(None);
        }
        let mut roots = vec![Addr::NONE; self.roots.len()];
        if let Some(bytes) = self.page(pages, (level, 0))? {
            let (addresses, _) = bytes.as_chunks();
            let (kept, rest) = addresses.split_at(roots.len().min(addresses.len()));
            if rest.iter().any(|raw| *raw != [0; POINTER as usize]) {
                return Ok(None);
            }
            let addresses = kept.iter().map(|raw| Addr::from_u64(u64::from_le_bytes(*raw)));
            roots.iter_mut().zip(addresses).for_each(|(root, addr)| *root = addr);
        }
        self.cache.remove(&(level, 0));
        (self.roots, self.height) = (roots, level);
        Ok(Some(top))
    }

    /// True if pages wait to be written.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }
}

/// The places of a page's entries that are not all zeros.
fn used_in<const E: usize>(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (entries, _) = bytes.as_chunks::<E>();
    (0..).zip(entries).filter(|(_, entry)| **entry != [0; E]).map(|(slot, _)| slot)
}

/// Writes an entry into a page.
fn put(page: &mut [u8], start: usize, entry: &[u8]) {
    let place = page.get_mut(start..start + entry.len());
    debug_assert!(place.is_some(), "an entry behind the end of a page of a table");
    if let Some(place) = place {
        place.copy_from_slice(entry);
    }
}
