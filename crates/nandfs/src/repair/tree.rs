//! The tree from the root down: the nodes reached, and their readable parts.

use alloc::{format, vec, vec::Vec};

use hashbrown::HashMap;
use pumice_vfs::{FileKind, Result};

use super::work::{Name, Repair};
use crate::addr::Addr;
use crate::bucket::{Entry, entries};
use crate::codec::len32;
use crate::ids::FIRST_NID;
use crate::node::{Body, IndexBody, Inode, Map, Node};
use crate::nodes::{ORPHANS, ROOT, inode_node};
use crate::xattr_list;

/// The subject of a walk over a map.
#[derive(Clone, Copy)]
struct Walk {
    ino: u32,
    is_dir: bool,
}

impl Repair<'_> {
    /// Walks from the root, which is made anew if it cannot be read.
    pub(super) fn walk(&mut self) -> Result<()> {
        for nid in [ROOT, ORPHANS] {
            let is_there = self.nodes.contains_key(&nid)
                && self.files.inode(&mut self.log, nid).is_ok_and(|inode| inode.kind == FileKind::Dir);
            if !is_there {
                self.tell("root", format!("directory {nid} cannot be read: made anew"));
            }
            // Inodes without names are taken away at once.
            if !is_there || nid == ORPHANS {
                let perm = if nid == ROOT { 0o755 } else { 0 };
                let directory = Inode::directory(nid, perm, 2, self.files.now());
                self.nodes.insert(nid, Addr::NONE);
                self.files.nodes.set_addr(nid, Addr::NONE);
                self.files.nodes.add_at(nid, inode_node(directory));
            }
            self.tree.live.insert(nid);
        }
        self.tree.names.insert(ORPHANS, Vec::new());
        self.walk_from(ROOT)
    }

    /// Takes in a directory that stays, with everything below it.
    pub(super) fn walk_from(&mut self, top: u32) -> Result<()> {
        let mut pending = vec![top];
        while let Some(dir) = pending.pop() {
            self.keep(dir)?;
            let mut names = Vec::new();
            for found in self.read_names(dir)? {
                if !self.is_good(dir, &found) {
                    self.tree.torn.insert(dir);
                    let name = alloc::string::String::from_utf8_lossy(&found.bytes).into_owned();
                    self.tell(
                        "entry",
                        format!("name {name:?} in directory {dir}: inode {} is gone", found.ino),
                    );
                    continue;
                }
                let is_new = self.tree.live.insert(found.ino);
                if found.kind == FileKind::Dir {
                    self.tree.parents.insert(found.ino, dir);
                    pending.push(found.ino);
                } else if is_new {
                    self.keep(found.ino)?;
                }
                names.push(found);
            }
            self.tree.names.insert(dir, names);
            if self.rehash {
                self.tree.torn.insert(dir);
            }
        }
        Ok(())
    }

    /// True if a name stands for an inode of its kind, not for an earlier one of its number, and a directory has no
    /// other.
    fn is_good(&mut self, dir: u32, found: &Name) -> bool {
        let is_taken =
            found.kind == FileKind::Dir && (self.tree.live.contains(&found.ino) || found.ino == dir);
        let is_known = found.ino >= FIRST_NID && self.nodes.contains_key(&found.ino) && !is_taken;
        let is_meant =
            |inode: &Inode| inode.kind == found.kind && (found.born == 0 || found.born == inode.born());
        is_known && self.files.inode(&mut self.log, found.ino).is_ok_and(is_meant)
    }

    /// The names of a directory, as far as its buckets can be read.
    fn read_names(&mut self, dir: u32) -> Result<Vec<Name>> {
        let mut parts = Vec::new();
        match self.files.inode(&mut self.log, dir)?.body.clone() {
            Body::Inline(bytes) => parts.push((None, bytes)),
            Body::Mapped(_) => {
                let mut at = 0;
                while let Some((block, addr)) = self.files.map_next(&mut self.log, dir, at)? {
                    let mut bytes = vec![0; self.log.params.block as usize];
                    let index = crate::volume::block_index(block)?;
                    match self.files.read_block(&mut self.log, dir, index, 0, &mut bytes) {
                        Ok(()) => parts.push((Some(addr), bytes)),
                        Err(_) => self.tear(dir),
                    }
                    at = block + 1;
                }
            }
        }
        let mut names: Vec<Name> = Vec::new();
        let mut seqs = HashMap::new();
        for (bucket, bytes) in parts {
            let written = self.written(dir, bucket);
            for entry in entries(&bytes) {
                match entry {
                    Some((_, entry)) => {
                        seqs.extend(written.map(|seq| (entry.name.to_vec(), seq)));
                        let Entry { ino, kind, born, name } = entry;
                        names.push(Name { bytes: name.to_vec(), ino, kind, born });
                    }
                    None => self.tear(dir),
                }
            }
        }
        names.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        names.dedup_by(|a, b| a.bytes == b.bytes);
        if len32(names.len()) != u32::try_from(self.files.inode(&mut self.log, dir)?.size).unwrap_or(u32::MAX)
        {
            self.tear(dir);
        }
        self.retell(dir, &mut names, &seqs);
        Ok(names)
    }

    /// Notes a directory with missing names.
    fn tear(&mut self, dir: u32) {
        if self.tree.torn.insert(dir) {
            self.tell("directory", format!("directory {dir} has lost names: written anew"));
        }
    }

    /// Keeps an inode: its unreadable parts are cut off, and the rest counted.
    pub(super) fn keep(&mut self, ino: u32) -> Result<()> {
        self.tree.live.insert(ino);
        self.keep_content(ino)?;
        let hidden = self.files.inode(&mut self.log, ino)?.xattr_ino;
        if hidden == 0 {
            return Ok(());
        }
        if self.has_attributes(ino, hidden) && self.tree.live.insert(hidden) {
            return self.keep_content(hidden);
        }
        self.tell("attributes", format!("extended attributes of inode {ino} cannot be read: dropped"));
        self.files.inode_mut(&mut self.log, ino)?.xattr_ino = 0;
        Ok(())
    }

    fn has_attributes(&mut self, ino: u32, hidden: u32) -> bool {
        let is_file =
            |inode: &Inode| inode.kind == FileKind::File && inode.parent == ino && inode.xattr_ino == 0;
        self.nodes.contains_key(&hidden)
            && self.may_belong(hidden, ino)
            && self.files.inode(&mut self.log, hidden).is_ok_and(is_file)
            && self
                .files
                .xattr_bytes(&mut self.log, ino)
                .is_ok_and(|bytes| xattr_list::decode(&bytes).is_some())
    }

    fn keep_content(&mut self, ino: u32) -> Result<()> {
        let inode = self.files.inode(&mut self.log, ino)?;
        let walk = Walk { ino, is_dir: inode.kind == FileKind::Dir };
        let Body::Mapped(mut map) = inode.body.clone() else { return Ok(()) };
        let blocks = inode.blocks;
        let shape = self.files.shape();
        let before = self.mapped;
        let mut changed = self.keep_pointers(walk, 0, &mut map.direct);
        let Map { class, children, .. } = &mut map;
        for (child, nid) in (0..).zip(children.iter_mut()) {
            let (start, height) = shape.child_start(*class, child);
            changed |= self.keep_child(walk, nid, start, height)?;
        }
        let mapped = u32::try_from(self.mapped - before).unwrap_or(u32::MAX);
        if changed || mapped != blocks {
            let inode = self.files.inode_mut(&mut self.log, ino)?;
            (inode.body, inode.blocks) = (Body::Mapped(map), mapped);
        }
        Ok(())
    }

    /// Keeps an index node and its children, or cuts it off; true if it was cut off.
    fn keep_child(&mut self, walk: Walk, nid: &mut u32, start: u64, height: u8) -> Result<bool> {
        if *nid == 0 {
            return Ok(false);
        }
        let Walk { ino, is_dir } = walk;
        let node = self.files.nodes.current(&mut self.log.pages, *nid);
        let is_known = self.nodes.contains_key(nid) && !self.tree.live.contains(nid);
        let Ok(Node::Index(mut index)) = node else { return Ok(self.cut(walk, nid, start, height)) };
        if !is_known || index.owner != ino || index.height() != height || !self.may_belong(*nid, ino) {
            return Ok(self.cut(walk, nid, start, height));
        }
        self.tree.live.insert(*nid);
        let changed = match &mut index.body {
            IndexBody::Blocks(blocks) => self.keep_pointers(Walk { ino, is_dir }, start, blocks),
            IndexBody::Nodes { children, .. } => {
                let span = self.files.shape().span(height - 1);
                let mut changed = false;
                for (slot, child) in (0..).zip(children) {
                    let start = start.saturating_add(span.saturating_mul(slot));
                    changed |= self.keep_child(walk, child, start, height - 1)?;
                }
                changed
            }
        };
        if changed {
            *self.files.nodes.index_mut(&mut self.log.pages, *nid)? = index;
        }
        Ok(false)
    }

    /// False if a node that was found by its tag belongs to an earlier inode of this number.
    fn may_belong(&mut self, nid: u32, ino: u32) -> bool {
        let copy = self.scan.as_ref().and_then(|scan| scan.nodes.get(&nid)).copied();
        copy.is_none_or(|copy| {
            self.files.inode(&mut self.log, ino).is_ok_and(|inode| inode.is_born_by(copy.seq))
        })
    }

    fn cut(&mut self, walk: Walk, nid: &mut u32, start: u64, height: u8) -> bool {
        let span = self.files.shape().span(height);
        let Walk { ino, is_dir } = walk;
        self.tell("index", format!("inode {ino}: {span} blocks from {start} on are lost with node {nid}"));
        if is_dir {
            self.tree.holes.push((ino, start..start.saturating_add(span)));
            self.tear(ino);
        }
        *nid = 0;
        true
    }

    /// Counts the chunks that can be read, and makes holes of the others; true if there are any.
    fn keep_pointers(&mut self, walk: Walk, start: u64, list: &mut [Addr]) -> bool {
        let Walk { ino, is_dir } = walk;
        let mut changed = false;
        for (block, addr) in (start..).zip(list) {
            let index = u32::try_from(block).unwrap_or(u32::MAX);
            let is_lost = self.files.losses.check_block(ino, index).is_err()
                || (addr.is_stored() && self.files.prove_block(&mut self.log, *addr, ino, index).is_err());
            if is_lost {
                self.tell("data", format!("block {block} of inode {ino} cannot be read: a hole now"));
                if is_dir {
                    self.tree.holes.push((ino, block..block + 1));
                    self.tear(ino);
                }
                (*addr, changed) = (Addr::NONE, true);
            }
            if *addr != Addr::NONE {
                self.mapped += u64::from(self.log.params.charge(*addr));
                self.count(*addr);
            }
        }
        changed
    }
}
