//! The map from a block of a file to the word that holds its address: in the inode or in a node below it. Nodes are
//! made and taken away here.

use super::nodes::Nodes;
use crate::{
    error::{Error, Place, Result, corrupt},
    layout::{BlockAddr, Inode, Nid, NodeOffset, Way},
};
use pumice_vfs::Errno;

/// The word that holds an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// The node that it is in.
    pub(super) nid: Nid,
    /// The number among the node's addresses.
    pub(super) offset: u32,
    /// Its first byte in the node.
    at: usize,
    /// Addresses from this one on in the same node.
    pub(super) left: u32,
}

/// The end of the way to a block.
pub(super) enum Found {
    /// A word.
    Slot(Slot),
    /// A node on the way is missing: so many blocks are a hole.
    Missing(u64),
}

/// The way to block `index` of a file, as far as it goes.
pub(super) fn find(nodes: &Nodes, inode: &Inode, index: u64) -> Result<Found> {
    let per_node = nodes.size().node_words();
    let Some(way) = Way::to(inode, index, per_node) else { return Ok(Found::Missing(u64::MAX)) };
    let mut nid = Nid::NULL;
    for (level, (step, offset)) in way.steps.iter().zip(way.offsets).enumerate() {
        let Some(step) = step else { break };
        let next = below(nodes, inode, &way, level, nid, *step)?;
        if next.is_null() {
            return Ok(Found::Missing(way.missing_below(inode, level, per_node)));
        }
        nodes.read(next, inode.ino, offset)?;
        nid = next;
    }
    Ok(Found::Slot(slot(inode, &way, nid)))
}

/// The same; nodes that are missing are made.
pub(super) fn make(nodes: &mut Nodes, inode: &mut Inode, index: u64) -> Result<Slot> {
    let way = Way::to(inode, index, nodes.size().node_words()).ok_or(Error::Errno(Errno::FileTooBig))?;
    let mut nid = Nid::NULL;
    for (level, (step, offset)) in way.steps.iter().zip(way.offsets).enumerate() {
        let Some(step) = step else { break };
        let mut next = below(nodes, inode, &way, level, nid, *step)?;
        if next.is_null() {
            next = nodes.make(inode, offset)?;
            inode.blocks += 1;
            match level {
                0 => set_top(nodes, inode, *step, next)?,
                _ => set_word(nodes.edit(nid)?, *step as usize * 4, next.0),
            }
        } else {
            nodes.read(next, inode.ino, offset)?;
        }
        nid = next;
    }
    Ok(slot(inode, &way, nid))
}

/// The node below step `level` of a way.
fn below(nodes: &Nodes, inode: &Inode, way: &Way, level: usize, above: Nid, step: u32) -> Result<Nid> {
    let Some(offset) = level.checked_sub(1).and_then(|level| way.offsets.get(level)) else {
        let block = nodes.inode_block(inode.ino)?;
        return top(inode, &block, step);
    };
    let block = nodes.read(above, inode.ino, *offset)?;
    Ok(Nid(word(&block, step as usize * 4)))
}

fn slot(inode: &Inode, way: &Way, nid: Nid) -> Slot {
    let (nid, start, count) = match nid {
        Nid::NULL => (inode.ino, inode.addrs_at(), inode.own_addrs()),
        nid => (nid, 0, inode.node_addrs()),
    };
    Slot { nid, offset: way.slot, at: start + way.slot as usize * 4, left: count - way.slot }
}

/// One of the five node numbers of an inode.
fn top(inode: &Inode, block: &[u8], step: u32) -> Result<Nid> {
    let nid = inode.nids(block).get(step as usize).copied();
    nid.ok_or_else(|| corrupt(Place::Inode(inode.ino), "the way leads through node number", step, 4_u32))
}

fn set_top(nodes: &mut Nodes, inode: &Inode, step: u32, nid: Nid) -> Result<()> {
    let block = nodes.edit(inode.ino)?;
    let mut nids = inode.nids(block);
    nids.iter_mut().skip(step as usize).take(1).for_each(|place| *place = nid);
    Inode::put_nids(nids, block);
    Ok(())
}

/// The block of a file for address `offset` of a node; `None` if the node has no addresses at its place.
pub(super) fn block_of(nodes: &Nodes, inode: &Inode, place: NodeOffset, offset: u16) -> Option<u64> {
    let (own, each) = (u64::from(inode.own_addrs()), u64::from(inode.node_addrs()));
    let offset = u64::from(offset);
    if place == NodeOffset::INODE {
        return (offset < own).then_some(offset);
    }
    let index = u64::from(place.direct_index(nodes.size())?);
    (offset < each).then_some(own + index * each + offset)
}

/// The address in a word.
pub(super) fn get(nodes: &Nodes, inode: &Inode, slot: &Slot) -> Result<BlockAddr> {
    let addr = BlockAddr(word(&node_of(nodes, inode, slot)?, slot.at));
    checked(nodes, inode, addr)
}

/// The addresses in a row from a word on, at most `most` of them.
pub(super) fn get_run(nodes: &Nodes, inode: &Inode, slot: &Slot, most: u64) -> Result<Vec<BlockAddr>> {
    let block = node_of(nodes, inode, slot)?;
    let count = u32::try_from(most).map_or(slot.left, |most| most.min(slot.left));
    (0..count as usize)
        .map(|ahead| checked(nodes, inode, BlockAddr(word(&block, slot.at + ahead * 4))))
        .collect()
}

fn node_of(nodes: &Nodes, inode: &Inode, slot: &Slot) -> Result<crate::volume::Block> {
    if slot.nid == inode.ino { nodes.inode_block(inode.ino) } else { nodes.peek(slot.nid) }
}

fn checked(nodes: &Nodes, inode: &Inode, addr: BlockAddr) -> Result<BlockAddr> {
    let sb = nodes.writer().super_block();
    let inside = addr >= sb.main_start() && u64::from(addr.0) < sb.main_end();
    let is_mark = addr == BlockAddr::COMPRESSED && inode.compression().is_some();
    if addr == BlockAddr::NULL || addr == BlockAddr::NEW || is_mark || inside {
        return Ok(addr);
    }
    Err(corrupt(Place::Inode(inode.ino), "an address is", addr.0, sb.main_end()))
}

/// Puts an address into a word.
pub(super) fn set(nodes: &mut Nodes, slot: &Slot, addr: BlockAddr) -> Result<()> {
    set_run(nodes, slot, std::iter::once(addr))
}

/// Puts addresses into words in a row, no more than the node has.
pub(super) fn set_run(
    nodes: &mut Nodes,
    slot: &Slot,
    addrs: impl ExactSizeIterator<Item = BlockAddr>,
) -> Result<()> {
    debug_assert!(addrs.len() <= slot.left as usize, "{} of {}", addrs.len(), slot.left);
    let node = nodes.edit(slot.nid)?;
    (slot.at..).step_by(4).zip(addrs).for_each(|(at, addr)| set_word(node, at, addr.0));
    Ok(())
}

/// Gives back all blocks of a file from `from` on, and the nodes that nothing is below any more.
pub(super) fn cut(nodes: &mut Nodes, inode: &mut Inode, from: u64) -> Result<()> {
    let own = u64::from(inode.own_addrs());
    let ino = inode.ino;
    let own_at = inode.addrs_at();
    cut_words(nodes, inode, ino, own_at, from.min(own)..own)?;
    let per_node = u64::from(nodes.size().node_words());
    let direct = u64::from(inode.node_addrs());
    let spans = [direct, direct, direct * per_node, direct * per_node, direct * per_node * per_node];
    let offsets = [1, 2, 3, 4 + nodes.size().node_words(), 5 + 2 * nodes.size().node_words()];
    let mut start = own;
    for (step, ((span, offset), level)) in (0..).zip(spans.into_iter().zip(offsets).zip([0, 0, 1, 1, 2])) {
        let nid = top(inode, &nodes.inode_block(ino)?, step)?;
        if !nid.is_null() && from < start + span {
            let branch = Branch { nid, offset: NodeOffset(offset), level };
            if cut_branch(nodes, inode, branch, from.saturating_sub(start))? {
                set_top(nodes, inode, step, Nid::NULL)?;
            }
        }
        start += span;
    }
    Ok(())
}

/// A node and all below it.
#[derive(Clone, Copy)]
struct Branch {
    nid: Nid,
    offset: NodeOffset,
    /// Nodes between it and addresses.
    level: u32,
}

/// Gives back the blocks below a node from its block `from` on; if that is all, the node, too, and then it is true.
fn cut_branch(nodes: &mut Nodes, inode: &mut Inode, branch: Branch, from: u64) -> Result<bool> {
    let per_node = u64::from(nodes.size().node_words());
    let block = nodes.read(branch.nid, inode.ino, branch.offset)?;
    if branch.level == 0 {
        cut_words(nodes, inode, branch.nid, 0, from..u64::from(inode.node_addrs()))?;
    } else {
        let span = u64::from(inode.node_addrs()) * per_node.pow(branch.level - 1);
        // Depth first: a node is followed by all that is below it.
        let behind = if branch.level == 1 { 1 } else { nodes.size().node_words() + 1 };
        for step in 0..nodes.size().node_words() {
            let (nid, start) = (Nid(word(&block, step as usize * 4)), u64::from(step) * span);
            if nid.is_null() || from >= start + span {
                continue;
            }
            let offset = NodeOffset(branch.offset.0 + 1 + step * behind);
            let below = Branch { nid, offset, level: branch.level - 1 };
            if cut_branch(nodes, inode, below, from.saturating_sub(start))? && from > 0 {
                set_word(nodes.edit(branch.nid)?, step as usize * 4, 0);
            }
        }
    }
    if from == 0 {
        nodes.remove(branch.nid, inode.ino)?;
        inode.lose_block()?;
    }
    Ok(from == 0)
}

/// Gives back the blocks with the addresses in words `range` behind byte `start` of a node.
fn cut_words(
    nodes: &mut Nodes,
    inode: &mut Inode,
    nid: Nid,
    start: usize,
    range: std::ops::Range<u64>,
) -> Result<()> {
    let block = nodes.peek(nid)?;
    let first = range.start;
    let place = |word_at: u64| start + small(word_at) * 4;
    let addrs = range.map(|word_at| checked(nodes, inode, BlockAddr(word(&block, place(word_at)))));
    let addrs: Vec<BlockAddr> = addrs.collect::<Result<_>>()?;
    for (word_at, addr) in (first..).zip(&addrs).filter(|(_, addr)| **addr != BlockAddr::NULL) {
        set_word(nodes.edit(nid)?, place(word_at), 0);
        // The blocks given back of a cluster, its mark among them, count no more.
        if *addr != BlockAddr::COMPRESSED || !inode.is_released() {
            nodes.writer_mut().release(*addr)?;
            inode.lose_block()?;
        }
    }
    if inode.is_released() { Ok(()) } else { inode.lose_saved(saved(inode, first, &addrs)) }
}

/// Blocks that compression saves, of which `addrs` are the addresses, the first that of block `first` of a node.
fn saved(inode: &Inode, first: u64, addrs: &[BlockAddr]) -> u64 {
    let Some(blocks) = inode.cluster_blocks() else { return 0 };
    let skipped = first.next_multiple_of(blocks.into()) - first;
    // None of them may begin here.
    let whole = addrs.get(small(skipped)..).unwrap_or_default();
    let clusters = whole.chunks(blocks as usize);
    let marked = clusters.filter(|addrs| addrs.first() == Some(&BlockAddr::COMPRESSED));
    marked.map(|addrs| u64::from(blocks) - addrs.iter().filter(|addr| addr.is_block()).count() as u64).sum()
}

/// A number of blocks or words in a node, or of blocks that wait.
pub(super) fn small(number: u64) -> usize {
    let found = usize::try_from(number);
    debug_assert!(found.is_ok(), "{number} is more than memory has room for");
    found.unwrap_or(usize::MAX)
}

fn word(block: &[u8], at: usize) -> u32 {
    let bytes = block.get(at..).and_then(|rest| rest.first_chunk());
    debug_assert!(bytes.is_some(), "a word behind the end of a node");
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn set_word(block: &mut [u8], at: usize, value: u32) {
    debug_assert!(at + 4 <= block.len());
    if let Some(place) = block.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}
