//! Sections 2.1 and 2.2: names. An inode has its name and its parent, so that a change of names writes that inode and no
//! directory.

use pumice_common::{Attributes, In, Inodes, Names, ROOT};
use pumice_vfs::{DirEntry, Errno, FileKind, Ino, NewNode, Result};

use super::{Volume, blank};
use crate::index::Change;
use crate::inode::{Inode, NAME_MAX};
use crate::layout::INODES;
use crate::spare::Kind;

/// A name that was found.
#[derive(Clone, Copy)]
pub struct Found {
    ino: u32,
    kind: FileKind,
}

impl pumice_common::Found for Found {
    fn ino(&self) -> u32 {
        self.ino
    }

    fn kind(&self) -> FileKind {
        self.kind
    }
}

impl Names for Volume<'_> {
    /// Its kind was checked; the tree has the rest.
    type Dir = ();
    type Found = Found;

    const NAME_MAX: usize = NAME_MAX;

    fn dir(&mut self, ino: u32) -> Result<()> {
        let kind = match self.ghosts.get(&ino) {
            Some(ghost) => ghost.kind,
            None => self.node(ino)?.kind,
        };
        if kind == FileKind::Dir { Ok(()) } else { Err(Errno::NotDir.into()) }
    }

    fn above(&self, ino: u32, (): &()) -> Option<u32> {
        // A ghost is not in the tree.
        self.tree.get(ino).map(|node| if ino == ROOT { ROOT } else { node.parent })
    }

    fn find(&mut self, dir: u32, name: &[u8]) -> Result<Option<Found>> {
        self.dir(dir)?;
        let Some(ino) = self.tree.find(dir, name) else { return Ok(None) };
        Ok(Some(Found { ino, kind: self.node(ino)?.kind }))
    }

    fn is_empty(&mut self, dir: u32) -> Result<bool> {
        Ok(self.tree.is_empty(dir))
    }

    fn make(&mut self, (dir, ()): In<()>, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Inode)> {
        let pages = u32::try_from(node.target.len().div_ceil(self.layout().page_bytes())).unwrap_or(u32::MAX);
        self.admit(1 + pages)?;
        self.make_room(pages, 1)?;
        let ino = self.unused_inode()?;
        let mut inode = self.new_inode(dir, name, node);
        let mut change = Change::default();
        let mut done = self.put_target(&mut change, ino, &mut inode, node.target);
        if done.is_ok() {
            done = self.put_new(&mut change, ino, &inode);
        }
        self.end_change(change, done)?;
        self.touch_dir(dir);
        Ok((ino, inode))
    }

    /// An inode has one name, and where it is listed is part of it.
    fn link(&mut self, ino: u32, dir: u32, name: &[u8]) -> Result<Inode> {
        Self::check_new(name)?;
        self.living_dir(dir)?;
        if !self.ghosts.contains_key(&ino) {
            self.node(ino)?;
        }
        let is_taken = self.tree.find(dir, name).is_some();
        Err(if is_taken { Errno::Exists } else { Errno::Perm }.into())
    }

    fn add(&mut self, _: In<Inode>, _: u32, _: &[u8]) -> Result<Inode> {
        Err(Errno::Perm.into())
    }

    fn remove(&mut self, dir: u32, found: &Found) -> Result<()> {
        self.writable()?;
        self.lose(found.ino)?;
        self.touch_dir(dir);
        Ok(())
    }

    fn relocate(
        &mut self,
        (dir, from): In<&Found>,
        (to_dir, (to_name, to)): In<(&[u8], Option<&Found>)>,
    ) -> Result<()> {
        let (from, to) = (from.ino, to.map(|to| to.ino));
        self.writable()?;
        self.make_room(0, 2)?;
        let mut inode = self.inode(from)?;
        (inode.parent, inode.name) = (to_dir, to_name.to_vec());
        inode.times[2] = self.now();
        let mut change = Change::default();
        let done = self.put_inode(&mut change, from, &inode);
        if done.is_ok() {
            // After a power cut here the later of the two has the name.
            if let Some(to) = to {
                self.tree.detach(to);
            }
            self.tree.detach(from);
            self.tree.attach(from, to_dir, to_name);
        }
        self.end_change(change, done)?;
        // Nothing may be collected between the two: it would make the other one the later.
        to.map_or(Ok(()), |to| self.bury(to))?;
        self.touch_dir(dir);
        self.touch_dir(to_dir);
        Ok(())
    }

    /// Two inodes cannot be written at once.
    fn exchange(&mut self, _: In<&Found>, _: In<&Found>) -> Result<()> {
        Err(Errno::NotSupported.into())
    }

    fn readdir(&mut self, dir: u32, cookie: u64, each: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        self.dir(dir)?;
        let Ok(behind) = u32::try_from(cookie) else { return Ok(()) };
        for (ino, node) in self.tree.listed(dir, behind) {
            let ino = Ino(u64::from(ino));
            if !each(DirEntry { name: &node.name, ino, kind: node.kind, cookie: ino.0 }) {
                break;
            }
        }
        Ok(())
    }
}

impl Volume<'_> {
    /// Notes that names in a directory changed.
    fn touch_dir(&mut self, dir: u32) {
        let now = self.now();
        self.touched.insert(dir, now);
    }

    /// A number that no inode has.
    fn unused_inode(&self) -> Result<u32> {
        let all = (self.newest + 1..INODES).chain(ROOT + 1..=self.newest);
        let is_free = |ino: &u32| self.tree.get(*ino).is_none() && !self.ghosts.contains_key(ino);
        all.into_iter().find(is_free).ok_or_else(|| Errno::NoSpace.into())
    }

    fn new_inode(&self, dir: u32, name: &[u8], node: &NewNode<'_>) -> Inode {
        Inode {
            attributes: Attributes::new(node, self.now()),
            // No two inodes are written at the same time.
            generation: self.time.wrapping_add(1),
            parent: dir,
            name: name.to_vec(),
            ..blank(node.kind, &self.layout())
        }
    }

    /// Writes a new inode, and lists it.
    fn put_new(&mut self, change: &mut Change, ino: u32, inode: &Inode) -> Result<()> {
        let (mark, page) = self.next_page(ino, inode, Kind::Inode);
        let at = self.store.append(mark, &page)?;
        self.tree.add(ino, inode.kind, at, mark.number);
        self.tree.attach(ino, inode.parent, &inode.name);
        self.newest = ino;
        // The number was another inode's before.
        change.dead.extend(self.removed.remove(&ino));
        Ok(())
    }

    /// An inode loses its name, and is gone unless it is held. Older pages of it may be on the chip: one that says so is
    /// written.
    pub(super) fn lose(&mut self, ino: u32) -> Result<()> {
        if self.read_only {
            self.tree.remove(ino);
            return Ok(());
        }
        self.make_room(0, 1)?;
        self.bury(ino)
    }

    /// The same where there is room for it.
    fn bury(&mut self, ino: u32) -> Result<()> {
        let kind = self.node(ino)?.kind;
        // An unreadable inode can be removed.
        let mut inode = self.inode(ino).unwrap_or_else(|_| blank(kind, &self.layout()));
        let (mark, page) = self.next_page(ino, &inode, Kind::Removed);
        let mut change = Change::default();
        let done = self.store.append(mark, &page).map(|at| {
            self.removed.insert(ino, at);
            change.dead.extend(self.tree.remove(ino).map(|node| node.at));
            self.touched.remove(&ino);
        });
        if done.is_ok() {
            if self.held.contains_key(&ino) {
                inode.times[2] = self.now();
                self.ghosts.insert(ino, inode);
            } else {
                change.dead.extend(self.pages_of(ino, &inode));
            }
        }
        self.end_change(change, done)
    }
}
