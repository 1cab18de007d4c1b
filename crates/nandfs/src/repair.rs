//! Repair: everything readable is put in order again, and the rest is given up by name.
//!
//! The nodes are those of the node table as far as it can be read. Where it cannot, and where no checkpoint is left,
//! they are found by the tags of all pages. From the root down, damaged parts are cut off; a node without its name gets
//! it back from its inode, or one in `lost+found`. Then both tables are counted anew and a checkpoint is made.
//!
//! All of it happens in memory, and is written to blocks that the volume does not need: until the checkpoint is there,
//! the volume is as before, and can be repaired again.

mod absent;
mod before;
mod copies;
mod names;
mod retell;
mod scan;
mod tables;
#[cfg(test)]
mod tests;
mod told;
mod tree;
mod work;

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec, vec::Vec};

use pumice_flashlog::{Medium, Roots, find_records};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Errno, Finding, FsError, Result, Timestamp};

use crate::addr::Addr;
use crate::blocks::State;
use crate::checkpoint_record::{Checkpoint, Fence};
use crate::error::{Damage, device};
use crate::mount::{load, params_of};
use crate::names::{NameRecord, Names};
use crate::node::Node;
use crate::options::{MountOptions, RepairOptions};
use crate::pack::Compression;
use crate::pages::{META, Pages};
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::placing::PolicyNames;
use crate::repair::before::Before;
use crate::repair::copies::{find_copies, find_protection};
use crate::repair::scan::Scan;
use crate::repair::work::{Repair, Tree};
use crate::superblock::{MAGIC, Superblock};
use crate::tag::{ChunkKind, Tag, desc};
use crate::volume::Volume;

/// Memory for cached nodes and tables, in bytes.
const CACHE: usize = 16 << 20;

/// Sequence numbers that anchors and records may have taken behind the last page that can be read.
const SEQ_GAP: u64 = 1 << 20;

/// Repairs the volume on a chip; returns the repairs made, or only found.
pub(crate) fn repair(mut nand: AnyChip<'_>, options: RepairOptions) -> Result<(AnyChip<'_>, Vec<Finding>)> {
    let (now, is_dry) = (options.now, options.dry_run);
    let mount = MountOptions { read_only: true, cache_bytes: CACHE, clock: Box::new(move || now) };
    let mended = match load(AnyChip::lend(&mut nand), mount) {
        Ok((volume, checkpoint)) => Some(of_checkpoint(volume, &checkpoint, is_dry)?.mend(is_dry)?),
        Err(_) => None,
    };
    let found = match mended {
        Some(found) => found,
        None => of_tags(AnyChip::lend(&mut nand), &options)?.mend(is_dry)?,
    };
    Ok((nand, found))
}

/// A volume with a readable checkpoint.
fn of_checkpoint<'c>(mut volume: Volume<'c>, checkpoint: &Checkpoint, is_dry: bool) -> Result<Repair<'c>> {
    let (fence, blocks) = (checkpoint.fence(), volume.log.params.blocks);
    let mut before = Before::of(fence, blocks, |block| is_needed(&mut volume, fence, block))?;
    let (mut found, mut unguarded) = (Vec::new(), Vec::new());
    if !volume.log.recorded.is_clean() {
        unguarded = volume.files.recover(&mut volume.log, checkpoint)?;
        before.follow(volume.log.pages.window());
        found.extend(
            volume.files.losses().into_iter().map(|(_, detail)| Finding { code: "recovery", detail }),
        );
        volume.files.nodes.give_up_lost();
    } else if !is_dry {
        volume.log.blocks.renew();
        volume.mark_in_use()?;
    }
    Ok(Repair { found, before, unguarded, ..Repair::of(volume) })
}

/// True if a volume that was loaded and not yet recovered needs a page of a block. It needs none of a repair that was
/// cut.
fn is_needed(volume: &mut Volume<'_>, fence: Fence<'_>, block: u32) -> Result<bool> {
    let is_used = match volume.log.usage(block) {
        Ok(usage) => !(usage.is_free() || (usage.state == State::Used && usage.valid == 0)),
        Err(_) => holds_any(volume, block, |volume, tag| {
            tag.chunks().any(|(_, desc)| volume.log.live(&mut volume.files, &desc).is_ok_and(Addr::is_stored))
        })?,
    };
    let is_new = |_: &mut Volume<'_>, tag: &Tag| tag.seq >= fence.seq && !tag.log.is_aside();
    Ok(is_used || fence.window.iter().any(|spare| spare.block == block) && holds_any(volume, block, is_new)?)
}

/// True if the predicate holds for any page of a block that proves itself.
fn holds_any<'c>(
    volume: &mut Volume<'c>,
    block: u32,
    mut is_it: impl FnMut(&mut Volume<'c>, &Tag) -> bool,
) -> Result<bool> {
    for index in 0..volume.log.params.pages_per_block {
        let page = volume.log.params.page(block, index);
        let found = volume.log.pages.medium_mut().read_proved(page).map_err(device)?;
        let tag = found.and_then(|found| Tag::of(&found, &volume.log.params.tags));
        if tag.is_some_and(|tag| is_it(volume, &tag)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A volume without roots.
fn of_tags<'c>(nand: AnyChip<'c>, options: &RepairOptions) -> Result<Repair<'c>> {
    let detail = "no checkpoint can be read: rebuilt from the tags of all pages".into();
    let (mut volume, has_anchor) = blank(nand, options.uuid, options.now)?;
    let params = volume.log.params;
    find_copies(&mut volume.log.pages, &params)?;
    let found = vec![Finding { code: "roots", detail }];
    Ok(Repair { found, rehash: !has_anchor, ..Repair::of(volume) })
}

/// A volume with nothing known, but for its anchor if that is there.
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
            fsync_protection: find_protection(&mut nand, &params, parity_pages)?,
            compression: find_packing(&mut nand, &params, parity_pages)?,
            endurance: None,
            read_only: false,
        }
    };
    let heads = superblock.policies.heads(&params);
    let params = superblock.params(params)?;
    let mut medium = Medium::new(nand, params.shape);
    let has_anchor = roots.is_some();
    let roots = match roots {
        Some(mut roots) => {
            roots.find_record(&mut medium, params.shape).map_err(device)?;
            roots
        }
        None => Roots::blank(params.shape, superblock.anchor(geometry)).ok_or(pumice_vfs::Errno::Invalid)?,
    };
    let log = Pages::new(medium, params, heads.into());
    let mut volume = Volume::empty(log, params, superblock, roots, Box::new(move || now), CACHE)?;
    volume.log.status.set_read_only(true);
    Ok((volume, has_anchor))
}

/// The number of parity pages in the erase blocks of a chip without anchors: pages prove themselves with that number
/// alone. The first page of each block is read until one does.
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

/// Whether blocks of files may be compressed on a chip without anchors, by the first node that is found. The method for
/// new ones is lost.
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

impl<'c> Repair<'c> {
    /// A repair that has found nothing yet.
    fn of(Volume { log, files, .. }: Volume<'c>) -> Repair<'c> {
        Repair {
            live: vec![0; log.params.blocks as usize],
            log,
            files,
            nodes: BTreeMap::new(),
            scan: None,
            tree: Tree::default(),
            found: Vec::new(),
            mapped: 0,
            rehash: false,
            before: Before::default(),
            unguarded: Vec::new(),
        }
    }

    /// Repairs; returns the repairs made, or only found.
    fn mend(mut self, is_dry: bool) -> Result<Vec<Finding>> {
        self.find_nodes()?;
        self.walk()?;
        self.adopt_all()?;
        self.count_blocks()?;
        self.mend_names()?;
        let Repair { log, files, found, .. } = self;
        if !is_dry {
            write(&mut Volume { log, files, names: Names::default() })?;
        }
        Ok(found)
    }

    /// The sequence number of the newest checkpoint, if no anchor leads to its record, which the next repair has to
    /// find, too. An unreadable record named by an anchor, or behind both copies of one, was newer than any that is
    /// found.
    fn find_record(&mut self) -> Result<Option<u64>> {
        if !self.rehash {
            return Ok(None);
        }
        let found = find_records(self.log.pages.medium_mut(), |_| true).map_err(device)?;
        let newest = found.first().map(|record| record.seq);
        let copies = || found.iter().filter(|record| Some(record.seq) == newest);
        copies().for_each(|record| self.before.need(record.block));
        let has_newer = copies().count() > 1 && copies().all(|record| !record.is_last);
        Ok(newest.filter(|_| !has_newer))
    }

    /// Finds every node of the node table; if that cannot be read, the newest ones in the tags.
    fn find_nodes(&mut self) -> Result<()> {
        let is_known = self.before.seq.is_some();
        let mut lost = Vec::new();
        if is_known {
            for nid in 1..self.files.nodes.end() {
                match self.files.nodes.addr(&mut self.log.pages, nid) {
                    Ok(addr) if addr.is_stored() || self.files.nodes.has(nid) => {
                        self.nodes.insert(nid, addr);
                    }
                    Ok(_) => {}
                    Err(_) => lost.push(nid),
                }
                if nid % 4096 == 0 {
                    self.files.trim(&mut self.log);
                }
            }
            if lost.is_empty() {
                return Ok(());
            }
            let text =
                format!("pages of the node table cannot be read: {} ids rebuilt from tags", lost.len());
            self.tell("table-page", text);
        }
        let record = self.find_record()?;
        let mut scan = Scan::of(&mut self.log, self.before.seq.or(record))?;
        if record.is_some() && scan.is_outdated {
            // That record is left from an earlier checkpoint, and the newest cannot be read.
            scan = Scan::of(&mut self.log, None)?;
        }
        if !is_known && scan.nodes.is_empty() {
            let text = "no page of the chip holds a node: there is no pumice file system to be found";
            return Err(Damage::Root(text).into());
        }
        let in_table = |nid: &u32| is_known && lost.binary_search(nid).is_err();
        let rebuilt = scan.nodes.iter().filter(|(nid, _)| !in_table(nid));
        self.nodes.extend(rebuilt.map(|(nid, node)| (*nid, node.addr)));
        self.log.pages.medium_mut().number_from(scan.seq + SEQ_GAP, 0);
        for (nid, addr) in &self.nodes {
            self.files.nodes.ids.avoid(*nid);
            self.files.nodes.set_addr(*nid, *addr);
        }
        for nid in scan.outdated.iter().filter(|nid| !in_table(nid)) {
            // An unreadable one is given up by a later walk.
            let _ = self.files.nodes.touch(&mut self.log.pages, *nid);
        }
        let sure: Vec<u32> = self.nodes.keys().copied().filter(in_table).collect();
        self.files.replay_writes(&mut self.log, &scan);
        self.files.replay_attributes(&mut self.log, &scan);
        for nid in self.files.nodes.dirty_nids(None) {
            self.nodes.entry(nid).or_insert(Addr::NONE);
        }
        self.scan = Some(scan.without(&sure));
        Ok(())
    }
}

/// Writes all repairs. The record of the checkpoint makes them count: until then the volume is as before.
fn write(volume: &mut Volume<'_>) -> Result<()> {
    let (there, want) = (volume.log.pages.window().len(), volume.room().checkpoint_blocks(0) as usize);
    if there < want {
        let text = format!(
            "a repair takes {want} erase blocks that the volume needs nothing of, and there are {there}: nothing \
             was changed; copy off what can be read"
        );
        return Err(FsError::new(Errno::NoSpace, text));
    }
    volume.log.status.set_read_only(false);
    volume.log.pages.repair_epoch();
    volume.log.move_newest(&mut volume.files)?;
    volume.log.write_everything(&mut volume.files)?;
    volume.log.keep_written(&mut volume.files)?;
    // A scan of tags believes the pages of a repair once this one, which ends them, is there.
    let nothing = NameRecord::default().encode();
    volume.log.pages.append(META, desc(ChunkKind::Names, 0, 0, nothing.len()), &nothing)?;
    let now = volume.files.now();
    volume.log.program(&mut volume.files, META, Some(now))?;
    volume.checkpoint(true)
}
