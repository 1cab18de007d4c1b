//! New names put into directories, as the kernel puts them there.

use pumice_vfs::{Errno, FileKind};

use super::{Link, Replay};
use crate::{
    error::{Error, Result},
    layout::{DIR_SLOT_BYTES, Dentry, DentryLayout, InlineFlags, Inode, LEVELS_MAX, Nid, file_type, places},
    names::Name,
    nodes::{Directory, Found, Mapped, Patched},
    volume::Node,
};

use zerocopy::IntoBytes;

/// A name that is to be put into a directory.
struct NewName {
    name: Name,
    ino: Nid,
    file_type: u8,
}

impl Replay<'_> {
    /// Gives an inode the name that it carries, in the directory that it carries. An inode that has that name loses it.
    pub(super) fn name(&mut self, link: &Link) -> Result<()> {
        let ino = link.footer.ino;
        let (inode, _) = self.nodes.inode(ino)?;
        if inode.last_name().is_empty() || !self.nodes.has_inode(inode.parent)? {
            return Ok(());
        }
        let dir = inode.parent;
        let Some(name) = self.new_name(&inode)? else { return Ok(()) };
        match self.holder(dir, &name)? {
            Some(found) if found.ino == ino => return Ok(()),
            Some(found) => self.remove(dir, &found)?,
            None => {}
        }
        self.insert(dir, &name)?;
        self.done.names += 1;
        let now = self.now;
        self.change(dir, |dir| (dir.mtime, dir.ctime) = (now, now))
    }

    fn new_name(&self, inode: &Inode) -> Result<Option<NewName>> {
        let (dir, _) = self.nodes.inode(inode.parent)?;
        if dir.kind != FileKind::Dir {
            return Ok(None);
        }
        let file_type = file_type(inode.kind);
        Ok(Name::remembered(&dir, inode).map(|name| NewName { name, ino: inode.ino, file_type }))
    }

    fn holder(&self, dir: Nid, name: &NewName) -> Result<Option<Found>> {
        let (inode, node) = self.nodes.inode(dir)?;
        Directory::new(self.nodes, &inode, &node).find(name.name.hash(), &|dentry| name.name.is(dentry))
    }

    /// Takes a name away, and the inode behind it if it was its last.
    fn remove(&mut self, dir: Nid, found: &Found) -> Result<()> {
        let (inode, node) = self.nodes.inode(dir)?;
        let (mut bytes, layout) = self.leaf(&inode, &node, found.leaf)?;
        for slot in found.slot..found.slot + found.slots {
            layout.set_used(&mut bytes, slot, false);
        }
        self.keep_leaf(&inode, &node, found.leaf, &bytes)?;
        if !self.nodes.has_inode(found.ino)? {
            return Ok(());
        }
        let (inode, _) = self.nodes.inode(found.ino)?;
        if inode.kind != FileKind::Dir {
            return self.change(found.ino, |inode| inode.links = inode.links.saturating_sub(1));
        }
        // Its `..` was a link of the directory that it was in.
        self.change(found.ino, |inode| inode.links = 0)?;
        self.change(dir, |dir| dir.links = dir.links.saturating_sub(1))
    }

    fn insert(&mut self, dir: Nid, name: &NewName) -> Result<()> {
        let (inode, node) = self.nodes.inode(dir)?;
        if inode.has_inline_dentry() {
            if self.insert_in(&inode, &node, 0, name)? {
                return Ok(());
            }
            self.spread(&inode, &node)?;
        }
        let places = places(name.name.hash(), inode.dir_level.into(), LEVELS_MAX);
        for (depth, blocks) in (1..).zip(places) {
            if depth > self.nodes.inode(dir)?.0.depth {
                self.change(dir, |dir| dir.depth = depth)?;
            }
            for index in blocks {
                self.make_leaf(dir, index)?;
                let (inode, node) = self.nodes.inode(dir)?;
                if self.insert_in(&inode, &node, index, name)? {
                    return Ok(());
                }
            }
        }
        Err(Error::Errno(Errno::NoSpace))
    }

    /// Puts a name into the first gap of a block that is wide enough; false if there is none.
    fn insert_in(&mut self, inode: &Inode, node: &Node, index: u64, name: &NewName) -> Result<bool> {
        let (mut bytes, layout) = self.leaf(inode, node, index)?;
        let NewName { name, ino, file_type } = name;
        let dentry =
            Dentry { slot: 0, hash: name.hash(), ino: *ino, file_type: *file_type, name: name.bytes() };
        let slots = dentry.slots();
        let is_free = |slot: u32| (slot..slot + slots).all(|slot| !layout.is_used(&bytes, slot));
        let Some(slot) = (0..layout.slots.saturating_sub(slots - 1)).find(|slot| is_free(*slot)) else {
            return Ok(false);
        };
        put(&mut bytes, layout.entry_at(slot), dentry.to_raw().as_bytes());
        put(&mut bytes, layout.name_at(slot), dentry.name);
        for slot in slot..slot + slots {
            layout.set_used(&mut bytes, slot, true);
        }
        self.keep_leaf(inode, node, index, &bytes)?;
        Ok(true)
    }

    /// Moves the entries of an inline directory into a block of its own.
    fn spread(&mut self, inode: &Inode, node: &Node) -> Result<()> {
        let (old, from) = self.leaf(inode, node, 0)?;
        let to = DentryLayout::for_block(self.nodes.volume().block_size());
        let mut block = vec![0; self.nodes.volume().block_size().width()];
        let mut slot = 0;
        while let Ok(Some(dentry)) = from.next(&old, slot) {
            put(&mut block, to.entry_at(dentry.slot), dentry.to_raw().as_bytes());
            let end = (dentry.slots() as usize) * DIR_SLOT_BYTES;
            let name = old.get(from.name_at(dentry.slot)..from.name_at(dentry.slot) + end);
            put(&mut block, to.name_at(dentry.slot), name.unwrap_or_default());
            slot = dentry.slot + dentry.slots();
            (dentry.slot..slot).for_each(|slot| to.set_used(&mut block, slot, true));
        }
        let width = self.nodes.volume().block_size().bytes_u64();
        let mut plain = inode.clone();
        plain.inline = InlineFlags(plain.inline.0 & !InlineFlags::DENTRY.0);
        plain.size = width;
        plain.depth = 1;
        plain.blocks += 1;
        let mut bytes = (*node.block).clone();
        bytes.get_mut(inode.inline_range().start - 4..inode.inline_range().end).unwrap_or_default().fill(0);
        plain.write_to(&mut bytes);
        let patched = Patched::new(self.nodes.volume(), Some(node.addr), &bytes)?;
        self.nodes.overlay_mut().inodes.insert(inode.ino, patched);
        let patched = Patched::new(self.nodes.volume(), None, &block)?;
        self.nodes.overlay_mut().leaves.insert((inode.ino, 0), patched);
        Ok(())
    }

    /// Makes block `index` of a directory if there is none.
    fn make_leaf(&mut self, dir: Nid, index: u64) -> Result<()> {
        let (inode, node) = self.nodes.inode(dir)?;
        let known = self.nodes.overlay().leaves.contains_key(&(dir, index));
        let mapped = self.nodes.run_at(&inode, &node, index, 1)?.mapped;
        if known || matches!(mapped, Mapped::At(_)) {
            return Ok(());
        }
        let empty = vec![0; self.nodes.volume().block_size().width()];
        let patched = Patched::new(self.nodes.volume(), None, &empty)?;
        self.nodes.overlay_mut().leaves.insert((dir, index), patched);
        let end = (index + 1).saturating_mul(self.nodes.volume().block_size().bytes_u64());
        self.change(dir, |dir| {
            dir.blocks += 1;
            dir.size = dir.size.max(end);
        })
    }

    fn leaf(&self, inode: &Inode, node: &Node, index: u64) -> Result<(Vec<u8>, DentryLayout)> {
        let dir = Directory::new(self.nodes, inode, node);
        let leaf = dir.leaf(index)?.map_err(|_| Error::Errno(Errno::NoEntry))?;
        Ok((leaf.bytes().to_vec(), leaf.layout()))
    }

    fn keep_leaf(&mut self, inode: &Inode, node: &Node, index: u64, bytes: &[u8]) -> Result<()> {
        if inode.has_inline_dentry() {
            let mut block = (*node.block).clone();
            put(&mut block, inode.inline_range().start, bytes);
            let patched = Patched::new(self.nodes.volume(), Some(node.addr), &block)?;
            self.nodes.overlay_mut().inodes.insert(inode.ino, patched);
            return Ok(());
        }
        let base = match self.nodes.overlay().leaves.get(&(inode.ino, index)) {
            Some(known) => known.base(),
            None => match self.nodes.run_at(inode, node, index, 1)?.mapped {
                Mapped::At(addr) => Some(addr),
                _ => None,
            },
        };
        let patched = Patched::new(self.nodes.volume(), base, bytes)?;
        self.nodes.overlay_mut().leaves.insert((inode.ino, index), patched);
        Ok(())
    }
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = block.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
