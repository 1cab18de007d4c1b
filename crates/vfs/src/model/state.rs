//! All inodes of the model, how they are found, and how they go.

use alloc::collections::BTreeMap;

use super::directory::Directory;
use super::node::{Body, Node};
use crate::{Attr, Errno, FileKind, Ino, Result, Timestamp};

pub(super) struct State {
    pub(super) nodes: BTreeMap<Ino, Node>,
    pub(super) last_ino: u64,
    pub(super) block_bytes: u32,
    pub(super) total_blocks: u64,
    pub(super) used_blocks: u64,
    pub(super) read_only: bool,
}

impl State {
    pub(super) fn new(block_bytes: u32, total_blocks: u64, now: Timestamp) -> State {
        let root = Attr {
            ino: Ino::ROOT,
            kind: FileKind::Dir,
            perm: 0o755,
            nlink: 2,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 0,
            allocated: 0,
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            generation: 0,
        };
        let root = Node::new(root, Body::Dir(Directory::new(Ino::ROOT)));
        State {
            nodes: BTreeMap::from([(Ino::ROOT, root)]),
            last_ino: Ino::ROOT.0,
            block_bytes,
            total_blocks,
            used_blocks: 0,
            read_only: false,
        }
    }

    pub(super) fn node(&self, ino: Ino) -> Result<&Node> {
        self.nodes.get(&ino).ok_or(Errno::Stale.into())
    }

    pub(super) fn node_mut(&mut self, ino: Ino) -> Result<&mut Node> {
        self.nodes.get_mut(&ino).ok_or(Errno::Stale.into())
    }

    pub(super) fn attr(&self, ino: Ino) -> Result<Attr> {
        Ok(self.node(ino)?.attr(self.block_bytes))
    }

    pub(super) fn writable(&self) -> Result<()> {
        if self.read_only { Err(Errno::ReadOnly.into()) } else { Ok(()) }
    }

    /// A directory that still has its name, so that others can be made in it.
    pub(super) fn linked_dir(&self, ino: Ino) -> Result<&Directory> {
        let node = self.node(ino)?;
        let directory = node.dir()?;
        if node.meta.nlink == 0 { Err(Errno::NoEntry.into()) } else { Ok(directory) }
    }

    /// The inode behind a name other than `.` and `..`.
    pub(super) fn entry(&self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.node(dir)?.dir()?.get(name).ok_or(Errno::NoEntry.into())
    }

    /// Whether directory `dir` is `top` or lies somewhere below it.
    pub(super) fn is_within(&self, dir: Ino, top: Ino) -> Result<bool> {
        let mut at = dir;
        loop {
            if at == top {
                return Ok(true);
            }
            if at == Ino::ROOT {
                return Ok(false);
            }
            at = self.node(at)?.dir()?.parent;
        }
    }

    /// Changes the content of a file and keeps the count of blocks.
    pub(super) fn edit(&mut self, ino: Ino, edit: impl FnOnce(&mut super::content::Content)) -> Result<()> {
        let content = self.node_mut(ino)?.content_mut()?;
        let before = content.block_count();
        edit(content);
        let after = content.block_count();
        self.used_blocks = self.used_blocks - before + after;
        Ok(())
    }

    /// [`Errno::NoSpace`] unless all of `start..end` can be allocated.
    pub(super) fn check_space(&self, ino: Ino, start: u64, end: u64) -> Result<()> {
        let missing = self.node(ino)?.content()?.missing(start, end);
        if missing > self.total_blocks - self.used_blocks { Err(Errno::NoSpace.into()) } else { Ok(()) }
    }

    /// Forgets an inode that has neither a name nor a holder.
    pub(super) fn reap(&mut self, ino: Ino) {
        let Some(node) = self.nodes.get(&ino) else { return };
        if node.meta.nlink > 0 || node.holds > 0 {
            return;
        }
        if let Body::File(content) = &node.body {
            self.used_blocks -= content.block_count();
        }
        self.nodes.remove(&ino);
    }
}
