//! The nodes that fsync wrote since the checkpoint: a chain from the warm node log on, which the next mount rolls
//! forward.

use std::collections::HashSet;

use super::{
    codes::Code,
    findings::{Findings, Object},
};
use crate::{
    layout::{BlockAddr, Features, Inode, NatEntry, NodeFooter, NodeOffset},
    volume::Volume,
};

/// The log that fsync writes to.
const WARM_NODES: usize = 4;

/// Follows the chain; gives the number of nodes in it that fsync marked.
pub(super) fn check(volume: &Volume, findings: &mut Findings) -> u64 {
    if volume.features().has(Features::RO) {
        return 0;
    }
    let Some(head) = volume.log_heads().get(WARM_NODES) else { return 0 };
    let start = volume.segment_start(head.segno);
    let mut here = BlockAddr(start.0.saturating_add(head.offset.into()));
    let mut seen = HashSet::new();
    let mut marked = 0;
    while volume.is_main(here) {
        // A block that cannot be read ends the chain, as one that was never written does.
        let Ok(block) = volume.block(here) else { break };
        let Some(footer) = NodeFooter::of(&block) else { break };
        if footer.cp_version != volume.checkpoint().footer_version() {
            break;
        }
        if !seen.insert(here) {
            findings
                .add(Code::RollForwardChain, Object::Block(here), || "the chain comes back to it".to_owned());
            break;
        }
        // Nodes without a mark of fsync may be of files that are gone.
        let wrong = problem(volume, here, &footer)
            .or_else(|| content(volume, &block, &footer).filter(|_| footer.is_fsync));
        if let Some(wrong) = wrong {
            findings.add(Code::RollForwardChain, Object::Block(here), || wrong);
        }
        marked += u64::from(footer.is_fsync);
        here = footer.next;
    }
    marked
}

fn problem(volume: &Volume, here: BlockAddr, footer: &NodeFooter) -> Option<String> {
    let limit = volume.super_block().nid_limit();
    if footer.nid.is_null() || footer.nid.0 >= limit || footer.ino.is_null() || footer.ino.0 >= limit {
        return Some(format!("it is node {} of inode {}, which is out of range", footer.nid, footer.ino));
    }
    let is_new = footer.is_inode() && footer.is_dentry && footer.is_fsync;
    if is_new && volume.nat_entry(footer.nid).is_ok_and(NatEntry::is_used) {
        return Some(format!("it makes inode {}, which exists", footer.ino));
    }
    if volume.is_valid(here).is_ok_and(|valid| valid) {
        return Some("the SIT has it as valid, though it was written since the checkpoint".to_owned());
    }
    None
}

/// The first fault in what a node promises: an inode that makes no sense, or an address outside the main area.
fn content(volume: &Volume, block: &[u8], footer: &NodeFooter) -> Option<String> {
    let size = volume.block_size();
    let words = if footer.is_inode() && footer.offset == NodeOffset::INODE {
        let inode = match Inode::from_block(footer.ino, block, size, volume.features()) {
            Ok(inode) => inode,
            Err(error) => return Some(error.to_string()),
        };
        if !inode.has_addrs() {
            return None;
        }
        inode.addrs_at()..inode.addrs_at() + inode.own_addrs() as usize * 4
    } else {
        footer.offset.direct_index(size)?;
        0..size.node_words() as usize * 4
    };
    let addrs = block.get(words)?.chunks_exact(4).filter_map(|word| word.first_chunk());
    let is_wrong = |addr: &BlockAddr| addr.is_block() && !volume.is_main(*addr);
    let (at, addr) = (0_u32..)
        .zip(addrs.map(|word| BlockAddr(u32::from_le_bytes(*word))))
        .find(|(_, addr)| is_wrong(addr))?;
    Some(format!("address {at} of node {} is {addr}, which is not in the main area", footer.nid))
}
