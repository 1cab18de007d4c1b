//! Directories: a hash table of blocks in levels, or entries inside the inode.

use std::ops::{ControlFlow, Range};

use super::{Nodes, map::Mapped};
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{Dentry, DentryLayout, Inode, Nid, places},
    volume::{Block, Node},
};

/// A directory that was opened to look into it.
pub(crate) struct Directory<'a> {
    nodes: &'a Nodes,
    inode: &'a Inode,
    node: &'a Node,
}

/// The entries of one block, or of an inline directory.
pub(crate) struct Leaf {
    layout: DentryLayout,
    block: Block,
    start: usize,
    end: usize,
}

impl Leaf {
    pub(crate) fn layout(&self) -> DentryLayout {
        self.layout
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.block.get(self.start..self.end).unwrap_or_default()
    }
}

impl<'a> Directory<'a> {
    pub(crate) fn new(nodes: &'a Nodes, inode: &'a Inode, node: &'a Node) -> Directory<'a> {
        Directory { nodes, inode, node }
    }

    /// Blocks of entries: one for an inline directory.
    pub(crate) fn leaves(&self) -> u64 {
        if self.inode.has_inline_dentry() {
            return 1;
        }
        let width = self.nodes.volume.block_size().bytes_u64();
        self.inode.size.div_ceil(width).min(self.nodes.blocks_limit(self.inode))
    }

    /// The entries in block `index`; `None` if there is a hole, and then how many blocks it has.
    pub(crate) fn leaf(&self, index: u64) -> Result<core::result::Result<Leaf, u64>> {
        if self.inode.has_inline_dentry() {
            let range = self.inode.inline_range();
            let layout = DentryLayout::for_bytes(range.len());
            let block = self.node.block.clone();
            return Ok(Ok(Leaf { layout, block, start: range.start, end: range.end }));
        }
        let layout = DentryLayout::for_block(self.nodes.volume.block_size());
        let changed = self.nodes.overlay.leaf(&self.nodes.volume, self.inode.ino, index)?;
        let block = if let Some(block) = changed {
            block
        } else {
            let run = self.nodes.run_at(self.inode, self.node, index, u64::MAX)?;
            let Mapped::At(addr) = run.mapped else { return Ok(Err(self.hole(index, run.blocks))) };
            self.nodes.volume.block(addr)?
        };
        let end = block.len();
        Ok(Ok(Leaf { layout, block, start: 0, end }))
    }

    /// The length of a hole: it ends at the next block that recovery made.
    fn hole(&self, index: u64, blocks: u64) -> u64 {
        let next = self.nodes.overlay.leaf_behind(self.inode.ino, index);
        blocks.max(1).min(next.map_or(u64::MAX, |next| next - index))
    }

    /// The number of blocks from `index` on that cannot be read for the same reason, if the first one cannot.
    pub(crate) fn damaged_run(&self, index: u64) -> u64 {
        if self.inode.has_inline_dentry() { 1 } else { self.nodes.damaged_run(self.inode, self.node, index) }
    }

    /// Hands out the entries of block `index` from slot `from` on.
    pub(crate) fn each_in(
        &self,
        leaf: &Leaf,
        from: u32,
        each: &mut dyn FnMut(&Dentry<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut slot = from;
        loop {
            match leaf.layout.next(leaf.bytes(), slot) {
                Ok(Some(dentry)) => {
                    slot = dentry.slot + dentry.slots();
                    if each(&dentry).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(None) => return Ok(ControlFlow::Continue(())),
                Err(slot) => return Err(self.broken_entry(slot)),
            }
        }
    }

    fn broken_entry(&self, slot: u32) -> Error {
        corrupt(Place::Inode(self.inode.ino), "the name is out of bounds in slot", slot, 255_u32)
    }

    /// The first entry that `is_it` accepts, among those where a name of this hash would be.
    pub(crate) fn find(&self, hash: u32, is_it: &dyn Fn(&Dentry<'_>) -> bool) -> Result<Option<Found>> {
        if self.inode.has_inline_dentry() {
            return self.find_in_blocks(0..1, is_it);
        }
        for blocks in places(hash, self.inode.dir_level.into(), self.inode.depth) {
            if blocks.start >= self.leaves() {
                break;
            }
            if let Some(found) = self.find_in_blocks(blocks, is_it)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The same, among the entries of some blocks.
    pub(crate) fn find_in_blocks(
        &self,
        blocks: Range<u64>,
        is_it: &dyn Fn(&Dentry<'_>) -> bool,
    ) -> Result<Option<Found>> {
        let mut found = None;
        let (mut index, end) = (blocks.start, blocks.end.min(self.leaves()));
        while index < end {
            let leaf = match self.leaf(index)? {
                Ok(leaf) => leaf,
                Err(hole) => {
                    index = index.saturating_add(hole);
                    continue;
                }
            };
            let flow = self.each_in(&leaf, 0, &mut |dentry| {
                if is_it(dentry) {
                    found = Some(Found {
                        ino: dentry.ino,
                        leaf: index,
                        slot: dentry.slot,
                        slots: dentry.slots(),
                    });
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            if flow.is_break() {
                break;
            }
            index += 1;
        }
        Ok(found)
    }
}

/// The inode of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) ino: Nid,
    /// Block of the directory.
    pub(crate) leaf: u64,
    /// First slot there.
    pub(crate) slot: u32,
    /// Slots it takes.
    pub(crate) slots: u32,
}

impl Nodes {
    /// Hands out every entry of a directory as it stands there, `.` and `..` too, with the block it is in.
    pub fn each_dentry(
        &self,
        inode: &Inode,
        node: &Node,
        each: &mut dyn FnMut(u64, &Dentry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let dir = Directory::new(self, inode, node);
        let mut index = 0;
        while index < dir.leaves() {
            match dir.leaf(index)? {
                Err(hole) => index = index.saturating_add(hole),
                Ok(leaf) => {
                    if dir.each_in(&leaf, 0, &mut |dentry| each(index, dentry))?.is_break() {
                        return Ok(());
                    }
                    index += 1;
                }
            }
        }
        Ok(())
    }
}
