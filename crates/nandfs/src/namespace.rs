//! Names: create, link, unlink, rename; and the fate of inodes without one.

use alloc::{format, string::String, vec::Vec};

use pumice_vfs::{Errno, FileKind, NewNode, RenameMode, Result, Timestamp, check_name};

use crate::dir::Listed;
use crate::ids::FIRST_NID;
use crate::names::Touch;
use crate::node::{Body, Inode};
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

impl Volume<'_> {
    /// An inode that must be a directory.
    pub(crate) fn directory(&mut self, dir: u32) -> Result<&Inode> {
        let inode = self.inode(dir)?;
        if inode.kind == FileKind::Dir { Ok(inode) } else { Err(Errno::NotDir.into()) }
    }

    /// The inode behind a name, `.` and `..` included.
    pub(crate) fn find(&mut self, dir: u32, name: &[u8]) -> Result<(u32, FileKind)> {
        let parent = self.directory(dir)?.parent;
        match name {
            b"." => Ok((dir, FileKind::Dir)),
            b".." => Ok((parent, FileKind::Dir)),
            _ if name.len() > 255 => Err(Errno::NameTooLong.into()),
            _ => self.dir_find(dir, name)?.ok_or(Errno::NoEntry.into()),
        }
    }

    /// A directory got or lost a name: it changed now.
    fn touch_dir(&mut self, dir: u32, now: Timestamp) -> Result<()> {
        let inode = self.inode_mut(dir)?;
        (inode.mtime, inode.ctime) = (now, now);
        self.names.touch(dir, Touch::default());
        Ok(())
    }

    /// Fails if a name cannot be added to a directory.
    fn check_new(&mut self, dir: u32, name: &[u8]) -> Result<()> {
        if self.directory(dir)?.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        check_name(name)?;
        match self.dir_find(dir, name)? {
            Some(_) => Err(Errno::Exists.into()),
            None => Ok(()),
        }
    }

    /// Makes an inode under a new name.
    pub(crate) fn create_node(&mut self, dir: u32, name: &[u8], new: &NewNode<'_>) -> Result<u32> {
        self.check_new(dir, name)?;
        let now = self.now();
        let ino = self.make_inode(dir, name, new, now)?;
        if let Err(error) = self.dir_insert(dir, name, ino, new.kind) {
            self.destroy(ino)?;
            return Err(error);
        }
        if new.kind == FileKind::Dir {
            let parent = self.inode_mut(dir)?;
            parent.nlink = parent.nlink.saturating_add(1);
            self.names.touch(dir, RELINKED);
        }
        self.names.change(dir, name, Some((ino, new.kind)));
        self.names.touch(ino, MADE);
        self.touch_dir(dir, now)?;
        Ok(ino)
    }

    /// Makes an inode that no name leads to yet.
    fn make_inode(&mut self, dir: u32, name: &[u8], new: &NewNode<'_>, now: Timestamp) -> Result<u32> {
        if new.kind == FileKind::Symlink {
            if new.target.len() > 4095 {
                return Err(Errno::NameTooLong.into());
            }
            if new.target.is_empty() || new.target.contains(&0) {
                return Err(Errno::Invalid.into());
            }
        }
        self.claim(u64::from(self.log.params.node) * 2)?;
        let is_dir = new.kind == FileKind::Dir;
        let xattr = self.inherited(dir)?;
        let ino = self.add_inode(Inode {
            kind: new.kind,
            perm: u16::try_from(new.perm & 0o7777).unwrap_or(0),
            uid: new.uid,
            gid: new.gid,
            nlink: if is_dir { 2 } else { 1 },
            rdev: if is_dir { 0 } else { new.rdev },
            generation: 0,
            size: 0,
            blocks: 0,
            parent: dir,
            name: name.to_vec(),
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            xattr_ino: 0,
            xattr,
            body: Body::Inline(Vec::new()),
        })?;
        if let Err(error) = self.write_file(ino, 0, new.target) {
            self.destroy(ino)?;
            return Err(error);
        }
        Ok(ino)
    }

    /// Gives an inode one more name.
    pub(crate) fn link_node(&mut self, ino: u32, dir: u32, name: &[u8]) -> Result<()> {
        let inode = self.inode(ino)?;
        let (kind, nlink) = (inode.kind, inode.nlink);
        if kind == FileKind::Dir {
            return Err(Errno::Perm.into());
        }
        self.check_new(dir, name)?;
        match nlink {
            0 => return Err(Errno::NoEntry.into()),
            LINK_MAX.. => return Err(Errno::TooManyLinks.into()),
            _ => self.dir_insert(dir, name, ino, kind)?,
        }
        let now = self.now();
        let inode = self.inode_mut(ino)?;
        (inode.nlink, inode.ctime) = (nlink + 1, now);
        (inode.parent, inode.name) = (dir, name.to_vec());
        self.names.change(dir, name, Some((ino, kind)));
        self.names.touch(ino, MOVED);
        self.touch_dir(dir, now)
    }

    /// Takes a name away: of a directory if `is_dir`, else of anything but one.
    pub(crate) fn unlink_node(&mut self, dir: u32, name: &[u8], is_dir: bool) -> Result<()> {
        self.directory(dir)?;
        check_name(name)?;
        let (ino, kind) = self.find(dir, name)?;
        match (kind == FileKind::Dir, is_dir) {
            (true, false) => return Err(Errno::IsDir.into()),
            (false, true) => return Err(Errno::NotDir.into()),
            (true, true) if self.inode(ino)?.size > 0 => return Err(Errno::NotEmpty.into()),
            _ => {}
        }
        let now = self.now();
        self.dir_remove(dir, name)?;
        self.names.change(dir, name, None);
        self.names.touch(dir, MOVED);
        self.touch_dir(dir, now)?;
        self.drop_link(ino, dir, now)
    }

    /// Counts a link off an inode that lost a name in `dir`.
    fn drop_link(&mut self, ino: u32, dir: u32, now: Timestamp) -> Result<()> {
        let inode = self.inode_mut(ino)?;
        inode.ctime = now;
        let is_dir = inode.kind == FileKind::Dir;
        inode.nlink = if is_dir { 0 } else { inode.nlink.saturating_sub(1) };
        let gone = inode.nlink == 0;
        self.names.touch(ino, MOVED);
        if is_dir {
            let parent = self.inode_mut(dir)?;
            parent.nlink = parent.nlink.saturating_sub(1);
            self.names.touch(dir, RELINKED);
        }
        match gone {
            true if self.files.held.contains_key(&ino) => {
                let kind = self.inode(ino)?.kind;
                self.dir_insert(ORPHANS, orphan_name(ino).as_bytes(), ino, kind)
            }
            true => self.destroy(ino),
            false => Ok(()),
        }
    }

    /// Moves or swaps names.
    pub(crate) fn rename_node(
        &mut self,
        dir: u32,
        name: &[u8],
        to_dir: u32,
        to_name: &[u8],
        mode: RenameMode,
    ) -> Result<()> {
        check_name(name)?;
        check_name(to_name)?;
        self.directory(to_dir)?;
        let (ino, kind) = self.find(dir, name)?;
        if self.inode(to_dir)?.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        let target = self.dir_find(to_dir, to_name)?;
        match (mode, target) {
            (RenameMode::NoReplace, Some(_)) => return Err(Errno::Exists.into()),
            (RenameMode::Exchange, None) => return Err(Errno::NoEntry.into()),
            _ => {}
        }
        if kind == FileKind::Dir && self.is_below(to_dir, ino)? {
            return Err(Errno::Invalid.into());
        }
        let now = self.now();
        match target {
            Some((other, _)) if other == ino => Ok(()),
            Some((other, other_kind)) if mode == RenameMode::Exchange => {
                if other_kind == FileKind::Dir && self.is_below(dir, other)? {
                    return Err(Errno::Invalid.into());
                }
                self.dir_replace(dir, name, other, other_kind)?;
                self.dir_replace(to_dir, to_name, ino, kind)?;
                self.moved(other, other_kind, to_dir, dir, name, now)?;
                self.moved(ino, kind, dir, to_dir, to_name, now)
            }
            Some((other, other_kind)) => {
                self.check_replace(kind, other, other_kind)?;
                let white = self.whiteout(dir, name, mode, now)?;
                self.dir_replace(to_dir, to_name, ino, kind)?;
                self.leave_name(dir, name, white)?;
                self.moved(ino, kind, dir, to_dir, to_name, now)?;
                self.drop_link(other, to_dir, now)
            }
            None => {
                let white = self.whiteout(dir, name, mode, now)?;
                if let Err(error) = self.dir_insert(to_dir, to_name, ino, kind) {
                    white.map_or(Ok(()), |white| self.destroy(white))?;
                    return Err(error);
                }
                self.leave_name(dir, name, white)?;
                self.moved(ino, kind, dir, to_dir, to_name, now)
            }
        }
    }

    /// The inode that a rename leaves under the old name, if any; no name leads to it yet.
    fn whiteout(&mut self, dir: u32, name: &[u8], mode: RenameMode, now: Timestamp) -> Result<Option<u32>> {
        let RenameMode::Whiteout { uid, gid } = mode else { return Ok(None) };
        self.make_inode(dir, name, &NewNode::whiteout(uid, gid), now).map(Some)
    }

    /// Takes a name away, or has it lead to a whiteout.
    fn leave_name(&mut self, dir: u32, name: &[u8], white: Option<u32>) -> Result<()> {
        let Some(white) = white else {
            self.dir_remove(dir, name)?;
            self.names.change(dir, name, None);
            return Ok(());
        };
        self.dir_replace(dir, name, white, FileKind::CharDevice)?;
        self.names.change(dir, name, Some((white, FileKind::CharDevice)));
        self.names.touch(white, MADE);
        Ok(())
    }

    fn check_replace(&mut self, kind: FileKind, other: u32, other_kind: FileKind) -> Result<()> {
        match (kind == FileKind::Dir, other_kind == FileKind::Dir) {
            (true, false) => Err(Errno::NotDir.into()),
            (false, true) => Err(Errno::IsDir.into()),
            (true, true) if self.inode(other)?.size > 0 => Err(Errno::NotEmpty.into()),
            _ => Ok(()),
        }
    }

    /// Notes the move in an inode and both directories.
    fn moved(
        &mut self,
        ino: u32,
        kind: FileKind,
        from: u32,
        to: u32,
        name: &[u8],
        now: Timestamp,
    ) -> Result<()> {
        let inode = self.inode_mut(ino)?;
        inode.ctime = now;
        (inode.parent, inode.name) = (to, name.to_vec());
        if kind == FileKind::Dir && from != to {
            let parent = self.inode_mut(from)?;
            parent.nlink = parent.nlink.saturating_sub(1);
            let parent = self.inode_mut(to)?;
            parent.nlink = parent.nlink.saturating_add(1);
            self.names.touch(from, RELINKED);
            self.names.touch(to, RELINKED);
        }
        self.names.change(to, name, Some((ino, kind)));
        for ino in [ino, from, to] {
            self.names.touch(ino, MOVED);
        }
        self.touch_dir(from, now)?;
        self.touch_dir(to, now)
    }

    /// True if directory `dir` is `top` or lies below it.
    fn is_below(&mut self, mut dir: u32, top: u32) -> Result<bool> {
        // A damaged chain of parents must not hold anyone forever.
        for _ in 0..100_000 {
            if dir == top {
                return Ok(true);
            }
            let parent = self.inode(dir)?.parent;
            if dir == ROOT || parent == dir {
                return Ok(false);
            }
            dir = parent;
        }
        Err(crate::error::Damage::Directory(dir, 0).into())
    }

    /// Takes an inode away with all that belongs to it.
    pub(crate) fn destroy(&mut self, ino: u32) -> Result<()> {
        self.files.cache.discard(ino, 0, u32::MAX);
        self.destroy_hidden(ino)?;
        self.unmap(ino, 0, u64::MAX)?;
        self.remove_node(ino)?;
        self.files.pending.remove(&ino);
        Ok(())
    }

    /// Ends a hold; an inode without a name goes with its last.
    pub(crate) fn release_node(&mut self, ino: u32) -> Result<()> {
        match self.files.held.get_mut(&ino) {
            Some(count) if *count > 1 => {
                *count -= 1;
                Ok(())
            }
            Some(_) => {
                self.files.held.remove(&ino);
                if self.log.status.read_only || self.inode(ino)?.nlink > 0 {
                    return Ok(());
                }
                self.begin()?;
                self.dir_remove(ORPHANS, orphan_name(ino).as_bytes())?;
                self.destroy(ino)
            }
            None => Err(Errno::Stale.into()),
        }
    }

    /// Takes away one inode that lost its last name before the last mount; true if there may be more.
    pub(crate) fn reap_orphan(&mut self) -> Result<bool> {
        if self.inode(ORPHANS)?.size == 0 {
            return Ok(false);
        }
        let mut found = None;
        let mut at = Some(0);
        let mut buckets = 0;
        while let (Some(from), None) = (at, found) {
            let (batch, next) = self.dir_batch(ORPHANS, from)?;
            // A damaged list must not take named inodes away.
            let is_orphan = |listed: &&Listed| listed.name == orphan_name(listed.ino).as_bytes();
            let orphans = batch.iter().filter(is_orphan).map(|listed| listed.ino);
            found = orphans.filter(|ino| *ino >= FIRST_NID).find(|ino| !self.files.held.contains_key(ino));
            self.count_bucket(ORPHANS, &mut buckets)?;
            at = next;
        }
        let Some(ino) = found else { return Ok(false) };
        self.begin()?;
        self.dir_remove(ORPHANS, orphan_name(ino).as_bytes())?;
        self.destroy(ino)?;
        Ok(true)
    }
}

/// The name of an inode in the hidden directory.
pub(crate) fn orphan_name(ino: u32) -> String {
    format!("{ino:08x}")
}

/// A directory with nothing in it, for formatting.
pub(crate) fn empty_directory(parent: u32, perm: u16, nlink: u32, now: Timestamp) -> Inode {
    Inode {
        kind: FileKind::Dir,
        perm,
        uid: 0,
        gid: 0,
        nlink,
        rdev: 0,
        generation: 0,
        size: 0,
        blocks: 0,
        parent,
        name: Vec::new(),
        atime: now,
        mtime: now,
        ctime: now,
        btime: now,
        xattr_ino: 0,
        xattr: Vec::new(),
        body: Body::Inline(Vec::new()),
    }
}
