//! Sections 2.1 and 2.3, figure 2: the index entries of an inode, and the change of its class.
//!
//! In class 1 each entry is a chunk's address, the last one that of an index page. In class 2 each entry is that of an
//! index page, the last one that of a page of addresses of index pages. Index pages have page / 4 addresses of 4 bytes.

use std::collections::BTreeMap;

use pumice_common::damaged;
use pumice_vfs::Result;

use crate::layout::{Addr, Class, Layout, get_addrs, put_addrs};
use crate::spare::{Kind, Mark};
use crate::store::Store;

/// Pages that a change wrote, and those that are dead once it is done.
#[derive(Default)]
pub(crate) struct Change {
    pub(crate) fresh: Vec<Addr>,
    pub(crate) dead: Vec<Addr>,
}

/// An index page in memory.
struct Loaded {
    addrs: Vec<Addr>,
    changed: bool,
}

/// The index of one file, to be read or changed. Index pages are read when they are needed.
pub(crate) struct Index {
    ino: u32,
    layout: Layout,
    class: Class,
    entries: Vec<Addr>,
    /// The double indirect page, if it was needed.
    double: Option<Loaded>,
    /// Index pages by their number, which is 0 for the only one of class 1.
    pages: BTreeMap<u32, Loaded>,
}

/// The place of a chunk's address.
enum Place {
    Entry(usize),
    /// An entry of an index page.
    In(u32, usize),
}

impl Index {
    pub(crate) fn new(ino: u32, layout: Layout, class: Class, entries: &[Addr]) -> Index {
        debug_assert_eq!(entries.len(), layout.entries() as usize, "index entries of inode {ino}");
        Index { ino, layout, class, entries: entries.to_vec(), double: None, pages: BTreeMap::new() }
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// The entries, of an index that is done with.
    pub(crate) fn into_entries(self) -> Vec<Addr> {
        self.entries
    }

    /// The last entry: indirect, or double indirect.
    fn last(&self) -> usize {
        self.layout.entries() as usize - 1
    }

    fn place(&self, chunk: u32) -> Option<Place> {
        if chunk >= self.layout.chunks(self.class) {
            return None;
        }
        let (last, pointers) = (self.layout.entries() - 1, self.layout.pointers());
        Some(match self.class {
            Class::Direct if chunk < last => Place::Entry(chunk as usize),
            Class::Direct => Place::In(0, (chunk - last) as usize),
            Class::Indirect => Place::In(chunk / pointers, (chunk % pointers) as usize),
        })
    }

    /// The first chunk that an index page reaches: its number in its mark.
    fn first_of(&self, page: u32) -> u32 {
        match self.class {
            Class::Direct => self.layout.entries() - 1,
            Class::Indirect => page * self.layout.pointers(),
        }
    }

    fn mark_of(&self, page: u32) -> Mark {
        Mark { kind: Kind::Index, ino: self.ino, number: self.first_of(page) }
    }

    fn double_mark(&self) -> Mark {
        let number = (self.layout.entries() - 1) * self.layout.pointers();
        Mark { kind: Kind::Double, ino: self.ino, number }
    }

    /// Brings the double indirect page to memory.
    fn open_double(&mut self, store: &mut Store<'_>) -> Result<&mut Loaded> {
        if self.double.is_none() {
            let (at, mark) = (self.entries[self.last()], self.double_mark());
            let addrs = load(store, at, mark)?;
            self.double = Some(Loaded { addrs, changed: false });
        }
        self.double.as_mut().ok_or_else(|| damaged("an index page is gone from memory"))
    }

    /// The address of an index page.
    fn page_at(&mut self, store: &mut Store<'_>, page: u32) -> Result<Addr> {
        let last = self.last();
        match self.class {
            Class::Direct => Ok(self.entries[last]),
            Class::Indirect if (page as usize) < last => Ok(self.entries[page as usize]),
            Class::Indirect => address(&self.open_double(store)?.addrs, page as usize - last),
        }
    }

    fn set_page_at(&mut self, store: &mut Store<'_>, page: u32, to: Addr) -> Result<()> {
        let last = self.last();
        match self.class {
            Class::Direct => self.entries[last] = to,
            Class::Indirect if (page as usize) < last => self.entries[page as usize] = to,
            Class::Indirect => {
                let double = self.open_double(store)?;
                let entry = double.addrs.get_mut(page as usize - last);
                *entry.ok_or_else(|| damaged(format_args!("there is no index page {page}")))? = to;
                double.changed = true;
            }
        }
        Ok(())
    }

    fn open(&mut self, store: &mut Store<'_>, page: u32) -> Result<&mut Loaded> {
        if !self.pages.contains_key(&page) {
            let at = self.page_at(store, page)?;
            let addrs = load(store, at, self.mark_of(page))?;
            self.pages.insert(page, Loaded { addrs, changed: false });
        }
        self.pages.get_mut(&page).ok_or_else(|| damaged("an index page is gone from memory"))
    }

    /// The address of a chunk.
    pub(crate) fn get(&mut self, store: &mut Store<'_>, chunk: u32) -> Result<Addr> {
        match self.place(chunk) {
            None => Ok(Addr::NONE),
            Some(Place::Entry(entry)) => Ok(self.entries[entry]),
            Some(Place::In(page, at)) => {
                if !self.pages.contains_key(&page) && self.page_at(store, page)? == Addr::NONE {
                    return Ok(Addr::NONE);
                }
                address(&self.open(store, page)?.addrs, at)
            }
        }
    }

    /// Says where a chunk lies now; returns where it lay. Changes the class where it must.
    pub(crate) fn set(
        &mut self,
        store: &mut Store<'_>,
        change: &mut Change,
        chunk: u32,
        to: Addr,
    ) -> Result<Addr> {
        if to != Addr::NONE && self.class == Class::Direct && chunk >= self.layout.chunks(Class::Direct) {
            self.reorganise(store, change)?;
        }
        match self.place(chunk) {
            None if to == Addr::NONE => Ok(Addr::NONE),
            None => Err(damaged(format_args!("inode {} cannot have a chunk {chunk}", self.ino))),
            Some(Place::Entry(entry)) => Ok(core::mem::replace(&mut self.entries[entry], to)),
            Some(Place::In(page, at)) => {
                let loaded = self.open(store, page)?;
                let entry = loaded.addrs.get_mut(at);
                let entry = entry.ok_or_else(|| damaged(format_args!("there is no chunk {chunk}")))?;
                let old = core::mem::replace(entry, to);
                loaded.changed |= old != to;
                Ok(old)
            }
        }
    }

    /// Section 2.3: from class 1 to class 2, the same addresses in index pages.
    fn reorganise(&mut self, store: &mut Store<'_>, change: &mut Change) -> Result<()> {
        let mut all = Vec::new();
        for chunk in 0..self.layout.chunks(Class::Direct) {
            let at = self.get(store, chunk)?;
            if at != Addr::NONE {
                all.push((chunk, at));
            }
        }
        let old = self.entries[self.last()];
        if old != Addr::NONE {
            change.dead.push(old);
        }
        self.class = Class::Indirect;
        self.entries.fill(Addr::NONE);
        self.pages.clear();
        for (chunk, at) in all {
            self.set(store, change, chunk, at)?;
        }
        Ok(())
    }

    /// The first chunk from `from` on, before `to`, that is there (`true`) or is not; `to` if there is none.
    pub(crate) fn next(&mut self, store: &mut Store<'_>, from: u32, to: u32, there: bool) -> Result<u32> {
        let mut chunk = from;
        while chunk < to {
            let (missing_page, behind) = match self.place(chunk) {
                None => (true, to),
                Some(Place::Entry(_)) => (false, chunk + 1),
                Some(Place::In(page, _)) => {
                    let missing = !self.pages.contains_key(&page) && self.page_at(store, page)? == Addr::NONE;
                    (missing, self.first_of(page).saturating_add(self.layout.pointers()))
                }
            };
            if missing_page && there {
                chunk = behind.min(to);
                continue;
            }
            if (self.get(store, chunk)? != Addr::NONE) == there {
                return Ok(chunk);
            }
            chunk += 1;
        }
        Ok(to)
    }

    /// Takes away the chunks from `from` to before `to`; returns how many there were.
    pub(crate) fn punch(
        &mut self,
        store: &mut Store<'_>,
        change: &mut Change,
        from: u32,
        to: u32,
    ) -> Result<u32> {
        let mut count = 0;
        let mut chunk = self.next(store, from, to, true)?;
        while chunk < to {
            let old = self.set(store, change, chunk, Addr::NONE)?;
            change.dead.push(old);
            count += 1;
            chunk = self.next(store, chunk + 1, to, true)?;
        }
        Ok(count)
    }

    /// An index page is to be written anew, if it lies there; false if it does not.
    pub(crate) fn renew(&mut self, store: &mut Store<'_>, mark: Mark, at: Addr) -> Result<bool> {
        if mark.kind == Kind::Double {
            let here = self.class == Class::Indirect && self.entries[self.last()] == at;
            if here {
                self.open_double(store)?.changed = true;
            }
            return Ok(here);
        }
        let page = match self.class {
            Class::Direct => 0,
            Class::Indirect => mark.number / self.layout.pointers(),
        };
        if self.place(mark.number).is_none() || self.page_at(store, page)? != at {
            return Ok(false);
        }
        self.open(store, page)?.changed = true;
        Ok(true)
    }

    /// Writes the index pages that changed; those without an address are gone. Returns how many more or fewer there are.
    pub(crate) fn write(&mut self, store: &mut Store<'_>, change: &mut Change) -> Result<i32> {
        let mut more = 0;
        let changed: Vec<u32> =
            self.pages.iter().filter(|(_, loaded)| loaded.changed).map(|(page, _)| *page).collect();
        for page in changed {
            let old = self.page_at(store, page)?;
            let mark = self.mark_of(page);
            let loaded = self.pages.get_mut(&page);
            let loaded = loaded.ok_or_else(|| damaged("an index page is gone from memory"))?;
            loaded.changed = false;
            let new = put(store, change, mark, &loaded.addrs)?;
            more += replaced(change, old, new);
            self.set_page_at(store, page, new)?;
        }
        let (last, mark) = (self.last(), self.double_mark());
        if let Some(double) = self.double.as_mut().filter(|double| double.changed) {
            double.changed = false;
            let new = put(store, change, mark, &double.addrs)?;
            more += replaced(change, self.entries[last], new);
            self.entries[last] = new;
        }
        if self.entries.iter().all(|at| *at == Addr::NONE) {
            self.class = Class::Direct;
        }
        Ok(more)
    }

    /// All pages below the inode: chunks with their number, and index pages. Errors of unreadable pages are passed to
    /// `lost`.
    pub(crate) fn walk(
        &mut self,
        store: &mut Store<'_>,
        each: &mut dyn FnMut(&mut Store<'_>, Mark, Addr),
        lost: &mut dyn FnMut(pumice_vfs::FsError),
    ) {
        let pointers = self.layout.pointers();
        let direct = self.layout.entries() - 1;
        if self.class == Class::Direct {
            for chunk in 0..direct {
                self.tell(store, each, chunk, self.entries[chunk as usize]);
            }
            self.walk_page(store, 0, each, lost);
            return;
        }
        for page in 0..direct {
            self.walk_page(store, page, each, lost);
        }
        let double = self.entries[self.last()];
        if double == Addr::NONE {
            return;
        }
        each(store, self.double_mark(), double);
        if let Err(error) = self.open_double(store) {
            lost(error);
            return;
        }
        for page in direct..self.layout.chunks(Class::Indirect).div_ceil(pointers) {
            self.walk_page(store, page, each, lost);
        }
    }

    fn tell(
        &self,
        store: &mut Store<'_>,
        each: &mut dyn FnMut(&mut Store<'_>, Mark, Addr),
        chunk: u32,
        at: Addr,
    ) {
        if at != Addr::NONE {
            each(store, Mark { kind: Kind::Data, ino: self.ino, number: chunk }, at);
        }
    }

    fn walk_page(
        &mut self,
        store: &mut Store<'_>,
        page: u32,
        each: &mut dyn FnMut(&mut Store<'_>, Mark, Addr),
        lost: &mut dyn FnMut(pumice_vfs::FsError),
    ) {
        let found = self.page_at(store, page).and_then(|at| {
            if at == Addr::NONE {
                return Ok(None);
            }
            each(store, self.mark_of(page), at);
            load(store, at, self.mark_of(page)).map(Some)
        });
        match found {
            Ok(Some(addrs)) => {
                for (chunk, at) in (self.first_of(page)..).zip(addrs) {
                    self.tell(store, each, chunk, at);
                }
            }
            Ok(None) => {}
            Err(error) => lost(error),
        }
    }
}

fn load(store: &mut Store<'_>, at: Addr, mark: Mark) -> Result<Vec<Addr>> {
    if at == Addr::NONE {
        return Ok(vec![Addr::NONE; store.layout().pointers() as usize]);
    }
    store.metadata(at, mark).map(get_addrs)
}

/// Writes an index page unless it is empty.
fn put(store: &mut Store<'_>, change: &mut Change, mark: Mark, addrs: &[Addr]) -> Result<Addr> {
    if addrs.iter().all(|at| *at == Addr::NONE) {
        return Ok(Addr::NONE);
    }
    let at = store.append(mark, &put_addrs(addrs))?;
    change.fresh.push(at);
    Ok(at)
}

/// Notes that an index page took the place of another; returns how many more there are.
fn replaced(change: &mut Change, old: Addr, new: Addr) -> i32 {
    if old != Addr::NONE {
        change.dead.push(old);
    }
    i32::from(new != Addr::NONE) - i32::from(old != Addr::NONE)
}

/// The address at a place of an index page.
fn address(addrs: &[Addr], at: usize) -> Result<Addr> {
    addrs.get(at).copied().ok_or_else(|| damaged("a place behind the end of an index page"))
}
