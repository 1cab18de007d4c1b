//! The blocks of an inode, by the nodes as they stand in the draft.

use super::bench::{Bench, word_at};
use crate::layout::{BlockAddr, Inode, Nid};

/// The direct node of a number: those that the inode names come first, then those below its indirect ones.
pub(super) fn direct(bench: &Bench, inode: &Inode, block: &[u8], number: u64) -> Option<Nid> {
    let per_node = u64::from(bench.volume.block_size().node_words());
    let [first, second, single, other, double] = inode.nids(block);
    let below = |above: Nid, index: u64| {
        let at = usize::try_from(index * 4).ok()?;
        word_at(&bench.node(above)?, at).map(Nid)
    };
    let found = match number {
        0 => first,
        1 => second,
        _ if number < 2 + per_node => below(single, number - 2)?,
        _ if number < 2 + 2 * per_node => below(other, number - 2 - per_node)?,
        _ => {
            let inside = number - 2 - 2 * per_node;
            below(below(double, inside / per_node).filter(|nid| !nid.is_null())?, inside % per_node)?
        }
    };
    (!found.is_null()).then_some(found)
}

/// The address of a block of a file or directory, if there is one.
pub(super) fn block_of(bench: &Bench, inode: &Inode, block: &[u8], index: u64) -> Option<BlockAddr> {
    let (own, per_node) = (u64::from(inode.own_addrs()), u64::from(inode.node_addrs()));
    if index < own {
        return address(block, inode.addrs_at(), index);
    }
    let nid = direct(bench, inode, block, (index - own) / per_node)?;
    address(&bench.node(nid)?, 0, (index - own) % per_node)
}

/// All blocks of a directory, in their order.
pub(super) fn blocks_of(bench: &Bench, inode: &Inode, block: &[u8]) -> Vec<(u64, BlockAddr)> {
    let (own, per_node) = (u64::from(inode.own_addrs()), u64::from(inode.node_addrs()));
    let mut found: Vec<(u64, BlockAddr)> =
        (0..own).filter_map(|index| Some((index, address(block, inode.addrs_at(), index)?))).collect();
    for (number, nid) in directs(bench, inode, block) {
        let Some(node) = bench.node(nid) else { continue };
        let first = own + number * per_node;
        found.extend((0..per_node).filter_map(|slot| Some((first + slot, address(&node, 0, slot)?))));
    }
    found.retain(|(_, addr)| bench.volume.is_main(*addr));
    found
}

/// All direct nodes, with their numbers.
fn directs(bench: &Bench, inode: &Inode, block: &[u8]) -> Vec<(u64, Nid)> {
    let per_node = u64::from(bench.volume.block_size().node_words());
    let [first, second, single, other, double] = inode.nids(block);
    let mut found = vec![(0, first), (1, second)];
    let mut above = vec![(2, single), (2 + per_node, other)];
    above.extend(numbered(bench, double, 0).map(|(at, nid)| (2 + 2 * per_node + at * per_node, nid)));
    for (start, nid) in above {
        found.extend(numbered(bench, nid, start));
    }
    found.retain(|(_, nid)| !nid.is_null());
    found
}

/// The numbers in an indirect node, counted from `start`.
fn numbered(bench: &Bench, nid: Nid, start: u64) -> impl Iterator<Item = (u64, Nid)> + use<> {
    let node = if nid.is_null() { None } else { bench.node(nid) };
    let bytes = bench.volume.block_size().node_bytes();
    let words: Vec<Nid> = node
        .and_then(|node| {
            let words = node.get(..bytes)?.chunks_exact(4);
            Some(words.filter_map(|word| word_at(word, 0).map(Nid)).collect())
        })
        .unwrap_or_default();
    (start..).zip(words).filter(|(_, nid)| !nid.is_null())
}

fn address(node: &[u8], start: usize, index: u64) -> Option<BlockAddr> {
    let at = start + usize::try_from(index).ok()? * 4;
    word_at(node, at).map(BlockAddr).filter(|addr| addr.is_block())
}
