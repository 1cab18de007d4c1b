//! Section 2.2: the scan at mounting, in two stages: the `InodeMapBlock`, then the inode-stored blocks. After a crash the
//! first spare area of each block says which those are.

use std::collections::BTreeMap;

use pumice_common::{Inodes, ROOT};
use pumice_vfs::{FileKind, Result, check_name};

use super::{Volume, blank};
use crate::inode::Inode;
use crate::layout::Addr;
use crate::map_block;
use crate::spare::{self, Kind, Mark};
use crate::usage::{Role, State};

/// An inode page that a spare area told of.
#[derive(Clone, Copy)]
struct Seen {
    time: u32,
    at: Addr,
    kind: Kind,
    /// Nothing was programmed behind it in its block: where it proves nothing, the power cut tore it.
    last: bool,
}

/// An inode that was found, and the directory that it names.
struct Named {
    ino: u32,
    time: u32,
    parent: u32,
    name: Vec<u8>,
}

/// True if one count of inode pages is later than another.
fn is_later(time: u32, than: u32) -> bool {
    time.wrapping_sub(than).cast_signed() > 0
}

impl Volume<'_> {
    /// Bad blocks, and those that are kept.
    pub(super) fn look_at_blocks(&mut self) -> Result<()> {
        for block in 0..self.layout().blocks() {
            if block == self.record.map || block == self.record.block {
                self.store.usage.set_state(block, State::Kept);
            } else if self.store.flash().is_bad(block)? {
                self.store.usage.set_state(block, State::Bad);
            }
        }
        Ok(())
    }

    /// Builds everything; returns the inodes that lost their name to another one.
    pub(super) fn scan(&mut self) -> Result<Vec<u32>> {
        self.look_at_blocks()?;
        let listed = map_block::read(self.store.flash(), self.record.map)?;
        self.recovered = listed.is_none();
        let blocks = listed.map_or_else(|| self.find_inode_blocks(), Ok)?;
        let mut seen: BTreeMap<u32, Vec<Seen>> = BTreeMap::new();
        for block in blocks {
            if self.store.usage.state(block) == State::Free {
                self.store.usage.set_state(block, State::Used(Role::Inode));
                self.store.hash().insert(block);
                self.read_spares(block, &mut seen)?;
            }
        }
        let mut found = Vec::new();
        for (ino, mut pages) in seen {
            pages.sort_by(|a, b| {
                if is_later(a.time, b.time) { std::cmp::Ordering::Less } else { b.time.cmp(&a.time) }
            });
            self.choose(ino, &pages, &mut found)?;
        }
        Ok(self.build_tree(found))
    }

    /// The inode-stored blocks, by the first spare area of each block that proves itself.
    fn find_inode_blocks(&mut self) -> Result<Vec<u32>> {
        let layout = self.layout();
        let mut found = Vec::new();
        for block in (0..layout.blocks())
            .filter(|block| self.store.usage.state(*block) == State::Free)
            .collect::<Vec<_>>()
        {
            for index in 0..layout.pages() {
                let bytes = self.store.flash().read_spare(layout.addr(block, index))?;
                match spare::decode(bytes) {
                    Some(mark) if mark.kind.is_inode() => found.push(block),
                    None if !spare::is_erased(&bytes) => continue,
                    Some(_) | None => {}
                }
                break;
            }
        }
        Ok(found)
    }

    /// The spare areas of an inode-stored block, to the first that is erased.
    fn read_spares(&mut self, block: u32, seen: &mut BTreeMap<u32, Vec<Seen>>) -> Result<()> {
        let layout = self.layout();
        let mut last: Option<(u32, Seen)> = None;
        let mut programmed = false;
        for index in 0..layout.pages() {
            let at = layout.addr(block, index);
            let bytes = self.store.flash().read_spare(at)?;
            if spare::is_erased(&bytes) {
                break;
            }
            if let Some((ino, before)) = last.take() {
                seen.entry(ino).or_default().push(before);
            }
            programmed = true;
            let Some(Mark { kind, ino, number: time }) =
                spare::decode(bytes).filter(|mark| mark.kind.is_inode())
            else {
                continue;
            };
            self.store.usage.add_resident(block, ino);
            if is_later(time, self.time) || self.time == 0 {
                self.time = time;
            }
            last = Some((ino, Seen { time, at, kind, last: false }));
        }
        debug_assert!(programmed || last.is_none(), "block {block} is erased and has an inode");
        if let Some((ino, before)) = last {
            seen.entry(ino).or_default().push(Seen { last: true, ..before });
        }
        Ok(())
    }

    /// The newest page of an inode that proves itself, of all that were seen, newest first.
    fn choose(&mut self, ino: u32, pages: &[Seen], found: &mut Vec<Named>) -> Result<()> {
        let layout = self.layout();
        let mut damaged: Option<Seen> = None;
        for page in pages {
            let mark = Mark { kind: page.kind, ino, number: page.time };
            let raw = self.store.flash().read_raw(page.at)?;
            let inode = if raw.readable { Inode::decode(&raw.data, mark, &layout) } else { None };
            match (inode, damaged) {
                (None, None) if !page.last => damaged = Some(*page),
                (None, _) => {}
                (Some(inode), Some(bad)) => {
                    // An older page has the name of an inode that cannot be read any more.
                    self.lost_inode(ino, bad, Some(inode), found);
                    return Ok(());
                }
                (Some(_), None) if page.kind == Kind::Removed => {
                    if self.store.usage.copies(ino) > 1 && self.store.usage.mark(page.at) {
                        self.removed.insert(ino, page.at);
                    }
                    return Ok(());
                }
                (Some(inode), None) => {
                    self.take_inode(ino, *page, inode, found);
                    return Ok(());
                }
            }
        }
        if let Some(bad) = damaged {
            self.lost_inode(ino, bad, None, found);
        }
        Ok(())
    }

    fn take_inode(&mut self, ino: u32, page: Seen, inode: Inode, found: &mut Vec<Named>) {
        self.store.usage.mark(page.at);
        self.tree.add(ino, inode.kind, page.at, page.time);
        self.newest = self.newest.max(ino);
        self.mark_pages(ino, &inode);
        found.push(Named { ino, time: page.time, parent: inode.parent, name: inode.name });
    }

    /// The newest page of an inode cannot be read: it stays an error, under the name that an older page has.
    fn lost_inode(&mut self, ino: u32, bad: Seen, older: Option<Inode>, found: &mut Vec<Named>) {
        self.find_wrong("inode", format!("inode {ino} cannot be read in page {}", bad.at.0));
        self.store.usage.mark(bad.at);
        let older = older.unwrap_or_else(|| blank(FileKind::File, &self.layout()));
        self.tree.add(ino, older.kind, bad.at, bad.time);
        self.newest = self.newest.max(ino);
        found.push(Named { ino, time: bad.time, parent: older.parent, name: older.name });
    }

    /// Marks all pages of an inode in `BlockInformation` and `PageBitmap`.
    fn mark_pages(&mut self, ino: u32, inode: &Inode) {
        let mut wrong = Vec::new();
        let mut lost = Vec::new();
        let layout = self.layout();
        let mut index = self.index_of(ino, inode);
        index.walk(
            &mut self.store,
            &mut |store, mark, at| {
                let block = layout.block_of(at);
                let state = store.usage.state(block);
                if !layout.has(at) || !matches!(state, State::Free | State::Used(Role::Data)) {
                    wrong.push((
                        "address",
                        format!("{mark:?} is said to be in page {}, no page of data", at.0),
                    ));
                    return;
                }
                store.usage.set_state(block, State::Used(Role::Data));
                if !store.usage.mark(at) {
                    wrong.push(("shared-page", format!("page {} has two owners, one is {mark:?}", at.0)));
                }
            },
            &mut |error| lost.push(("index", error.to_string())),
        );
        for (code, detail) in wrong.into_iter().chain(lost) {
            self.find_wrong(code, detail);
        }
    }

    /// Puts every inode into its directory. Of two with one name the later has it: a rename over the other was cut.
    fn build_tree(&mut self, mut found: Vec<Named>) -> Vec<u32> {
        self.provide_root();
        found.retain(|named| named.ino != ROOT);
        found.sort_by(|a, b| {
            if a.time == b.time {
                a.ino.cmp(&b.ino)
            } else if is_later(a.time, b.time) {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Less
            }
        });
        let mut losers = Vec::new();
        let mut homeless = Vec::new();
        for Named { ino, parent, name, .. } in &found {
            let is_dir = self.tree.get(*parent).is_some_and(|node| node.kind == FileKind::Dir);
            if !is_dir || check_name(name).is_err() {
                homeless.push(*ino);
                continue;
            }
            if let Some(older) = self.tree.find(*parent, name) {
                self.tree.detach(older);
                losers.push(older);
            }
            self.tree.attach(*ino, *parent, name);
        }
        for named in &found {
            if !losers.contains(&named.ino)
                && !homeless.contains(&named.ino)
                && !self.tree.is_below_root(named.ino)
            {
                homeless.push(named.ino);
                self.tree.detach(named.ino);
                self.tree.attach(named.ino, ROOT, format!("#{}", named.ino).as_bytes());
            }
        }
        for ino in homeless {
            self.find_wrong("parent", format!("inode {ino} is in no directory; it is shown as /#{ino}"));
            self.tree.attach(ino, ROOT, format!("#{ino}").as_bytes());
        }
        losers
    }

    fn provide_root(&mut self) {
        let is_there = self.tree.get(ROOT).is_some_and(|node| node.kind == FileKind::Dir);
        if is_there && self.inode(ROOT).is_ok() {
            return;
        }
        self.find_wrong("root", "the root directory's inode cannot be read".into());
        self.lost_root = Some(blank(FileKind::Dir, &self.layout()));
        self.tree.add(ROOT, FileKind::Dir, Addr::NONE, 0);
    }
}
