//! Names: create, link, unlink, rename; and the fate of inodes without one.

use alloc::{format, string::String};

use pumice_vfs::{Errno, FileKind, NewNode, RenameMode, Result, Timestamp, check_name};

use crate::codec::half;
use crate::dir::Listed;
use crate::files::Files;
use crate::ids::FIRST_NID;
use crate::log::Log;
use crate::names::{Name, Named, Touch};
use crate::node::Inode;
use crate::nodes::{ORPHANS, ROOT};
use crate::volume::Volume;

/// An inode is new.
const MADE: Touch = Touch { made: true, moved: false, relinked: false };
/// A name went, or changed its meaning.
const MOVED: Touch = Touch { made: false, moved: true, relinked: false };
/// A directory came or went below.
const RELINKED: Touch = Touch { made: false, moved: false, relinked: true };

/// Most names of an inode, as many as `st_nlink` of old programs can show.
const LINK_MAX: u32 = 65_000;

impl Files {
    /// An inode that must be a directory.
    pub(crate) fn directory(&mut self, log: &mut Log<'_>, dir: u32) -> Result<&Inode> {
        let inode = self.inode(log, dir)?;
        if inode.kind == FileKind::Dir { Ok(inode) } else { Err(Errno::NotDir.into()) }
    }

    /// The inode behind a name, `.` and `..` included.
    pub(crate) fn find(&mut self, log: &mut Log<'_>, dir: u32, name: &[u8]) -> Result<(u32, FileKind)> {
        let parent = self.directory(log, dir)?.parent;
        match name {
            b"." => Ok((dir, FileKind::Dir)),
            b".." => Ok((parent, FileKind::Dir)),
            _ if name.len() > 255 => Err(Errno::NameTooLong.into()),
            _ => self.dir_find(log, dir, name)?.ok_or(Errno::NoEntry.into()),
        }
    }

    /// Fails if a name cannot be added to a directory.
    fn check_new(&mut self, log: &mut Log<'_>, dir: u32, name: &[u8]) -> Result<()> {
        if self.directory(log, dir)?.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        check_name(name)?;
        match self.dir_find(log, dir, name)? {
            Some(_) => Err(Errno::Exists.into()),
            None => Ok(()),
        }
    }

    /// Makes an inode that no name leads to yet.
    fn make_inode(
        &mut self,
        log: &mut Log<'_>,
        at: Name<'_>,
        new: &NewNode<'_>,
        now: Timestamp,
    ) -> Result<u32> {
        let (dir, name) = at;
        if new.kind == FileKind::Symlink {
            if new.target.len() > 4095 {
                return Err(Errno::NameTooLong.into());
            }
            if new.target.is_empty() || new.target.contains(&0) {
                return Err(Errno::Invalid.into());
            }
        }
        self.claim(log, u64::from(self.params.node) * 2)?;
        let is_dir = new.kind == FileKind::Dir;
        let xattr = self.inherited(log, dir)?;
        let perm = half(new.perm & 0o7777);
        let (links, rdev) = if is_dir { (2, 0) } else { (1, new.rdev) };
        let empty = Inode::directory(dir, perm, links, now);
        let NewNode { kind, uid, gid, .. } = *new;
        let inode = Inode { kind, uid, gid, rdev, name: name.to_vec(), xattr, ..empty };
        self.add_filled(log, inode, new.target)
    }

    /// The inode that a rename leaves under the old name, if any; no name leads to it yet.
    fn whiteout(
        &mut self,
        log: &mut Log<'_>,
        at: Name<'_>,
        mode: RenameMode,
        now: Timestamp,
    ) -> Result<Option<u32>> {
        let RenameMode::Whiteout { uid, gid } = mode else { return Ok(None) };
        self.make_inode(log, at, &NewNode::whiteout(uid, gid), now).map(Some)
    }

    fn check_replace(&mut self, log: &mut Log<'_>, kind: FileKind, other: (u32, FileKind)) -> Result<()> {
        match (kind == FileKind::Dir, other.1 == FileKind::Dir) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) if self.inode(log, other.0)?.size > 0 => Err(Errno::NotEmpty.into()),
            _ => Ok(()),
        }
    }

    /// True if directory `dir` is `top` or lies below it.
    fn is_below(&mut self, log: &mut Log<'_>, mut dir: u32, top: u32) -> Result<bool> {
        // A damaged chain of parents must not hold anyone forever.
        for _ in 0..100_000 {
            if dir == top {
                return Ok(true);
            }
            let parent = self.inode(log, dir)?.parent;
            if dir == ROOT || parent == dir {
                return Ok(false);
            }
            dir = parent;
        }
        Err(crate::error::Damage::Directory(dir, 0).into())
    }

    /// Ends a hold; true if it was the last of an inode without a name.
    pub(crate) fn end_hold(&mut self, log: &mut Log<'_>, ino: u32) -> Result<bool> {
        if self.end_one_hold(ino).ok_or(Errno::Stale)? > 0 {
            return Ok(false);
        }
        Ok(!log.status.is_read_only() && self.inode(log, ino)?.nlink == 0)
    }

    /// An inode that lost its last name before the last mount.
    pub(crate) fn next_orphan(&mut self, log: &mut Log<'_>) -> Result<Option<u32>> {
        if self.inode(log, ORPHANS)?.size == 0 {
            return Ok(None);
        }
        let (mut found, mut at, mut buckets) = (None, Some(0), 0);
        while let (Some(from), None) = (at, found) {
            let (batch, next) = self.dir_batch(log, ORPHANS, from)?;
            // A damaged list must not take named inodes away.
            let is_orphan = |listed: &&Listed| listed.name == orphan_name(listed.ino).as_bytes();
            let orphans = batch.iter().filter(is_orphan).map(|listed| listed.ino);
            found = orphans.filter(|ino| *ino >= FIRST_NID).find(|ino| !self.is_held(*ino));
            self.count_bucket(ORPHANS, &mut buckets)?;
            at = next;
        }
        Ok(found)
    }

    /// Takes an inode without a name away.
    pub(crate) fn drop_orphan(&mut self, log: &mut Log<'_>, ino: u32) -> Result<()> {
        self.dir_remove(log, ORPHANS, orphan_name(ino).as_bytes())?;
        self.destroy(log, ino)
    }
}

impl Volume<'_> {
    /// A directory got or lost a name: it changed now.
    fn touch_dir(&mut self, dir: u32, now: Timestamp) -> Result<()> {
        let inode = self.files.inode_mut(&mut self.log, dir)?;
        (inode.mtime, inode.ctime) = (now, now);
        self.names.touch(dir, Touch::default());
        Ok(())
    }

    /// A directory came or went below another.
    fn relink(&mut self, dir: u32, count: fn(u32, u32) -> u32) -> Result<()> {
        let inode = self.files.inode_mut(&mut self.log, dir)?;
        inode.nlink = count(inode.nlink, 1);
        self.names.touch(dir, RELINKED);
        Ok(())
    }

    /// Makes an inode under a new name.
    pub(crate) fn create_node(&mut self, dir: u32, name: &[u8], new: &NewNode<'_>) -> Result<u32> {
        self.files.check_new(&mut self.log, dir, name)?;
        let now = self.files.now();
        let ino = self.files.make_inode(&mut self.log, (dir, name), new, now)?;
        if let Err(error) = self.files.dir_insert(&mut self.log, (dir, name), (ino, new.kind)) {
            self.files.destroy(&mut self.log, ino)?;
            return Err(error);
        }
        if new.kind == FileKind::Dir {
            self.relink(dir, u32::saturating_add)?;
        }
        self.names.change(dir, name, Some((ino, new.kind)));
        self.names.touch(ino, MADE);
        self.touch_dir(dir, now)?;
        Ok(ino)
    }

    /// Gives an inode one more name.
    pub(crate) fn link_node(&mut self, ino: u32, dir: u32, name: &[u8]) -> Result<()> {
        let inode = self.files.inode(&mut self.log, ino)?;
        let (kind, nlink) = (inode.kind, inode.nlink);
        if kind == FileKind::Dir {
            return Err(Errno::Perm.into());
        }
        self.files.check_new(&mut self.log, dir, name)?;
        match nlink {
            0 => return Err(Errno::NoEntry.into()),
            LINK_MAX.. => return Err(Errno::TooManyLinks.into()),
            _ => self.files.dir_insert(&mut self.log, (dir, name), (ino, kind))?,
        }
        let now = self.files.now();
        let inode = self.files.inode_mut(&mut self.log, ino)?;
        (inode.nlink, inode.ctime) = (nlink + 1, now);
        (inode.parent, inode.name) = (dir, name.to_vec());
        self.names.change(dir, name, Some((ino, kind)));
        self.names.touch(ino, MOVED);
        self.touch_dir(dir, now)
    }

    /// Takes a name away: of a directory if `is_dir`, else of anything but one.
    pub(crate) fn unlink_node(&mut self, dir: u32, name: &[u8], is_dir: bool) -> Result<()> {
        self.files.directory(&mut self.log, dir)?;
        check_name(name)?;
        let (ino, kind) = self.files.find(&mut self.log, dir, name)?;
        match (kind == FileKind::Dir, is_dir) {
            (true, false) => return Err(Errno::IsDir.into()),
            (false, true) => return Err(Errno::NotDir.into()),
            (true, true) if self.files.inode(&mut self.log, ino)?.size > 0 => {
                return Err(Errno::NotEmpty.into());
            }
            _ => {}
        }
        let now = self.files.now();
        self.files.dir_remove(&mut self.log, dir, name)?;
        self.names.change(dir, name, None);
        self.names.touch(dir, MOVED);
        self.touch_dir(dir, now)?;
        self.drop_link(ino, dir, now)
    }

    /// Counts a link off an inode that lost a name in `dir`.
    fn drop_link(&mut self, ino: u32, dir: u32, now: Timestamp) -> Result<()> {
        let inode = self.files.inode_mut(&mut self.log, ino)?;
        inode.ctime = now;
        let is_dir = inode.kind == FileKind::Dir;
        inode.nlink = if is_dir { 0 } else { inode.nlink.saturating_sub(1) };
        let gone = inode.nlink == 0;
        self.names.touch(ino, MOVED);
        if is_dir {
            self.relink(dir, u32::saturating_sub)?;
        }
        match gone {
            true if self.files.is_held(ino) => {
                let kind = self.files.inode(&mut self.log, ino)?.kind;
                self.files.dir_insert(&mut self.log, (ORPHANS, orphan_name(ino).as_bytes()), (ino, kind))
            }
            true => self.files.destroy(&mut self.log, ino),
            false => Ok(()),
        }
    }

    /// Moves or swaps names.
    pub(crate) fn rename_node(&mut self, from: Name<'_>, to: Name<'_>, mode: RenameMode) -> Result<()> {
        let ((dir, name), (to_dir, to_name)) = (from, to);
        check_name(name)?;
        check_name(to_name)?;
        self.files.directory(&mut self.log, to_dir)?;
        let (ino, kind) = self.files.find(&mut self.log, dir, name)?;
        if self.files.inode(&mut self.log, to_dir)?.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        let target = self.files.dir_find(&mut self.log, to_dir, to_name)?;
        match (mode, target) {
            (RenameMode::NoReplace, Some(_)) => return Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => return Err(Errno::NoEntry.into()),
            _ => {}
        }
        if kind == FileKind::Dir && self.files.is_below(&mut self.log, to_dir, ino)? {
            return Err(Errno::Invalid.into());
        }
        let now = self.files.now();
        match target {
            Some((other, _)) if other == ino => Ok(()),
            Some((other, other_kind)) if mode == RenameMode::Exchange => {
                if other_kind == FileKind::Dir && self.files.is_below(&mut self.log, dir, other)? {
                    return Err(Errno::Invalid.into());
                }
                self.files.dir_replace(&mut self.log, from, (other, other_kind))?;
                self.files.dir_replace(&mut self.log, to, (ino, kind))?;
                self.moved((other, other_kind), to_dir, from, now)?;
                self.moved((ino, kind), dir, to, now)
            }
            Some((other, other_kind)) => {
                self.files.check_replace(&mut self.log, kind, (other, other_kind))?;
                let white = self.files.whiteout(&mut self.log, from, mode, now)?;
                self.files.dir_replace(&mut self.log, to, (ino, kind))?;
                self.leave_name(from, white)?;
                self.moved((ino, kind), dir, to, now)?;
                self.drop_link(other, to_dir, now)
            }
            None => {
                let white = self.files.whiteout(&mut self.log, from, mode, now)?;
                if let Err(error) = self.files.dir_insert(&mut self.log, to, (ino, kind)) {
                    white.map_or(Ok(()), |white| self.files.destroy(&mut self.log, white))?;
                    return Err(error);
                }
                self.leave_name(from, white)?;
                self.moved((ino, kind), dir, to, now)
            }
        }
    }

    /// Takes a name away, or has it lead to a whiteout.
    fn leave_name(&mut self, (dir, name): Name<'_>, white: Option<u32>) -> Result<()> {
        let Some(white) = white else {
            self.files.dir_remove(&mut self.log, dir, name)?;
            self.names.change(dir, name, None);
            return Ok(());
        };
        self.files.dir_replace(&mut self.log, (dir, name), (white, FileKind::CharDevice))?;
        self.names.change(dir, name, Some((white, FileKind::CharDevice)));
        self.names.touch(white, MADE);
        Ok(())
    }

    /// Notes the move in an inode and both directories.
    fn moved(&mut self, (ino, kind): Named, from: u32, (to, name): Name<'_>, now: Timestamp) -> Result<()> {
        let inode = self.files.inode_mut(&mut self.log, ino)?;
        inode.ctime = now;
        (inode.parent, inode.name) = (to, name.to_vec());
        if kind == FileKind::Dir && from != to {
            self.relink(from, u32::saturating_sub)?;
            self.relink(to, u32::saturating_add)?;
        }
        self.names.change(to, name, Some((ino, kind)));
        for ino in [ino, from, to] {
            self.names.touch(ino, MOVED);
        }
        self.touch_dir(from, now)?;
        self.touch_dir(to, now)
    }
}

/// The name of an inode in the hidden directory.
pub(crate) fn orphan_name(ino: u32) -> String {
    format!("{ino:08x}")
}
