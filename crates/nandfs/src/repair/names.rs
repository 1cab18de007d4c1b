//! Names: an inode without its own gets it back from itself, or one in `lost+found`.

use alloc::{format, vec::Vec};

use pumice_vfs::{Errno, FileKind, NewNode, Result};

use super::work::{Name, Repair};
use crate::ids::FIRST_NID;
use crate::node::{Body, Inode, Node};
use crate::nodes::{ORPHANS, ROOT};

const LOST_FOUND: &[u8] = b"lost+found";

impl Repair<'_> {
    /// Gives a name to every inode that has none and was not taken away.
    pub(super) fn adopt_all(&mut self) -> Result<()> {
        // Directories first: inodes below them come along.
        loop {
            let lost: Vec<(u32, u32)> = self.unreached(true);
            // A directory with its parent there goes home; if there is none, the first goes to the lost ones.
            let home = lost.iter().find(|(_, parent)| self.tree.names.contains_key(parent));
            let Some((ino, parent)) = home.or(lost.first()).copied() else { break };
            self.adopt(ino, parent)?;
        }
        self.unreached(false).into_iter().try_for_each(|(ino, parent)| self.adopt(ino, parent))
    }

    /// Inodes that nothing leads to, with the directory of their name.
    fn unreached(&mut self, dirs: bool) -> Vec<(u32, u32)> {
        let mut lost = Vec::new();
        let gone = self.gone();
        let nids: Vec<u32> = self.nodes.range(FIRST_NID..).map(|(nid, _)| *nid).collect();
        for nid in nids {
            if self.tree.live.contains(&nid) {
                continue;
            }
            let Ok(Node::Inode(inode)) = self.files.nodes.current(&mut self.log.pages, nid) else {
                continue;
            };
            let removed = gone.contains(&nid) || self.is_removed(nid, inode.parent, &inode.name);
            if removed && inode.kind == FileKind::Dir {
                self.tree.removed.insert(nid);
            }
            // Attribute inodes have no name; orphans no link.
            if removed || inode.nlink == 0 {
                self.give_up(nid);
            } else if !inode.name.is_empty() && (inode.kind == FileKind::Dir) == dirs {
                lost.push((nid, inode.parent));
            }
        }
        if dirs {
            self.give_up_below(&mut lost);
            // A directory below another one that is lost comes with it.
            let heads: Vec<(u32, u32)> = lost
                .iter()
                .copied()
                .filter(|(_, parent)| !lost.iter().any(|(nid, _)| nid == parent))
                .collect();
            if !heads.is_empty() {
                return heads;
            }
        }
        lost
    }

    /// Gives up lost directories with one above them that was taken away, whichever was looked at first.
    fn give_up_below(&mut self, lost: &mut Vec<(u32, u32)>) {
        while let Some(at) = lost.iter().position(|(_, parent)| self.tree.removed.contains(parent)) {
            let (nid, _) = lost.remove(at);
            self.tree.removed.insert(nid);
            self.give_up(nid);
        }
    }

    fn give_up(&mut self, nid: u32) {
        self.nodes.remove(&nid);
        // Its promises have been replayed.
        self.files.nodes.forget(nid);
    }

    fn adopt(&mut self, ino: u32, parent: u32) -> Result<()> {
        let inode = self.files.inode(&mut self.log, ino)?;
        let (kind, own) = (inode.kind, inode.name.clone());
        let is_free =
            self.tree.names.get(&parent).is_some_and(|names| names.iter().all(|name| name.bytes != own));
        let (dir, name) = match is_free && parent != ORPHANS {
            true => (parent, own),
            false => (self.lost_found()?, format!("#{ino}").into_bytes()),
        };
        let shown = alloc::string::String::from_utf8_lossy(&name).into_owned();
        self.tell("name", format!("inode {ino} had lost its name: {shown:?} in directory {dir}"));
        self.tree.names.entry(dir).or_default().push(Name { bytes: name, ino, kind, born: 0 });
        self.tree.torn.insert(dir);
        if kind == FileKind::Dir {
            self.tree.parents.insert(ino, dir);
        }
        self.tree.live.insert(ino);
        if kind == FileKind::Dir { self.walk_from(ino) } else { self.keep(ino) }
    }

    /// The directory of inodes that have no other.
    fn lost_found(&mut self) -> Result<u32> {
        let names = self.tree.names.entry(ROOT).or_default();
        if let Some(found) = names.iter().find(|name| name.bytes == LOST_FOUND && name.kind == FileKind::Dir)
        {
            return Ok(found.ino);
        }
        if names.iter().any(|name| name.bytes == LOST_FOUND) {
            return Err(Errno::NotDir.into());
        }
        let new = NewNode { kind: FileKind::Dir, perm: 0o700, uid: 0, gid: 0, rdev: 0, target: b"" };
        let mut inode = Inode::directory(ROOT, 0o700, 2, self.files.now());
        inode.name = LOST_FOUND.to_vec();
        let ino = self.files.add_inode(&mut self.log, inode)?;
        self.nodes.insert(ino, crate::addr::Addr::NONE);
        self.tree.live.insert(ino);
        self.tree.names.entry(ROOT).or_default().push(Name {
            bytes: LOST_FOUND.to_vec(),
            ino,
            kind: new.kind,
            born: 0,
        });
        self.tree.names.insert(ino, Vec::new());
        self.tree.parents.insert(ino, ROOT);
        self.tree.torn.insert(ROOT);
        Ok(ino)
    }

    /// Writes the names of torn directories anew, and sets links and parents right.
    pub(super) fn mend_names(&mut self) -> Result<()> {
        for dir in core::mem::take(&mut self.tree.torn) {
            self.files.cache.discard(dir, 0, u32::MAX);
            self.files.unmap(&mut self.log, dir, 0, u64::MAX)?;
            let inode = self.files.inode_mut(&mut self.log, dir)?;
            (inode.body, inode.size) = (Body::Inline(Vec::new()), 0);
            // Only a walk that read its names says that a directory is torn.
            let names = self.tree.names.get(&dir).cloned();
            debug_assert!(names.is_some(), "directory {dir} would be emptied");
            for Name { bytes, ino, kind, .. } in names.unwrap_or_default() {
                self.files.dir_insert(&mut self.log, (dir, &bytes), (ino, kind))?;
            }
        }
        let mut links: alloc::collections::BTreeMap<u32, u32> = alloc::collections::BTreeMap::new();
        for (dir, names) in &self.tree.names {
            for name in names {
                let counted = if name.kind == FileKind::Dir { *dir } else { name.ino };
                *links.entry(counted).or_default() += 1;
            }
        }
        let dirs: Vec<u32> = self.tree.names.keys().copied().collect();
        for dir in dirs {
            let nlink = 2 + links.get(&dir).copied().unwrap_or(0);
            let parent = self.tree.parents.get(&dir).copied();
            debug_assert!(parent.is_some() || matches!(dir, ROOT | ORPHANS), "directory {dir} has no parent");
            let parent = parent.unwrap_or(dir);
            self.set_links(dir, nlink, Some(parent))?;
            let names: Vec<u32> = self
                .tree
                .names
                .get(&dir)
                .into_iter()
                .flatten()
                .filter(|name| name.kind != FileKind::Dir)
                .map(|name| name.ino)
                .collect();
            for ino in names {
                let nlink = links.get(&ino).copied();
                debug_assert!(nlink.is_some(), "inode {ino} was not counted");
                let nlink = nlink.unwrap_or(1);
                self.set_links(ino, nlink, None)?;
            }
        }
        Ok(())
    }

    fn set_links(&mut self, ino: u32, nlink: u32, parent: Option<u32>) -> Result<()> {
        let inode = self.files.inode(&mut self.log, ino)?;
        let parent = parent.unwrap_or(inode.parent);
        if (inode.nlink, inode.parent) != (nlink, parent) {
            self.tell("links", format!("inode {ino}: {nlink} links"));
            let inode = self.files.inode_mut(&mut self.log, ino)?;
            (inode.nlink, inode.parent) = (nlink, parent);
        }
        Ok(())
    }
}
