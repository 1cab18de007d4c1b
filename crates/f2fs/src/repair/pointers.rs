//! Repairs of the addresses of data: each block has one owner, which its summary names.

use std::collections::{BTreeMap, BTreeSet};

use super::{bench::Bench, field, pack::DATA_LOGS, strays::Strays, tree};
use crate::{
    check::{Code, Cure, Finding, Object, Report},
    error::Result,
    layout::{BlockAddr, Nid, Summary},
};

/// Puts stray blocks back where their summaries say that they belong, if what stands there now is no block of that
/// owner. An empty place gets its block only where the inode counts more blocks than it has.
pub(super) fn restore(bench: &Bench, strays: &Strays, report: &Report) -> Result<()> {
    let short = short_inodes(bench, report);
    for (addr, owner) in strays.data() {
        let entry = bench.nat(owner.nid)?;
        let Some(here) = bench.pointer(owner.nid, owner.offset) else { continue };
        if entry.version != owner.version {
            continue;
        }
        let is_wrong = match here {
            BlockAddr::NULL => short.contains(&entry.ino),
            BlockAddr::NEW | BlockAddr::COMPRESSED => false,
            _ => !bench.volume.is_main(here) || bench.volume.summary(here)? != Some(owner),
        };
        if is_wrong {
            bench.set_pointer(owner.nid, owner.offset, addr)?;
        }
    }
    Ok(())
}

/// Inodes that count more blocks than they have.
fn short_inodes(bench: &Bench, report: &Report) -> BTreeSet<Nid> {
    let blocks = report.findings.iter().filter(|finding| finding.code == Code::InodeBlocks);
    let short = blocks.filter_map(|finding| match (finding.object, finding.cure) {
        (Object::Inode(ino), Cure::Number(counted)) => {
            bench.inode(ino).filter(|(inode, _)| inode.blocks > counted).map(|_| ino)
        }
        _ => None,
    });
    short.collect()
}

/// Makes holes of addresses that cannot be kept.
pub(super) fn mend(bench: &Bench, strays: &Strays, report: &Report) -> Result<()> {
    let mut claims: BTreeMap<BlockAddr, Vec<Summary>> = BTreeMap::new();
    for finding in report.findings.iter().filter(|finding| finding.code == Code::SsaOwner) {
        if let (Object::Block(addr), Cure::Owner(owner)) = (finding.object, finding.cure) {
            claims.entry(addr).or_default().push(owner);
        }
    }
    for finding in &report.findings {
        match (finding.code, finding.object, finding.cure) {
            (Code::SsaOwner, Object::Block(addr), Cure::Owner(owner)) => leave(bench, addr, owner)?,
            (Code::DataAddress, _, Cure::Pointer(nid, slot)) => {
                let found = strays.block(nid, slot).unwrap_or(BlockAddr::NULL);
                bench.set_pointer(nid, slot, found)?;
            }
            (Code::BlockShared, Object::Block(addr), cure) => {
                give_up(bench, addr, claims.get(&addr).map_or(&[][..], Vec::as_slice), cure)?;
            }
            (Code::ClusterShape, _, Cure::Pointer(nid, slot)) => drop_cluster(bench, nid, slot)?,
            (Code::ClusterHeader, Object::Inode(ino), Cure::Number(index)) => {
                drop_at(bench, finding, ino, index)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes a hole of an address that leads among nodes, to a block that is free by the SIT and not its own by the SSA.
fn leave(bench: &Bench, addr: BlockAddr, owner: Summary) -> Result<()> {
    let Some((segno, offset)) = bench.volume.segment_of(addr) else { return Ok(()) };
    let entry = bench.sit(segno)?;
    let is_astray = usize::from(entry.kind) >= DATA_LOGS && !entry.is_valid(offset);
    if is_astray && bench.pointer(owner.nid, owner.offset) == Some(addr) {
        bench.set_pointer(owner.nid, owner.offset, BlockAddr::NULL)?;
    }
    Ok(())
}

/// Of several that point to a block the summary's owner keeps it. Where it names none of them, the last gives it up.
fn give_up(bench: &Bench, addr: BlockAddr, claims: &[Summary], last: Cure) -> Result<()> {
    let owner = bench.volume.summary(addr)?;
    let mut wrong: Vec<(Nid, u16)> = claims
        .iter()
        .filter(|claim| Some(**claim) != owner)
        .map(|claim| (claim.nid, claim.offset))
        .filter(|(nid, slot)| bench.pointer(*nid, *slot) == Some(addr))
        .collect();
    let keeps = owner.filter(|owner| bench.pointer(owner.nid, owner.offset) == Some(addr));
    let is_node = owner.is_some_and(|owner| bench.nat(owner.nid).is_ok_and(|entry| entry.addr == addr));
    if keeps.is_none() && !is_node {
        wrong.pop();
    }
    let kept = keeps.map(|owner| (owner.nid, owner.offset));
    // The others may have their own blocks again.
    if let (true, Cure::Pointer(nid, slot)) = (wrong.is_empty(), last)
        && kept != Some((nid, slot))
    {
        wrong.push((nid, slot));
    }
    wrong.into_iter().try_for_each(|(nid, slot)| bench.set_pointer(nid, slot, BlockAddr::NULL))
}

/// Makes a hole of the cluster that an address belongs to; of the address alone in a file without clusters.
fn drop_cluster(bench: &Bench, nid: Nid, slot: u16) -> Result<()> {
    let ino = bench.nat(nid)?.ino;
    let blocks = bench.inode(ino).and_then(|(inode, _)| inode.cluster_blocks());
    let blocks = u16::try_from(blocks.unwrap_or(1)).unwrap_or(1);
    let first = slot / blocks * blocks;
    (first..first.saturating_add(blocks)).try_for_each(|slot| bench.set_pointer(nid, slot, BlockAddr::NULL))
}

/// Makes a hole of the cluster at a block of a file.
fn drop_at(bench: &Bench, finding: &Finding, ino: Nid, index: u64) -> Result<()> {
    debug_assert_eq!(finding.code, Code::ClusterHeader);
    let Some((inode, block)) = bench.inode(ino) else { return Ok(()) };
    match tree::word_of(bench, &inode, &block, index) {
        Some(word) => drop_cluster(bench, word.nid.unwrap_or(ino), field(word.slot.into())?),
        None => Ok(()),
    }
}
