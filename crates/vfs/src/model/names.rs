//! Making names and taking them away.

use super::content::Content;
use super::directory::Directory;
use super::node::{Body, Node, check_target};
use super::state::State;
use crate::{Attr, Errno, FileKind, Ino, NewNode, Result, Timestamp, check_name};

impl State {
    pub(super) fn create(
        &mut self,
        dir: Ino,
        name: &[u8],
        new: &NewNode<'_>,
        now: Timestamp,
    ) -> Result<Attr> {
        self.writable()?;
        self.check_free(dir, name)?;
        check_target(new)?;
        if new.kind == FileKind::Dir {
            self.check_links(dir)?;
        }
        let ino = Ino(self.last_ino.checked_add(1).ok_or(Errno::NoSpace)?);
        self.last_ino = ino.0;
        self.nodes.insert(ino, fresh(ino, dir, new, self.block_bytes, now));
        self.add_entry(dir, name, ino, now)?;
        self.attr(ino)
    }

    pub(super) fn link(&mut self, ino: Ino, dir: Ino, name: &[u8], now: Timestamp) -> Result<Attr> {
        self.writable()?;
        let node = self.node(ino)?;
        if node.is_dir() {
            return Err(Errno::Perm.into());
        }
        if node.meta.nlink == 0 {
            return Err(Errno::NoEntry.into());
        }
        self.check_free(dir, name)?;
        self.check_links(ino)?;
        let node = self.node_mut(ino)?;
        node.meta.nlink += 1;
        node.meta.ctime = now;
        self.add_entry(dir, name, ino, now)?;
        self.attr(ino)
    }

    pub(super) fn unlink(&mut self, dir: Ino, name: &[u8], now: Timestamp) -> Result<()> {
        self.writable()?;
        check_name(name)?;
        let ino = self.entry(dir, name)?;
        if self.node(ino)?.is_dir() {
            return Err(Errno::IsDir.into());
        }
        self.remove_entry(dir, name, now)?;
        self.drop_name(ino, now)
    }

    pub(super) fn rmdir(&mut self, dir: Ino, name: &[u8], now: Timestamp) -> Result<()> {
        self.writable()?;
        check_name(name)?;
        let ino = self.entry(dir, name)?;
        if !self.node(ino)?.dir()?.is_empty() {
            return Err(Errno::NotEmpty.into());
        }
        self.remove_entry(dir, name, now)?;
        self.drop_name(ino, now)
    }

    /// Checks that a name can be made.
    fn check_free(&self, dir: Ino, name: &[u8]) -> Result<()> {
        check_name(name)?;
        match self.linked_dir(dir)?.get(name) {
            Some(_) => Err(Errno::Exists.into()),
            None => Ok(()),
        }
    }

    fn check_links(&self, ino: Ino) -> Result<()> {
        if self.node(ino)?.meta.nlink == u32::MAX { Err(Errno::TooManyLinks.into()) } else { Ok(()) }
    }

    /// Points a name to `ino`; the `..` of a directory becomes a link of `dir`.
    pub(super) fn add_entry(&mut self, dir: Ino, name: &[u8], ino: Ino, now: Timestamp) -> Result<()> {
        let child = self.node_mut(ino)?;
        let subdirs = u32::from(child.is_dir());
        if let Body::Dir(directory) = &mut child.body {
            directory.parent = dir;
        }
        let parent = self.node_mut(dir)?;
        parent.dir_mut()?.put(name, ino);
        parent.meta.nlink += subdirs;
        parent.touch(now);
        Ok(())
    }

    /// Takes a name away, and with it the link that the `..` of a directory was. `add_entry` may follow.
    pub(super) fn remove_entry(&mut self, dir: Ino, name: &[u8], now: Timestamp) -> Result<()> {
        self.unlink_dotdot(dir, name)?;
        let parent = self.node_mut(dir)?;
        parent.dir_mut()?.remove(name);
        parent.touch(now);
        Ok(())
    }

    /// Counts the `..` of the directory behind a name, if it is one, out of `dir`'s links.
    pub(super) fn unlink_dotdot(&mut self, dir: Ino, name: &[u8]) -> Result<()> {
        let ino = self.entry(dir, name)?;
        if self.node(ino)?.is_dir() {
            self.node_mut(dir)?.meta.nlink -= 1;
        }
        Ok(())
    }

    /// An inode has lost a name: a directory its only one.
    pub(super) fn drop_name(&mut self, ino: Ino, now: Timestamp) -> Result<()> {
        let node = self.node_mut(ino)?;
        node.meta.nlink = if node.is_dir() { 0 } else { node.meta.nlink - 1 };
        node.meta.ctime = now;
        self.reap(ino);
        Ok(())
    }
}

fn fresh(ino: Ino, parent: Ino, new: &NewNode<'_>, block_bytes: u32, now: Timestamp) -> Node {
    let body = match new.kind {
        FileKind::File => Body::File(Content::new(block_bytes)),
        FileKind::Dir => Body::Dir(Directory::new(parent)),
        FileKind::Symlink => Body::Symlink(new.target.to_vec()),
        _ => Body::Special,
    };
    let is_device = matches!(new.kind, FileKind::CharDevice | FileKind::BlockDevice);
    let meta = Attr {
        ino,
        kind: new.kind,
        perm: new.perm & 0o7777,
        nlink: if new.kind == FileKind::Dir { 2 } else { 1 },
        uid: new.uid,
        gid: new.gid,
        rdev: if is_device { new.rdev } else { 0 },
        size: 0,
        allocated: 0,
        atime: now,
        mtime: now,
        ctime: now,
        btime: now,
        generation: 0,
    };
    Node::new(meta, body)
}
