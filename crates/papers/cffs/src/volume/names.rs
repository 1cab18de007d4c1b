//! Sections 2.1 and 2.2: names. An inode has its name and its parent, so that a change of names writes that inode and no
//! directory.

use pumice_vfs::{DirEntry, Errno, FileKind, Ino, NewNode, RenameMode, Result, check_name};

use super::{Volume, blank};
use crate::index::Change;
use crate::inode::{Inode, NAME_MAX};
use crate::layout::INODES;
use crate::spare::Kind;
use crate::tree::ROOT;

/// The longest target of a symbolic link.
const TARGET_MAX: usize = 4095;

fn check_new(name: &[u8]) -> Result<()> {
    check_name(name)?;
    if name.len() > NAME_MAX { Err(Errno::NameTooLong.into()) } else { Ok(()) }
}

fn check_target(target: &[u8]) -> Result<()> {
    match target.len() {
        0 => Err(Errno::Invalid.into()),
        length if length > TARGET_MAX => Err(Errno::NameTooLong.into()),
        _ if target.contains(&0) => Err(Errno::Invalid.into()),
        _ => Ok(()),
    }
}

impl Volume<'_> {
    /// Checks that an inode is a directory; tells whether it has a name.
    fn dir(&self, ino: u32) -> Result<bool> {
        let kind = match self.ghosts.get(&ino) {
            Some(ghost) => ghost.kind,
            None => self.node(ino)?.kind,
        };
        if kind == FileKind::Dir { Ok(!self.ghosts.contains_key(&ino)) } else { Err(Errno::NotDir.into()) }
    }

    /// A directory in which names can be made.
    fn living_dir(&self, ino: u32) -> Result<()> {
        if self.dir(ino)? { Ok(()) } else { Err(Errno::NoEntry.into()) }
    }

    fn must_find(&self, dir: u32, name: &[u8]) -> Result<u32> {
        self.dir(dir)?;
        self.tree.find(dir, name).ok_or_else(|| Errno::NoEntry.into())
    }

    pub(crate) fn lookup(&mut self, dir: u32, name: &[u8]) -> Result<(u32, Inode)> {
        let ino = match name {
            b"." => self.dir(dir).map(|_| dir)?,
            b".." => self.parent(dir)?,
            _ if name.len() > 255 => return Err(Errno::NameTooLong.into()),
            _ => self.must_find(dir, name)?,
        };
        Ok((ino, self.inode(ino)?))
    }

    pub(crate) fn parent(&self, dir: u32) -> Result<u32> {
        self.living_dir(dir)?;
        Ok(if dir == ROOT { ROOT } else { self.node(dir)?.parent })
    }

    pub(crate) fn readlink(&mut self, ino: u32) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        let length = usize::try_from(inode.size).ok().filter(|length| *length <= TARGET_MAX);
        let (FileKind::Symlink, Some(length)) = (inode.kind, length) else {
            return Err(Errno::Invalid.into());
        };
        let mut target = vec![0; length];
        self.read_chunks(ino, &inode, 0, &mut target)?;
        Ok(target)
    }

    pub(crate) fn readdir(
        &self,
        dir: u32,
        cookie: u64,
        each: &mut dyn FnMut(DirEntry<'_>) -> bool,
    ) -> Result<()> {
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

    pub(crate) fn create(&mut self, dir: u32, name: &[u8], node: &NewNode<'_>) -> Result<(u32, Inode)> {
        check_new(name)?;
        self.living_dir(dir)?;
        if self.tree.find(dir, name).is_some() {
            return Err(Errno::Exists.into());
        }
        if node.kind == FileKind::Symlink {
            check_target(node.target)?;
        }
        self.writable()?;
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

    fn new_inode(&self, dir: u32, name: &[u8], node: &NewNode<'_>) -> Inode {
        Inode {
            perm: node.perm & 0o7777,
            uid: node.uid,
            gid: node.gid,
            rdev: node.rdev,
            // No two inodes are written at the same time.
            generation: self.time.wrapping_add(1),
            parent: dir,
            size: node.target.len() as u64,
            name: name.to_vec(),
            times: [self.now(); 4],
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

    /// An inode has one name, and where it is listed is part of it.
    pub(crate) fn link(&self, ino: u32, dir: u32, name: &[u8]) -> Result<Inode> {
        check_new(name)?;
        self.living_dir(dir)?;
        if !self.ghosts.contains_key(&ino) {
            self.node(ino)?;
        }
        let is_taken = self.tree.find(dir, name).is_some();
        Err(if is_taken { Errno::Exists } else { Errno::Perm }.into())
    }

    pub(crate) fn unlink(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if self.node(found)?.kind == FileKind::Dir {
            return Err(Errno::IsDir.into());
        }
        self.remove(dir, found)
    }

    pub(crate) fn rmdir(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let found = self.must_find(dir, name)?;
        if self.node(found)?.kind != FileKind::Dir {
            return Err(Errno::NotDir.into());
        }
        if !self.tree.is_empty(found) {
            return Err(Errno::NotEmpty.into());
        }
        self.remove(dir, found)
    }

    fn remove(&mut self, dir: u32, ino: u32) -> Result<()> {
        self.writable()?;
        self.lose(ino)?;
        self.touch_dir(dir);
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

    pub(crate) fn rename(
        &mut self,
        (dir, name): (u32, &[u8]),
        (to_dir, to_name): (u32, &[u8]),
        mode: RenameMode,
    ) -> Result<()> {
        check_name(name)?;
        check_new(to_name)?;
        self.living_dir(dir)?;
        self.living_dir(to_dir)?;
        let from = self.must_find(dir, name)?;
        let to = self.tree.find(to_dir, to_name);
        let is_dir = self.node(from)?.kind == FileKind::Dir;
        if is_dir && self.tree.is_within(to_dir, from) {
            return Err(Errno::Invalid.into());
        }
        match (mode, to) {
            (RenameMode::Whiteout { .. }, _) => return Err(Errno::Invalid.into()),
            (RenameMode::NoReplace, Some(_)) => return Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => return Err(Errno::NoEntry.into()),
            (RenameMode::Exchange, Some(to)) if self.tree.is_within(dir, to) => {
                return Err(Errno::Invalid.into());
            }
            // Two inodes cannot be written at once.
            (RenameMode::Exchange, Some(_)) => return Err(Errno::NotSupported.into()),
            (_, Some(to)) if to == from => return Ok(()),
            (_, Some(to)) => self.may_replace(is_dir, to)?,
            (_, None) => {}
        }
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

    fn may_replace(&self, is_dir: bool, to: u32) -> Result<()> {
        match (is_dir, self.node(to)?.kind == FileKind::Dir) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) if !self.tree.is_empty(to) => Err(Errno::NotEmpty.into()),
            _ => Ok(()),
        }
    }
}
