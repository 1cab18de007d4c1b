//! The blocks of an inode, by the nodes as they stand in the draft. A node whose footer has another place is none of them.

use super::bench::{Bench, word_at};
use crate::layout::{BlockAddr, Inode, Nid, NodeOffset, Way};

/// The word that holds the address of a block: its node, if that is not the inode, its number there, and the address.
pub(super) struct Word {
    pub(super) nid: Option<Nid>,
    pub(super) slot: u32,
    addr: BlockAddr,
}

/// The word of a block of a file or directory.
pub(super) fn word_of(bench: &Bench, inode: &Inode, block: &[u8], index: u64) -> Option<Word> {
    let way = Way::to(inode, index, bench.volume.block_size().node_words())?;
    let (mut nid, mut node) = (None, block.to_vec());
    for (level, (step, place)) in way.steps.into_iter().zip(way.offsets).enumerate() {
        let Some(step) = step else { break };
        let below = match level {
            0 => *inode.nids(block).get(step as usize)?,
            _ => word_at(&node, step as usize * 4).map(Nid)?,
        };
        node = bench.node_of(below, block, place)?;
        nid = Some(below);
    }
    let start = if nid.is_none() { inode.addrs_at() } else { 0 };
    let addr = word_at(&node, start + way.slot as usize * 4).map(BlockAddr)?;
    Some(Word { nid, slot: way.slot, addr })
}

/// The address of a block of a file or directory, if there is one.
pub(super) fn block_of(bench: &Bench, inode: &Inode, block: &[u8], index: u64) -> Option<BlockAddr> {
    word_of(bench, inode, block, index).map(|word| word.addr).filter(|addr| addr.is_block())
}

/// All blocks of a directory or file, in their order.
pub(super) fn blocks_of(bench: &Bench, inode: &Inode, block: &[u8]) -> Vec<(u64, BlockAddr)> {
    let mut found = addresses(block.get(inode.addrs_at()..).unwrap_or_default(), 0, inode.own_addrs());
    each_node(bench, inode, block, &mut |branch, node| {
        if branch.levels == 0 {
            found.append(&mut addresses(node, branch.first, inode.node_addrs()));
        }
    });
    found.retain(|(_, addr)| bench.volume.is_main(*addr));
    found
}

/// Visits all nodes below an inode, each in front of those below it.
pub(super) fn each_node(bench: &Bench, inode: &Inode, block: &[u8], visit: &mut dyn FnMut(&Branch, &[u8])) {
    let per_node = bench.volume.block_size().node_words();
    let places = [1, 2, 3, 4 + per_node, 5 + 2 * per_node];
    let mut first = inode.own_addrs().into();
    for ((nid, place), levels) in inode.nids(block).into_iter().zip(places).zip([0, 0, 1, 1, 2]) {
        let branch = Branch { nid, place, levels, first };
        first += branch.span(inode, per_node);
        branch.each(bench, inode, block, visit);
    }
}

/// A node, its place in the inode, the levels of nodes below it, and its first block.
pub(super) struct Branch {
    pub(super) nid: Nid,
    place: u32,
    pub(super) levels: u32,
    first: u64,
}

impl Branch {
    /// Blocks that it may have.
    fn span(&self, inode: &Inode, per_node: u32) -> u64 {
        u64::from(inode.node_addrs()) * u64::from(per_node).pow(self.levels)
    }

    fn each(&self, bench: &Bench, inode: &Inode, block: &[u8], visit: &mut dyn FnMut(&Branch, &[u8])) {
        let Some(node) = bench.node_of(self.nid, block, NodeOffset(self.place)) else { return };
        visit(self, &node);
        let Some(levels) = self.levels.checked_sub(1) else { return };
        let per_node = bench.volume.block_size().node_words();
        let behind = if levels == 0 { 1 } else { per_node + 1 };
        let (mut place, mut first) = (self.place + 1, self.first);
        for word in node.chunks_exact(4).take(per_node as usize) {
            let branch = Branch { nid: Nid(word_at(word, 0).unwrap_or_default()), place, levels, first };
            (place, first) = (place + behind, first + branch.span(inode, per_node));
            branch.each(bench, inode, block, visit);
        }
    }
}

/// The addresses in so many words, the first that of block `first`.
fn addresses(words: &[u8], first: u64, count: u32) -> Vec<(u64, BlockAddr)> {
    let words = words.chunks_exact(4).take(count as usize);
    let addrs = words.map(|word| BlockAddr(word_at(word, 0).unwrap_or_default()));
    (first..).zip(addrs).filter(|(_, addr)| addr.is_block()).collect()
}
