//! Nodes replayed: attributes, addresses, blocks of attributes.

use super::{Link, Replay};
use crate::{
    error::Result,
    layout::{Advise, BlockAddr, InlineFlags, Inode, Nid, NodeOffset},
    nodes::{Nodes, Patched, word},
    volume::{Node, footer},
};

/// Bytes of the five node numbers and the footer, at the end of an inode.
const TAIL_BYTES: usize = 44;

impl Replay<'_> {
    /// The state of an inode before the node at hand; `None` if there is none yet.
    fn before(&self, ino: Nid) -> Result<Option<(Inode, Node)>> {
        self.nodes.find_inode(ino)
    }

    /// Makes the inode at `addr`, which nobody has yet, without anything that belongs to it: nodes of the chain bring that.
    pub(super) fn make_inode(&mut self, addr: BlockAddr) -> Result<()> {
        let block = self.nodes.volume().block(addr)?;
        let ino = footer(&block, addr)?.ino;
        let size = self.nodes.volume().block_size();
        let mut inode = Inode::from_block(ino, &block, size, self.nodes.volume().features())?;
        let mut block = (*block).clone();
        let tail = block.len() - TAIL_BYTES;
        if has_addrs(&inode) {
            let words = inode.addrs_at()..inode.addrs_at() + inode.own_addrs() as usize * 4;
            let words = block.get_mut(words);
            debug_assert!(words.is_some(), "addresses behind the end of an inode");
            words.unwrap_or_default().fill(0);
        }
        put(&mut block, tail, &[0; 20]);
        inode.inline = inode.inline.without(InlineFlags::DATA).without(InlineFlags::DENTRY);
        (inode.size, inode.blocks, inode.links, inode.xattr_nid) = (0, 1, 1, Nid::NULL);
        inode.write_to(&mut block);
        self.keep_inode(ino, addr, &block)
    }

    /// Takes over an inode: all of it but the fields that recovery itself counts and finds.
    pub(super) fn inode(&mut self, link: &Link) -> Result<()> {
        let ino = link.footer.ino;
        let before = self.before(ino)?;
        let size = self.nodes.volume().block_size();
        let mut inode = Inode::from_block(ino, &link.block, size, self.nodes.volume().features())?;
        let mut block = (*link.block).clone();
        let tail = block.len() - TAIL_BYTES;
        if let Some((old, node)) = &before {
            inode.links = old.links;
            inode.blocks = old.blocks;
            inode.xattr_nid = old.xattr_nid;
            inode.generation = old.generation;
            inode.depth = if inode.kind == pumice_vfs::FileKind::Dir { old.depth } else { inode.depth };
            put(&mut block, tail, part(&node.block, tail..tail + 20));
            inode.blocks = inode
                .blocks
                .saturating_add_signed(own_blocks(&inode, &link.block) - own_blocks(old, &node.block));
        } else {
            // A new inode: a name, itself, and the nodes replayed behind it.
            inode.links = 1;
            inode.xattr_nid = Nid::NULL;
            put(&mut block, tail, &[0; 20]);
            inode.blocks = 1_u64.saturating_add_signed(own_blocks(&inode, &link.block));
        }
        inode.write_to(&mut block);
        self.keep_inode(ino, link.addr, &block)
    }

    fn keep_inode(&mut self, ino: Nid, base: BlockAddr, block: &[u8]) -> Result<()> {
        let patched = Patched::new(self.nodes.volume(), Some(base), block)?;
        self.nodes.overlay_mut().inodes.insert(ino, patched);
        Ok(())
    }

    /// Changes an inode that is there.
    pub(super) fn change(&mut self, ino: Nid, change: impl FnOnce(&mut Inode)) -> Result<()> {
        let (mut inode, node) = self.nodes.inode(ino)?;
        change(&mut inode);
        let mut block = (*node.block).clone();
        inode.write_to(&mut block);
        self.keep_inode(ino, node.addr, &block)
    }

    /// Takes over another node: addresses, or attributes.
    pub(super) fn node(&mut self, link: &Link) -> Result<()> {
        let ino = link.footer.ino;
        if link.footer.offset == NodeOffset::XATTR {
            return self.xattr_node(link);
        }
        let size = self.nodes.volume().block_size();
        let index = link.footer.offset.direct_index(size);
        let (mut inode, mut node) = self.nodes.inode(ino)?;
        if inode.has_inline_data() && index.is_some() {
            // The inode comes later in the chain, with addresses in place of these bytes.
            self.drop_bytes(inode, &node)?;
            (inode, node) = self.nodes.inode(ino)?;
        }
        if inode.has_inline_data() || inode.has_inline_dentry() {
            return Ok(());
        }
        let (first, words, old) = match index {
            None if link.footer.offset == NodeOffset::INODE => {
                let range = inode.addrs_at()..inode.addrs_at() + inode.own_addrs() as usize * 4;
                (0, part(&link.block, range), Vec::new())
            }
            // Indirect nodes are never promised.
            None => return Ok(()),
            Some(index) => {
                let first = u64::from(inode.own_addrs()) + u64::from(index) * u64::from(inode.node_addrs());
                let words = part(&link.block, 0..inode.node_addrs() as usize * 4);
                let old = self.direct_node(link, &inode, &node, index, first)?;
                (first, words, old)
            }
        };
        self.grow(&inode, first, words, &old)?;
        self.clear_moved(link, words, &old)
    }

    /// Takes away the bytes that an inode holds itself.
    fn drop_bytes(&mut self, mut inode: Inode, node: &Node) -> Result<()> {
        let mut block = (*node.block).clone();
        let words = inode.addrs_at()..inode.addrs_at() + inode.own_addrs() as usize * 4;
        put(&mut block, words.start, &vec![0; words.len()]);
        inode.inline = inode.inline.without(InlineFlags::DATA).without(InlineFlags::DATA_EXIST);
        inode.write_to(&mut block);
        self.keep_inode(inode.ino, node.addr, &block)
    }

    /// Puts a direct node in its place; returns the addresses it had.
    fn direct_node(
        &mut self,
        link: &Link,
        inode: &Inode,
        node: &Node,
        index: u32,
        first: u64,
    ) -> Result<Vec<u8>> {
        let (old, missing) = self.nodes.node_below(inode, node, first)?;
        let bytes = inode.node_addrs() as usize * 4;
        let old = old.map_or_else(Vec::new, |node| part(&node.block, 0..bytes).to_vec());
        // The node itself, and indirect ones on the way, once each.
        let mut added = 0;
        for offset in missing {
            added += i64::from(self.nodes.overlay_mut().made.insert((inode.ino, offset)));
        }
        let new = part(&link.block, 0..bytes);
        added += used(new) - used(&old);
        self.nodes.overlay_mut().direct.insert((inode.ino, index), Patched::unchanged(link.addr));
        self.change(inode.ino, |inode| inode.blocks = inode.blocks.saturating_add_signed(added))?;
        Ok(old)
    }

    /// A block of the file behind its end makes it longer, unless the inode says that it must not.
    fn grow(&mut self, inode: &Inode, first: u64, words: &[u8], old: &[u8]) -> Result<()> {
        if inode.advise.has(Advise::KEEP_SIZE) || first == 0 {
            return Ok(());
        }
        let changed = |at: &usize| {
            let now = words.get(at * 4..at * 4 + 4);
            now != Some(&[0; 4]) && now != Some(old.get(at * 4..at * 4 + 4).unwrap_or(&[0; 4]))
        };
        let Some(last) = (0..words.len() / 4).rev().find(changed) else { return Ok(()) };
        let width = self.nodes.volume().block_size().bytes_u64();
        let index = first + last as u64;
        if inode.size > index.saturating_mul(width) {
            return Ok(());
        }
        self.change(inode.ino, |inode| inode.size = (index + 1).saturating_mul(width))
    }

    fn xattr_node(&mut self, link: &Link) -> Result<()> {
        let ino = link.footer.ino;
        let (inode, _) = self.nodes.inode(ino)?;
        let first = inode.xattr_nid.is_null() && !self.nodes.overlay_mut().xattrs.contains_key(&ino);
        self.nodes.overlay_mut().xattrs.insert(ino, link.addr);
        if first {
            self.change(ino, |inode| inode.blocks = inode.blocks.saturating_add(1))?;
        }
        Ok(())
    }

    /// A block that stood elsewhere at the checkpoint was moved: it must not be in two places.
    fn clear_moved(&mut self, link: &Link, words: &[u8], old: &[u8]) -> Result<()> {
        for (at, bytes) in words.chunks_exact(4).enumerate() {
            let addr = word(bytes);
            let same = old.get(at * 4..at * 4 + 4) == Some(bytes);
            if !addr.is_block() || same || !self.nodes.volume().is_valid(addr)? {
                continue;
            }
            let Some(summary) = self.nodes.volume().summary(addr)? else { continue };
            // The node at hand was taken over as a whole.
            if summary.nid != link.footer.nid {
                self.clear(addr, summary.nid, u32::from(summary.offset))?;
            }
        }
        Ok(())
    }

    /// Makes a hole where `addr` stands in slot `slot` of node `nid`, if it still does.
    fn clear(&mut self, addr: BlockAddr, nid: Nid, slot: u32) -> Result<()> {
        let Ok(node) = self.nodes.node(nid) else { return Ok(()) };
        let ino = node.footer.ino;
        let Some((inode, _)) = self.before(ino)? else { return Ok(()) };
        let index = node.footer.offset.direct_index(self.nodes.volume().block_size());
        let place = |nodes: &Nodes| match index {
            None => nodes.overlay().inode(nodes.volume(), ino),
            Some(index) => nodes.overlay().direct(nodes.volume(), ino, index),
        };
        let node = place(self.nodes)?.unwrap_or(node);
        let at = slot as usize * 4 + if index.is_none() { inode.addrs_at() } else { 0 };
        let limit = if index.is_none() { inode.own_addrs() } else { inode.node_addrs() };
        if slot >= limit || node.block.get(at..at + 4).map(word) != Some(addr) {
            return Ok(());
        }
        let mut block = (*node.block).clone();
        put(&mut block, at, &[0; 4]);
        match index {
            None => self.keep_inode(ino, node.addr, &block)?,
            Some(index) => {
                let patched = Patched::new(self.nodes.volume(), Some(node.addr), &block)?;
                self.nodes.overlay_mut().direct.insert((ino, index), patched);
            }
        }
        self.change(ino, |inode| inode.blocks = inode.blocks.saturating_sub(1))
    }
}

/// Blocks that the inode's own addresses name.
fn own_blocks(inode: &Inode, block: &[u8]) -> i64 {
    if inode.has_inline_data() || inode.has_inline_dentry() || !has_addrs(inode) {
        return 0;
    }
    let range = inode.addrs_at()..inode.addrs_at() + inode.own_addrs() as usize * 4;
    used(part(block, range))
}

fn has_addrs(inode: &Inode) -> bool {
    use pumice_vfs::FileKind::{Dir, File, Symlink};
    matches!(inode.kind, File | Dir | Symlink)
}

/// Bytes of a node that its kind has room for.
fn part(block: &[u8], range: core::ops::Range<usize>) -> &[u8] {
    let bytes = block.get(range);
    debug_assert!(bytes.is_some(), "behind the end of a node");
    bytes.unwrap_or_default()
}

/// The number of addresses that are no holes.
fn used(words: &[u8]) -> i64 {
    let count = words.chunks_exact(4).filter(|bytes| word(bytes) != BlockAddr::NULL).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    let place = block.get_mut(at..at + bytes.len());
    debug_assert!(place.is_some(), "behind the end of a node");
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
}
