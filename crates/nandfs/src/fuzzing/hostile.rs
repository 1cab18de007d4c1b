//! Records that parse and lie.

use alloc::vec;

use pumice_flashlog::CHECKPOINT;

use super::Choices;
use super::page::{Known, Raw};
use crate::addr::Addr;
use crate::blocks::ENTRY;
use crate::checkpoint_record::Checkpoint;
use crate::names::NameRecord;
use crate::node::{Body, IndexBody, Inode, Node};
use crate::pack::Compression;
use crate::pages::Spare;
use crate::params::Params;
use crate::tag::{ChunkKind, Desc};

/// Changes a record of the page in a way that its parser may accept.
pub(super) fn rewrite(params: &Params, known: &Known, raw: &mut Raw, choices: &mut Choices<'_>) {
    if known.kind == CHECKPOINT {
        return rewrite_record(params, raw, choices);
    }
    let Some((start, _, Some(desc))) = known.chunk(choices) else { return };
    let bytes = raw.chunk(start, desc.len).to_vec();
    match desc.kind {
        ChunkKind::Node => {
            let Some(mut node) = Node::decode(&bytes, params) else { return };
            lie_in_node(&mut node, &desc, params, choices);
            raw.replace(start, desc.len, &node.encode(params, Compression::None));
        }
        ChunkKind::NodeTable | ChunkKind::BlockTable => lie_in_table(start, &desc, raw, choices),
        ChunkKind::Names => {
            let Some(mut record) = NameRecord::decode(&bytes) else { return };
            lie_in_names(&mut record, choices);
            raw.replace(start, desc.len, &record.encode());
        }
        ChunkKind::Packed => {
            // Another method, another length, and bytes of neither.
            let mut bytes = bytes;
            for _ in 0..=choices.below(3) {
                let place = choices.place(bytes.len().min(8));
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = choices.number().to_le_bytes()[0];
                }
            }
            raw.replace(start, desc.len, &bytes);
        }
        ChunkKind::Data | ChunkKind::Rest => {}
    }
}

/// Puts names and links of other inodes in place of the true ones.
fn lie_in_names(record: &mut NameRecord, choices: &mut Choices<'_>) {
    let ino =
        [choices.below(16), choices.below(64), choices.number()].get(choices.place(3)).copied().unwrap_or(0);
    match choices.below(4) {
        0 => record.changes.iter_mut().for_each(|change| change.dir = ino),
        1 => {
            for (other, _) in record.changes.iter_mut().filter_map(|change| change.meaning.as_mut()) {
                *other = ino;
            }
        }
        2 => record.directories.iter_mut().for_each(|directory| directory.ino = ino),
        _ => record.links.iter_mut().for_each(|link| (link.ino, link.nlink) = (ino, choices.below(3))),
    }
}

fn rewrite_record(params: &Params, raw: &mut Raw, choices: &mut Choices<'_>) {
    let length = u16::try_from(params.payload).unwrap_or(u16::MAX);
    let Some(mut checkpoint) = Checkpoint::decode(raw.chunk(0, length), params) else { return };
    lie_in_counts(&mut checkpoint, params, choices);
    lie_in_lists(&mut checkpoint, params, choices);
    raw.replace(0, length, &checkpoint.encode(params));
}

/// Puts one entry of a table in place of another.
fn lie_in_table(start: u16, desc: &Desc, raw: &mut Raw, choices: &mut Choices<'_>) {
    let mut bytes = raw.chunk(start, desc.len).to_vec();
    let entry = if desc.kind == ChunkKind::NodeTable { 8 } else { ENTRY };
    let count = bytes.len() / entry;
    for _ in 0..=choices.below(4) {
        // Low places are in use.
        let from = choices.place(count.min(16)) * entry;
        let to = choices.place(count.min(64)) * entry;
        bytes.copy_within(from..from + entry, to);
    }
    raw.replace(start, desc.len, &bytes);
}

fn lie_in_node(node: &mut Node, desc: &Desc, params: &Params, choices: &mut Choices<'_>) {
    let nid = [desc.id, desc.index, choices.below(64), choices.number()];
    let nid = nid.get(choices.place(4)).copied().unwrap_or(0);
    let count = choices.place(params.fanout() as usize);
    match node {
        Node::Inode(inode) => lie_in_inode(inode, nid, count, params, choices),
        Node::Index(index) => match choices.below(4) {
            0 => index.body = IndexBody::Nodes { height: 2, children: vec![nid; count] },
            1 => index.body = IndexBody::Blocks(vec![Addr::RESERVED; count]),
            2 => {
                let height = u8::try_from(choices.below(9)).unwrap_or(0);
                index.body = IndexBody::Nodes { height, children: (nid..).take(count.min(50)).collect() };
            }
            _ => index.owner = nid,
        },
    }
}

fn lie_in_inode(inode: &mut Inode, nid: u32, count: usize, params: &Params, choices: &mut Choices<'_>) {
    let number = choices.edge(&[params.blocks]);
    let large = u64::from(number) << choices.below(32);
    match choices.below(14) {
        0 => inode.size = large,
        1 => inode.nlink = number,
        2 => inode.blocks = number,
        3 => inode.rdev = number,
        4 => inode.parent = nid,
        5 => inode.xattr_ino = nid,
        6 => inode.uid = number,
        7 => {
            let kind = u8::try_from(choices.below(8)).ok().and_then(crate::node::kind_from);
            inode.kind = kind.unwrap_or(inode.kind);
        }
        8 => inode.xattr = vec![1; choices.place(64)],
        9 => inode.name = vec![b'/'; choices.place(64)],
        10 => inode.body = Body::Inline(vec![0; choices.place(64)]),
        11 => {
            let mut map = crate::node::Map::new();
            map.class = u8::try_from(choices.below(9)).unwrap_or(0);
            map.children = vec![nid; count];
            inode.body = Body::Mapped(map);
            inode.size = large;
        }
        12 => {
            let mut map = crate::node::Map::new();
            map.direct = vec![Addr::RESERVED; count];
            map.children = vec![nid];
            inode.body = Body::Mapped(map);
            inode.rdev = number;
        }
        _ => {
            if let Body::Mapped(map) = &mut inode.body {
                map.class = map.class.wrapping_add(1);
                map.children.push(nid);
            }
        }
    }
}

fn lie_in_counts(checkpoint: &mut Checkpoint, params: &Params, choices: &mut Choices<'_>) {
    let number = choices.edge(&[params.blocks, params.pages()]);
    let large = u64::from(number) << choices.below(40) | u64::from(number);
    match choices.below(16) {
        0 => checkpoint.number = large,
        1 => checkpoint.seq = large,
        2 => checkpoint.inodes = large,
        3 => checkpoint.data_blocks = large,
        4 => checkpoint.node_bytes = large,
        5 => checkpoint.blocks.free = number,
        6 => checkpoint.blocks.bad = number,
        7 => checkpoint.next_nid = number,
        8 => checkpoint.blocks.cursor = number,
        9 => checkpoint.blocks.clock = number,
        10 => checkpoint.clean = !checkpoint.clean,
        11 => checkpoint.node_roots.1 = u8::try_from(choices.below(8)).unwrap_or(0),
        12 => checkpoint.block_roots.1 = u8::try_from(choices.below(8)).unwrap_or(0),
        13 => core::mem::swap(&mut checkpoint.node_roots, &mut checkpoint.block_roots),
        14 => checkpoint.blocks.lost_dead = true,
        _ => {}
    }
}

fn lie_in_lists(checkpoint: &mut Checkpoint, params: &Params, choices: &mut Choices<'_>) {
    let block = choices.below(params.blocks);
    let number = choices.edge(&[checkpoint.next_nid]);
    let entry = choices.place(checkpoint.block_journal.len());
    match choices.below(12) {
        0 => checkpoint.window = vec![Spare { block, erased: choices.below(2) == 0 }; choices.place(40)],
        1 => checkpoint.window.clear(),
        2 => checkpoint.window.iter_mut().for_each(|spare| spare.erased = !spare.erased),
        3 => checkpoint.heads = vec![Some((block, choices.below(params.pages_per_block))); choices.place(9)],
        4 => checkpoint.heads.clear(),
        7 => checkpoint.blocks.failing.push(block),
        8 => checkpoint.blocks.dying.push(block),
        9 => checkpoint.node_journal.push((number, (u64::from(block) << choices.below(24)).to_le_bytes())),
        10 => {
            if let Some((_, usage)) = checkpoint.block_journal.get_mut(entry) {
                *usage = usage.map(|byte| !byte);
            }
        }
        _ => {}
    }
}
