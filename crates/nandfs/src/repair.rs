//! Repair: what can be read is put in order again, and everything else is given up by name.
//!
//! The nodes are those of the node table as far as it can be read; where it cannot, and where no checkpoint is left, they
//! are found by the tags of all pages. From the root down, what is damaged is cut off; what has lost its name gets
//! it back from its inode, or one in `lost+found`. Then both tables are counted anew and a checkpoint is made. All
//! of it happens in memory, and is written to blocks that hold nothing.

mod absent;
mod names;
mod retell;
mod scan;
mod tables;
#[cfg(test)]
mod tests;
mod told;
mod tree;
mod work;

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};

use pumice_flashlog::{Medium, Roots};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Finding, Result, Timestamp};

use crate::addr::Addr;
use crate::error::{Damage, device};
use crate::flash::Flash;
use crate::log::Log;
use crate::mount::{load, params_of};
use crate::node::Node;
use crate::options::{MountOptions, RepairOptions};
use crate::pack::Compression;
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::placing::PolicyNames;
use crate::protection::FsyncProtection;
use crate::repair::scan::Scan;
use crate::repair::work::{Repair, Tree};
use crate::superblock::{MAGIC, Superblock};
use crate::tag::{ChunkKind, Tag};
use crate::volume::Volume;

/// Memory for cached nodes and tables, in bytes.
const CACHE: usize = 16 << 20;

/// Sequence numbers that anchors and records may have taken behind the last page that can be read.
const SEQ_GAP: u64 = 1 << 20;

/// Repairs the volume on a chip; returns what was, or would be, done.
pub(crate) fn repair(mut nand: AnyChip<'_>, options: RepairOptions) -> Result<(AnyChip<'_>, Vec<Finding>)> {
    let now = options.now;
    let mount = || MountOptions { read_only: true, cache_bytes: CACHE, clock: Box::new(move || now) };
    let is_known = load(AnyChip::lend(&mut nand), mount()).is_ok();
    let mut found = Vec::new();
    let mut rehash = false;
    let volume = if is_known {
        let (mut volume, checkpoint) = load(nand, mount())?;
        if volume.clean {
            if !options.dry_run {
                volume.blocks.renew();
                volume.mark_in_use()?;
            }
        } else {
            volume.recover(&checkpoint)?;
            found.extend(volume.losses().into_iter().map(|(_, detail)| Finding { code: "recovery", detail }));
            volume.nodes.give_up_lost();
        }
        volume
    } else {
        let detail = "no checkpoint can be read: rebuilt from the tags of all pages".into();
        found.push(Finding { code: "roots", detail });
        let (volume, has_anchor) = blank(nand, options.uuid, now)?;
        rehash = !has_anchor;
        volume
    };
    let live = alloc::vec![0; volume.params.blocks as usize];
    let tree = Tree::default();
    let mut repair =
        Repair { volume, nodes: BTreeMap::new(), scan: None, tree, found, live, mapped: 0, rehash };
    repair.find_nodes(is_known)?;
    repair.walk()?;
    repair.adopt_all()?;
    repair.count_blocks()?;
    repair.mend_names()?;
    if !options.dry_run {
        repair.volume.read_only = false;
        repair.volume.move_newest()?;
        repair.volume.checkpoint(true)?;
    }
    let Repair { volume, found, .. } = repair;
    Ok((volume.into_chip(), found))
}

/// A volume of which nothing is known, but for its anchor if that is there.
fn blank(mut nand: AnyChip<'_>, uuid: [u8; 16], now: Timestamp) -> Result<(Volume<'_>, bool)> {
    let params = params_of(&nand)?;
    let geometry = nand.geometry();
    let roots = Roots::find(&mut nand, MAGIC).map_err(device)?;
    let superblock = if let Some(roots) = &roots {
        Superblock::of(roots.anchor(), &geometry, nand.pairing())?
    } else {
        let policies = PolicyNames::usual(&params)?;
        let parity_pages = find_parity(&mut nand, &params)?;
        Superblock {
            uuid,
            label: String::new(),
            policies,
            parity_pages,
            fsync_protection: FsyncProtection::AtClose,
            compression: find_packing(&mut nand, &params, parity_pages)?,
            endurance: None,
            read_only: false,
        }
    };
    let heads = superblock.policies.heads(&params);
    let params = superblock.params(params)?;
    let mut flash = Flash::new(nand, &params);
    let has_anchor = roots.is_some();
    let roots = match roots {
        Some(mut roots) => {
            roots.find_record(&mut flash.medium, params.shape).map_err(device)?;
            roots
        }
        None => Roots::blank(params.shape, superblock.anchor(geometry)).ok_or(pumice_vfs::Errno::Invalid)?,
    };
    let log = Log::new(flash, params, heads.into());
    let mut volume = Volume::empty(log, params, superblock, roots, Box::new(move || now), CACHE)?;
    volume.read_only = true;
    Ok((volume, has_anchor))
}

/// How many parity pages the erase blocks of a chip without anchors have: pages prove themselves with that number alone. The
/// first page of each block is read until one does.
fn find_parity(nand: &mut (dyn Nand + Send), params: &Params) -> Result<u8> {
    let possible: Vec<(u8, Params)> =
        (0..=u8::MAX).map_while(|parity| Some((parity, params.with_parity(parity).ok()?))).collect();
    for block in ANCHOR_BLOCKS..params.blocks {
        for (parity, params) in &possible {
            let page = params.page(block, 0);
            if Medium::new(AnyChip::lend(&mut *nand), params.shape)
                .read_proved(page)
                .map_err(device)?
                .is_some()
            {
                return Ok(*parity);
            }
        }
    }
    Ok(0)
}

/// Whether blocks of files may be compressed on a chip without anchors: the first node that is found tells it. How new ones
/// were, nobody knows.
fn find_packing(nand: &mut (dyn Nand + Send), params: &Params, parity: u8) -> Result<Option<Compression>> {
    let params = params.with_parity(parity)?;
    let mut medium = Medium::new(AnyChip::lend(&mut *nand), params.shape);
    for page in params.page(ANCHOR_BLOCKS, 0)..params.pages() {
        let Some(found) = medium.read_proved(page).map_err(device)? else { continue };
        let Some(tag) = Tag::of(&found, &params.tags) else { continue };
        let node = tag.chunks().find(|(_, desc)| desc.kind == ChunkKind::Node);
        if let Some(bytes) = node.and_then(|(offset, _)| found.payload.get(usize::from(offset)..)) {
            return Ok(Node::tells_packing(bytes).then_some(Compression::None));
        }
    }
    Ok(None)
}

impl Repair<'_> {
    /// Every node of the node table; where that cannot be read, the newest ones that the tags tell of.
    fn find_nodes(&mut self, is_known: bool) -> Result<()> {
        let mut lost = Vec::new();
        if is_known {
            for nid in 1..self.volume.nodes.end() {
                match self.volume.nodes.addr(&mut self.volume.log, nid) {
                    Ok(addr) if addr.is_stored() || self.volume.nodes.has(nid) => {
                        self.nodes.insert(nid, addr);
                    }
                    Ok(_) => {}
                    Err(_) => lost.push(nid),
                }
                if nid % 4096 == 0 {
                    self.volume.trim();
                }
            }
            if lost.is_empty() {
                return Ok(());
            }
            let text =
                format!("pages of the node table cannot be read: {} ids rebuilt from tags", lost.len());
            self.tell("table-page", text);
        }
        let scan = Scan::of(&mut self.volume)?;
        if !is_known && scan.nodes.is_empty() {
            let text = "no page of the chip holds a node: there is no pumice file system to be found";
            return Err(Damage::Root(text).into());
        }
        let in_table = |nid: &u32| is_known && lost.binary_search(nid).is_err();
        let rebuilt = scan.nodes.iter().filter(|(nid, _)| !in_table(nid));
        self.nodes.extend(rebuilt.map(|(nid, node)| (*nid, node.addr)));
        self.volume.log.seq = self.volume.log.seq.max(scan.seq + SEQ_GAP);
        for (nid, addr) in &self.nodes {
            self.volume.nodes.ids.avoid(*nid);
            self.volume.nodes.set_addr(*nid, *addr);
        }
        let sure: Vec<u32> = self.nodes.keys().copied().filter(in_table).collect();
        self.volume.replay_writes(&scan);
        self.volume.replay_attributes(&scan);
        for nid in self.volume.nodes.dirty_nids(None) {
            self.nodes.entry(nid).or_insert(Addr::NONE);
        }
        self.scan = Some(scan.without(&sure));
        Ok(())
    }
}
