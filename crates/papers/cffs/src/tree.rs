//! Section 2.2: the inode cache structures that make the directory relation. No directory is stored: each inode has its name
//! and its parent, and the tree is built in memory at mounting.

use std::collections::{BTreeMap, BTreeSet};

use pumice_common::ROOT;
use pumice_vfs::FileKind;

use crate::layout::Addr;

/// An inode in memory.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: FileKind,
    pub(crate) parent: u32,
    pub(crate) name: Vec<u8>,
    /// Its inode page, and the time of that.
    pub(crate) at: Addr,
    pub(crate) time: u32,
    /// The names of a directory, and the order in which they are listed.
    names: BTreeMap<Vec<u8>, u32>,
    order: BTreeSet<u32>,
    dirs: u32,
}

/// All inodes that have a name.
#[derive(Default)]
pub(crate) struct Tree {
    nodes: BTreeMap<u32, Node>,
}

impl Tree {
    pub(crate) fn get(&self, ino: u32) -> Option<&Node> {
        self.nodes.get(&ino)
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// All inodes, ascending.
    pub(crate) fn inos(&self) -> Vec<u32> {
        self.nodes.keys().copied().collect()
    }

    /// Adds an inode that no directory lists yet.
    pub(crate) fn add(&mut self, ino: u32, kind: FileKind, at: Addr, time: u32) {
        let node = Node {
            kind,
            parent: ino,
            name: Vec::new(),
            at,
            time,
            names: BTreeMap::new(),
            order: BTreeSet::new(),
            dirs: 0,
        };
        self.nodes.insert(ino, node);
    }

    /// The inode page of an inode is elsewhere now; returns where it was.
    pub(crate) fn set_place(&mut self, ino: u32, at: Addr, time: u32) -> Option<Addr> {
        let node = self.nodes.get_mut(&ino)?;
        node.time = time;
        Some(core::mem::replace(&mut node.at, at))
    }

    /// Lists an inode in a directory.
    pub(crate) fn attach(&mut self, ino: u32, parent: u32, name: &[u8]) {
        debug_assert!(self.nodes.contains_key(&parent), "directory {parent} of inode {ino} is not known");
        debug_assert!(self.nodes.contains_key(&ino), "inode {ino} is not known");
        let Some(node) = self.nodes.get_mut(&ino) else { return };
        (node.parent, node.name) = (parent, name.to_vec());
        let is_dir = node.kind == FileKind::Dir;
        if let Some(dir) = self.nodes.get_mut(&parent) {
            dir.names.insert(name.to_vec(), ino);
            dir.order.insert(ino);
            dir.dirs += u32::from(is_dir);
        }
    }

    /// Takes an inode out of its directory.
    pub(crate) fn detach(&mut self, ino: u32) {
        debug_assert!(self.nodes.contains_key(&ino), "inode {ino} is not known");
        let Some(node) = self.nodes.get_mut(&ino) else { return };
        let (parent, name, is_dir) =
            (node.parent, core::mem::take(&mut node.name), node.kind == FileKind::Dir);
        if let Some(dir) = self.nodes.get_mut(&parent)
            && dir.names.get(&name) == Some(&ino)
        {
            dir.names.remove(&name);
            dir.order.remove(&ino);
            dir.dirs -= u32::from(is_dir);
        }
    }

    /// An inode is gone.
    pub(crate) fn remove(&mut self, ino: u32) -> Option<Node> {
        self.detach(ino);
        self.nodes.remove(&ino)
    }

    /// The inode behind a name.
    pub(crate) fn find(&self, dir: u32, name: &[u8]) -> Option<u32> {
        self.nodes.get(&dir)?.names.get(name).copied()
    }

    /// Links: a directory's own, its parent's and its directories'; an inode without a name has none.
    pub(crate) fn links(&self, ino: u32) -> u32 {
        match self.nodes.get(&ino) {
            Some(node) if node.kind == FileKind::Dir => 2 + node.dirs,
            Some(_) => 1,
            None => 0,
        }
    }

    pub(crate) fn is_empty(&self, dir: u32) -> bool {
        self.nodes.get(&dir).is_none_or(|node| node.names.is_empty())
    }

    /// The inodes in a directory behind one, in the order of listing.
    pub(crate) fn listed(&self, dir: u32, behind: u32) -> impl Iterator<Item = (u32, &Node)> {
        let order = self.nodes.get(&dir).map(|node| node.order.range(behind.saturating_add(1)..));
        order.into_iter().flatten().filter_map(|ino| self.nodes.get(ino).map(|node| (*ino, node)))
    }

    /// True if an inode's directories lead to the root.
    pub(crate) fn is_below_root(&self, ino: u32) -> bool {
        let mut at = ino;
        for _ in 0..=self.nodes.len() {
            match self.nodes.get(&at) {
                Some(_) if at == ROOT => return true,
                Some(node) if node.parent != at => at = node.parent,
                _ => return false,
            }
        }
        false
    }
}
