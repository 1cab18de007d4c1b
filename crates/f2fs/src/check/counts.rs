//! An inode's counts of itself: blocks, blocks saved by compression, and those of its extent.

use std::sync::atomic::Ordering;

use super::{
    codes::Code,
    facts::Facts,
    findings::{Cure, Findings, Object},
};

/// Compares an inode's counts with its contents.
pub(super) fn check(facts: &Facts, findings: &mut Findings) {
    let blocks = facts.counted_blocks();
    if facts.blocks != blocks {
        findings.add_with(Code::InodeBlocks, Object::Inode(facts.ino), Cure::Number(blocks), || {
            format!("it counts {} blocks, and has {blocks}", facts.blocks)
        });
    }
    let saved = facts.tally.saved.load(Ordering::Relaxed);
    if !facts.is_released() && facts.cluster.is_some() && facts.saved != saved {
        findings.add_with(Code::ClusterSaved, Object::Inode(facts.ino), Cure::Number(saved), || {
            format!("it counts {} blocks saved by compression, and has {saved}", facts.saved)
        });
    }
    let in_extent = facts.tally.in_extent.load(Ordering::Relaxed);
    if let Some(extent) = facts.extent.filter(|extent| u64::from(extent.blocks) != in_extent) {
        findings.add(Code::InodeExtent, Object::Inode(facts.ino), || {
            format!(
                "its extent is {} blocks from block {} of the file on at block {}, and {in_extent} of them are there",
                extent.blocks, extent.first, extent.addr
            )
        });
    }
}
