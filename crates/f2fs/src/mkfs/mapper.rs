//! The map from the blocks of one inode to their addresses: the words of the inode, and nodes that are made on the way.
//! Blocks come in their order, so that each node is written once, when its last block is known.

use crate::word::half;
use pumice_vfs::FileKind;

use super::FormatError;
use crate::{
    layout::{BlockAddr, BlockSize, Extent, Inode, Nid, NodeFooter, NodeOffset, Summary, Way},
    write::{Writer, head::Log},
};

/// A node that is being filled.
struct Open {
    nid: Nid,
    offset: NodeOffset,
    /// The entry of the node above that leads to it.
    step: u32,
    /// It holds addresses, not numbers of nodes.
    is_direct: bool,
    block: Vec<u8>,
}

/// Addresses and nodes of an inode.
pub(super) struct Mapper {
    inode: Inode,
    size: BlockSize,
    words: Vec<u8>,
    nids: [Nid; 5],
    /// The nodes on the way to the last block.
    open: Vec<Open>,
    /// Blocks and nodes so far.
    blocks: u64,
    run: Extent,
    longest: Extent,
}

const NO_EXTENT: Extent = Extent { first: 0, addr: BlockAddr::NULL, blocks: 0 };

impl Mapper {
    pub(super) fn new(inode: &Inode, size: BlockSize) -> Mapper {
        Mapper {
            inode: inode.clone(),
            size,
            words: vec![0; inode.own_addrs() as usize * 4],
            nids: [Nid::NULL; 5],
            open: Vec::new(),
            blocks: 0,
            run: NO_EXTENT,
            longest: NO_EXTENT,
        }
    }

    /// The owner of block `index`, and how many from it on are of the same node. Missing nodes are made.
    pub(super) fn owner(&mut self, writer: &mut Writer, index: u32) -> Result<(Summary, u32), FormatError> {
        let per_node = self.size.node_words();
        let Some(way) = Way::to(&self.inode, index.into(), per_node) else {
            let what = format!("inode {} has more blocks than F2FS can number", self.inode.ino);
            return Err(super::tree::wrong(self.inode.last_name(), what));
        };
        self.go(writer, &way)?;
        let (nid, words) = match self.open.last() {
            Some(node) => (node.nid, self.inode.node_addrs()),
            None => (self.inode.ino, self.inode.own_addrs()),
        };
        let offset = half(way.slot);
        Ok((Summary { nid, version: 0, offset }, words - way.slot))
    }

    /// Leaves the nodes of the last way that are not on this one, and opens those that are missing.
    fn go(&mut self, writer: &mut Writer, way: &Way) -> Result<(), FormatError> {
        let steps = way.steps.iter().flatten();
        let shared =
            self.open.iter().zip(steps.clone()).take_while(|(open, step)| open.step == **step).count();
        self.close(writer, shared)?;
        let depth = steps.clone().count();
        for (level, (step, offset)) in steps.zip(way.offsets).enumerate().skip(shared) {
            let nid = writer.take_nid()?;
            match self.open.last_mut() {
                Some(above) => set_word(&mut above.block, *step, nid.0),
                None => self.nids.iter_mut().skip(*step as usize).take(1).for_each(|place| *place = nid),
            }
            let (is_direct, block) = (level + 1 == depth, vec![0; self.size.width()]);
            self.open.push(Open { nid, offset, step: *step, is_direct, block });
        }
        Ok(())
    }

    /// Writes nodes until only `keep` are open.
    fn close(&mut self, writer: &mut Writer, keep: usize) -> Result<(), FormatError> {
        while self.open.len() > keep {
            let Some(mut node) = self.open.pop() else { break };
            let is_dir = self.inode.kind == FileKind::Dir;
            let log = if node.is_direct { log_of(is_dir) } else { Log::ColdNode };
            let footer = footer(node.nid, self.inode.ino, node.offset, is_dir);
            writer.append_node(writer.stream(log), &mut node.block, footer)?;
            self.blocks += 1;
        }
        Ok(())
    }

    /// Puts `count` blocks in a row that begins at `addr` where `owner` said. The first is block `index`.
    pub(super) fn set(&mut self, index: u32, owner: Summary, addr: BlockAddr, count: u32) {
        for ahead in 0..count {
            self.put(owner, u32::from(owner.offset) + ahead, BlockAddr(addr.0 + ahead));
        }
        self.blocks += u64::from(count);
        let goes_on = self.run.blocks > 0
            && self.run.first + self.run.blocks == index
            && self.run.addr.plus(self.run.blocks) == Some(addr);
        let start = if goes_on { self.run } else { Extent { first: index, addr, blocks: 0 } };
        self.run = Extent { blocks: start.blocks + count, ..start };
        if self.run.blocks > self.longest.blocks {
            self.longest = self.run;
        }
    }

    /// Counts blocks that are kept for the inode and stand nowhere.
    pub(super) fn reserve(&mut self, count: u32) {
        self.blocks += u64::from(count);
    }

    /// Puts one word, which may stand for no block, or for the start of a compressed cluster.
    pub(super) fn put(&mut self, owner: Summary, slot: u32, addr: BlockAddr) {
        debug_assert!(owner.nid == self.open.last().map_or(self.inode.ino, |node| node.nid));
        let words = self.open.last_mut().map_or(&mut self.words, |node| &mut node.block);
        set_word(words, slot, addr.0);
    }

    /// Writes the nodes that are left. Gives the inode's fields about its blocks.
    pub(super) fn finish(mut self, writer: &mut Writer) -> Result<Mapped, FormatError> {
        self.close(writer, 0)?;
        Ok(Mapped { words: self.words, nids: self.nids, blocks: self.blocks, extent: self.longest })
    }
}

/// The log of inodes and direct nodes.
pub(super) fn log_of(is_dir: bool) -> Log {
    if is_dir { Log::HotNode } else { Log::WarmNode }
}

/// An inode's fields about its blocks.
pub(super) struct Mapped {
    /// Its own addresses.
    pub(super) words: Vec<u8>,
    /// Its five nodes.
    pub(super) nids: [Nid; 5],
    /// Blocks and nodes, without the inode.
    pub(super) blocks: u64,
    /// The largest extent.
    pub(super) extent: Extent,
}

/// The footer of a node of a volume that was never mounted.
pub(super) fn footer(nid: Nid, ino: Nid, offset: NodeOffset, is_dir: bool) -> NodeFooter {
    NodeFooter {
        nid,
        ino,
        is_cold: !is_dir,
        is_fsync: false,
        is_dentry: false,
        offset,
        cp_version: 0,
        next: BlockAddr::NULL,
    }
}

fn set_word(words: &mut [u8], slot: u32, value: u32) {
    let at = slot as usize * 4;
    if let Some(place) = words.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}
