//! Blocks that a repair changed where they stand, moved to free places: the old state keeps its own until the new one
//! counts.

use std::collections::BTreeSet;

use super::{
    bench::Bench,
    pack::{BLOCKS, WARM_DATA, WARM_NODES},
};
use crate::{
    error::Result,
    layout::{BlockAddr, NatEntry, Nid, SegNo, SitEntry, Summary},
    volume::Volume,
};

/// Moves all changed blocks that both states use, as far as there are free segments.
pub(super) fn run(bench: &mut Bench, old: &Volume, chain: &[BlockAddr]) -> Result<()> {
    let mut spots = Spots::new(bench, old, chain)?;
    for addr in shared(bench, old)? {
        let Some(owner) = bench.volume.summary(addr)? else { continue };
        // Nodes come last: those above moved blocks change, too.
        if bench.pointer(owner.nid, owner.offset) == Some(addr) && bench.nat(owner.nid)?.addr != addr {
            let Some(to) = spots.next(bench, WARM_DATA)? else { break };
            shift(bench, addr, to, owner)?;
            bench.set_pointer(owner.nid, owner.offset, to)?;
            drop_extent(bench, owner.nid, addr)?;
        }
    }
    for addr in shared(bench, old)? {
        let Some(owner) = bench.volume.summary(addr)? else { continue };
        let entry = bench.nat(owner.nid)?;
        if entry.addr == addr {
            let Some(to) = spots.next(bench, WARM_NODES)? else { break };
            shift(bench, addr, to, owner)?;
            bench.set_nat(owner.nid, NatEntry { addr: to, ..entry })?;
        }
    }
    bench.pack.raw.lose_free_segments(spots.opened);
    bench.keep();
    Ok(())
}

/// Blocks of the main area that differ from the medium and are in use in both states.
fn shared(bench: &Bench, old: &Volume) -> Result<Vec<BlockAddr>> {
    let mut found = Vec::new();
    for (addr, block) in bench.draft.changes() {
        let addr = BlockAddr(addr);
        if bench.is_used(addr)? && old.is_valid(addr)? && bench.draft.original(addr)? != block {
            found.push(addr);
        }
    }
    Ok(found)
}

/// Has a block stand elsewhere, and its old place as it was.
fn shift(bench: &mut Bench, from: BlockAddr, to: BlockAddr, owner: Summary) -> Result<()> {
    let block = bench.draft.read(from)?;
    bench.draft.write(to, &block);
    bench.draft.forget(from);
    bench.mark(from, false)?;
    bench.mark(to, true)?;
    let Some((segno, offset)) = bench.volume.segment_of(to) else { return Ok(()) };
    bench.edit_summary(segno, |summary| summary.set_entry(offset, owner))
}

/// The extent of a file is only a help, and must not name a block that moved.
fn drop_extent(bench: &Bench, nid: Nid, addr: BlockAddr) -> Result<()> {
    let ino = bench.nat(nid)?.ino;
    let Some((inode, _)) = bench.inode(ino) else { return Ok(()) };
    let inside = addr.0.checked_sub(inode.extent.addr.0);
    if inside.is_some_and(|inside| inside < inode.extent.blocks) {
        bench.edit_inode(ino, |raw| raw.i_ext.len.set(0))?;
    }
    Ok(())
}

/// Free places, in segments that are free in both states.
struct Spots {
    free: Vec<SegNo>,
    /// The open segment of each kind, and the next block there.
    open: [(u8, Option<(SegNo, u32)>); 2],
    opened: u32,
}

impl Spots {
    fn new(bench: &Bench, old: &Volume, chain: &[BlockAddr]) -> Result<Spots> {
        let kept: BTreeSet<SegNo> =
            chain.iter().filter_map(|addr| old.segment_of(*addr)).map(|at| at.0).collect();
        let mut free = Vec::new();
        for segno in (0..old.super_block().main_segments()).rev().map(SegNo) {
            let is_head =
                bench.pack.log_of(segno).is_some() || old.log_heads().iter().any(|head| head.segno == segno);
            let bits = bench.sit(segno)?.bits() + old.sit_entry(segno)?.bits();
            if bits == 0 && !is_head && !kept.contains(&segno) {
                free.push(segno);
            }
        }
        Ok(Spots { free, open: [(WARM_DATA, None), (WARM_NODES, None)], opened: 0 })
    }

    /// The next place for a block of a kind; the last free segment stays.
    fn next(&mut self, bench: &mut Bench, kind: u8) -> Result<Option<BlockAddr>> {
        let Some((_, open)) = self.open.iter_mut().find(|(of, _)| *of == kind) else { return Ok(None) };
        if open.is_none_or(|(_, next)| next >= BLOCKS) {
            if self.free.len() < 2 {
                return Ok(None);
            }
            let Some(segno) = self.free.pop() else { return Ok(None) };
            let entry = bench.sit(segno)?;
            bench.set_sit(segno, &SitEntry { kind, ..entry })?;
            bench.set_kind(segno, kind == WARM_NODES)?;
            self.opened += 1;
            *open = Some((segno, 0));
        }
        Ok(open.as_mut().map(|(segno, next)| {
            *next += 1;
            BlockAddr(bench.volume.segment_start(*segno).0 + *next - 1)
        }))
    }
}
