//! Checks a volume: everything is read and compared with everything else; nothing is written.
//!
//! The volume is mounted read-only, which replays the promises of fsync in memory. Then follow the pages of both
//! tables, every node, every inode with its block map and names, and last the block table's view of it all. Memory: a
//! counter for each erase block, a small record for each node.

mod blocks;
mod counters;
mod directories;
mod inodes;
mod known;
mod links;
mod maps;
mod nodes;
mod paths;
mod tables;
#[cfg(test)]
mod tests;

use alloc::{boxed::Box, collections::BTreeMap, format, vec, vec::Vec};

use pumice_flashlog::Findings;
use pumice_media::AnyChip;
use pumice_vfs::{CheckReport, Finding, Result, Timestamp};

use crate::addr::Addr;
use crate::check::known::{Known, Place};
use crate::codec::size;
use crate::files::Files;
use crate::log::Log;
use crate::mount;
use crate::options::{MountOptions, Progress};
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::volume::Volume;

/// Memory for cached nodes and tables, in bytes.
const CACHE: usize = 2 << 20;

/// A check at work.
struct Check<'p, 'c> {
    log: Log<'c>,
    files: Files,
    params: Params,
    /// Each with its node, if that has a path.
    found: Findings<Option<u32>>,
    /// Bytes of chunks that something points at, for each erase block.
    live: Vec<u32>,
    /// Every node of the node table or, after recovery, of memory.
    known: BTreeMap<u32, Known>,
    /// The owners of nodes that cannot be read themselves.
    places: BTreeMap<u32, Place>,
    /// Everything that points at chunks was read, so sums must agree to the byte.
    complete: bool,
    node_bytes: u64,
    data_blocks: u64,
    report: CheckReport,
    progress: Progress<'p>,
    done: u64,
    total: u64,
}

/// Checks the volume on a chip. Fails only if there is none, or no state of it can be found.
pub(crate) fn check(nand: AnyChip<'_>, progress: Progress<'_>) -> Result<CheckReport> {
    let mut found = Findings::default();
    let Volume { log, files, .. } = load(nand, &mut found)?;
    let params = log.params;
    // With losses, not all pointers to chunks were read.
    let lost = files.losses().len();
    let mut check = Check {
        report: CheckReport {
            recovered: !log.recorded.is_clean(),
            newest_page: files.losses.newest,
            ..CheckReport::default()
        },
        // Every node is looked at twice, every erase block once.
        total: 2 * u64::from(files.nodes.end()) + u64::from(params.blocks),
        live: vec![0; params.blocks as usize],
        log,
        files,
        params,
        found,
        known: BTreeMap::new(),
        places: BTreeMap::new(),
        complete: lost == 0,
        node_bytes: 0,
        data_blocks: 0,
        progress,
        done: 0,
    };
    check.tables_and_nodes();
    check.inodes();
    check.links();
    let blocks = check.blocks();
    check.counters(blocks);
    let found = core::mem::take(&mut check.found);
    let findings = found.into_list(|code, detail, nid| match nid.and_then(|nid| check.path(nid)) {
        Some(path) => Finding { code, detail: format!("{path}: {detail}") },
        None => Finding { code, detail },
    });
    Ok(CheckReport { findings, ..check.report })
}

fn options() -> MountOptions {
    MountOptions { read_only: true, cache_bytes: CACHE, clock: Box::new(Timestamp::default) }
}

/// The volume as a mount would show it.
fn load<'c>(nand: AnyChip<'c>, found: &mut Findings<Option<u32>>) -> Result<Volume<'c>> {
    let (mut volume, checkpoint) = mount::load(nand, options())?;
    if volume.log.recorded.is_clean() {
        // A cut at the end of the clean state may have touched blocks that the next write erases again.
        volume.log.doubt_torn()?;
        return Ok(volume);
    }
    volume.files.recover(&mut volume.log, &checkpoint)?;
    for (ino, text) in volume.files.losses() {
        found.add_of("recovery", ino, text);
    }
    Ok(volume)
}

impl Check<'_, '_> {
    /// Some steps further.
    fn step(&mut self, steps: u64) {
        let before = self.done / 64;
        self.done = (self.done + steps).min(self.total);
        if self.done / 64 != before || self.done == self.total {
            (self.progress)(self.done, self.total);
        }
    }

    /// True if an address is one that a chunk can have.
    fn is_possible(&self, addr: Addr) -> bool {
        let end = u32::from(addr.offset) + u32::from(addr.len);
        let block = self.params.block_of(addr.page);
        // A block of a file may go on in the next page.
        let fits =
            end <= self.params.payload || (self.params.packs && u32::from(addr.offset) < self.params.payload);
        (ANCHOR_BLOCKS..self.params.blocks).contains(&block) && addr.len > 0 && fits
    }

    /// Counts a chunk that something points at.
    fn count(&mut self, addr: Addr) {
        let block = self.params.block_of(addr.page);
        if let Some(live) = self.live.get_mut(size(block.into())) {
            *live = live.saturating_add(addr.len.into());
        }
    }
}
