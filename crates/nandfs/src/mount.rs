//! Format and mount.

use alloc::{boxed::Box, format, vec::Vec};

use pumice_flashlog::{Medium, Patrol, Roots, Rounds};
use pumice_media::{AnyChip, Nand};
use pumice_vfs::{Errno, FsError, Result};

use crate::blocks::State;
use crate::checkpoint_record::Checkpoint;
use crate::error::{Damage, device};
use crate::ids::Ids;
use crate::log::Log;
use crate::memory;
use crate::node::Inode;
use crate::nodes::{ORPHANS, ROOT, inode_node};
use crate::options::{FormatOptions, MountOptions, Progress};
use crate::pages::{Pages, Spare};
use crate::params::{ANCHOR_BLOCKS, Params};
use crate::placing::PolicyNames;
use crate::recorded::Aftermath;
use crate::status::Status;
use crate::superblock::{LABEL_MAX, MAGIC, Superblock};
use crate::volume::Volume;

pub(crate) fn params_of(nand: &dyn Nand) -> Result<Params> {
    let geometry = nand.geometry();
    let params = Params::of(&geometry).map(|params| params.with_pairing(nand.pairing()));
    params.ok_or_else(|| {
        let text = format!(
            "a chip of {} blocks of {} pages of {} bytes is too small for a file system",
            geometry.blocks, geometry.pages_per_block, geometry.page_bytes
        );
        FsError::new(Errno::Invalid, text)
    })
}

/// True if the chip carries this file system.
pub(crate) fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    Ok(Roots::find(nand, MAGIC).map_err(device)?.is_some())
}

/// Makes an empty file system.
pub(crate) fn format(
    nand: &mut (dyn Nand + Send),
    options: &FormatOptions,
    progress: Progress<'_>,
) -> Result<()> {
    let params = params_of(nand)?;
    if options.label.len() > LABEL_MAX {
        let text = format!("the label has {} bytes, at most {LABEL_MAX} fit", options.label.len());
        return Err(FsError::new(Errno::Invalid, text));
    }
    let usual = PolicyNames::usual(&params)?;
    let policies = PolicyNames {
        victim: options.victim.unwrap_or(usual.victim),
        placement: options.placement.unwrap_or(usual.placement),
        wear: options.wear.unwrap_or(usual.wear),
    };
    let endurance = options.endurance;
    policies.check(&params, endurance)?;
    let superblock = Superblock {
        uuid: options.uuid,
        label: options.label.clone(),
        policies,
        parity_pages: options.parity_pages,
        fsync_protection: options.fsync_protection,
        compression: options.compression,
        endurance,
        read_only: false,
    };
    if let Some(compression) = options.compression {
        compression.check()?;
    }
    let heads = policies.heads(&params);
    let params = superblock.params(params)?;
    let roots = Roots::blank(params.shape, superblock.anchor(nand.geometry())).ok_or(Errno::Invalid)?;
    let log = Pages::new(Medium::new(AnyChip::lend(nand), params.shape), params, heads.into());
    let clock = Box::new(pumice_vfs::Timestamp::default);
    let mut volume = Volume::empty(log, params, superblock, roots, clock, memory::least(&params))?;
    let rounds = Rounds { began: options.created.seconds, ..Rounds::default() };
    volume.log.patrol = Patrol::resume(rounds);
    volume.log.prepare_blocks(options.erased, progress)?;
    for (nid, nlink, perm) in [(ROOT, 2, 0o755), (ORPHANS, 2, 0)] {
        let directory = Inode::directory(nid, perm, nlink, options.created).owned_by(options.owner);
        volume.files.nodes.add_at(nid, inode_node(directory));
    }
    // The first blocks are taken before any checkpoint names a window: nothing can be lost yet.
    volume.first_checkpoint()
}

/// Blocks of the first window, at the most, besides those for the table of blocks.
const FIRST_WINDOW: usize = 32;
/// Good blocks that anchors need: a single one is never erased, and is the end of a chip.
const ANCHORS_LEAST: u32 = 2;

impl Log<'_> {
    /// Finds the bad blocks, erases the rest, and opens a first window: bad blocks all over a chip change every page of
    /// the table of blocks, and all of these are written at once.
    fn prepare_blocks(&mut self, erased: bool, progress: Progress<'_>) -> Result<()> {
        let blocks = self.params.blocks;
        let (mut good, mut anchors, mut table_pages, mut leaf) = (0, 0, 0, None);
        let mut window = Vec::new();
        self.blocks.begin();
        for block in 0..blocks {
            if block % 256 == 0 {
                progress(block.into(), blocks.into());
            }
            let bad = self.pages.is_bad(block)? || !(erased || self.pages.erase(block)?);
            while self.pages.next_event().is_some() {}
            let state = match (bad, block < ANCHOR_BLOCKS) {
                (true, _) => State::Bad,
                (false, true) => State::Anchor,
                (false, false) => State::Erased,
            };
            anchors += u32::from(state == State::Anchor);
            if state == State::Erased {
                good += 1;
                let tables = (table_pages / self.params.pages_per_block) as usize;
                if window.len() < self.reach.window_most().min(FIRST_WINDOW) + tables {
                    window.push(Spare { block, erased: true });
                }
                continue;
            }
            let own = Some(block / self.blocks.table.per_leaf());
            table_pages += u32::from(core::mem::replace(&mut leaf, own) != own);
            self.update(block, |usage| usage.state = state)?;
        }
        self.pages.set_window(window);
        progress(blocks.into(), blocks.into());
        if good < 32 {
            return Err(FsError::new(
                Errno::Invalid,
                format!("only {good} good blocks: too few for a file system"),
            ));
        }
        if anchors < ANCHORS_LEAST {
            let text =
                format!("only {anchors} of the first {ANCHOR_BLOCKS} blocks are good: too few for anchors");
            return Err(FsError::new(Errno::Invalid, text));
        }
        Ok(())
    }

    /// Has blocks moved if their only parity is in copies from before the mount.
    pub(crate) fn call_guarded(&mut self) {
        for block in self.pages.guarded() {
            self.pages.medium_mut().call_tired(block);
        }
    }
}

/// Mounts, and writes nothing: what a power cut has left is made safe before the first change.
pub(crate) fn mount(nand: AnyChip<'_>, options: MountOptions) -> Result<Volume<'_>> {
    let (mut volume, checkpoint) = load(nand, options)?;
    if !volume.log.status.is_read_only() {
        // Blocks stored without the method would count as ones that do not compress.
        volume.files.packer.usual.check()?;
    }
    if !volume.log.status.is_read_only() && !checkpoint.may_be_written(&volume.log.roots) {
        return Err(Damage::Root(
            "the checkpoint contradicts itself: check the volume, or mount it read-only",
        )
        .into());
    }
    if volume.log.recorded.is_clean() {
        // A copy that is missing is soon written again: the other alone would be one page to lose.
        if !volume.log.roots.is_whole() {
            volume.log.recorded.set_aftermath(Aftermath::default());
        }
        volume.log.call_guarded();
        return Ok(volume);
    }
    let without_parity = volume.files.recover(&mut volume.log, &checkpoint)?;
    if !volume.log.status.is_read_only()
        && let Some((_, first)) = volume.files.losses().first()
    {
        let text = format!("{first}: mount the volume read-only, or repair it");
        return Err(FsError::new(Errno::Io, text));
    }
    let was_guarding = !checkpoint.guarded.is_empty();
    volume.log.recorded.set_aftermath(Aftermath { without_parity, was_guarding });
    Ok(volume)
}

/// The volume as of its newest checkpoint: if that is not clean, recovery has yet to follow.
pub(crate) fn load(mut nand: AnyChip<'_>, options: MountOptions) -> Result<(Volume<'_>, Checkpoint)> {
    let params = params_of(&nand)?;
    let Some(mut roots) = Roots::find(&mut nand, MAGIC).map_err(device)? else {
        return Err(Damage::Root("no anchor on the chip: it holds no pumice file system").into());
    };
    let superblock = Superblock::of(roots.anchor(), &nand.geometry(), nand.pairing())?;
    let heads = superblock.policies.heads(&params);
    let params = superblock.params(params)?;
    let mut medium = Medium::new(nand, params.shape);
    let Some(record) = roots.find_record(&mut medium, params.shape).map_err(device)? else {
        return Err(Damage::Root("no valid checkpoint in the blocks that the anchor names").into());
    };
    // An older one must not take its place: its pages may be gone.
    let checkpoint = Checkpoint::decode(&record, &params)
        .ok_or(Damage::Root("the newest checkpoint has numbers out of range"))?;
    let log = Pages::new(medium, params, heads.into());
    let least = memory::least(&params);
    if options.cache_bytes < least {
        let text = format!("a cache of {} bytes: this chip takes {least} at the least", options.cache_bytes);
        return Err(FsError::new(Errno::Invalid, text));
    }
    let budget = options.cache_bytes;
    let mut volume = Volume::empty(log, params, superblock, roots, options.clock, budget)?;
    let worn_out = checkpoint.worn_out || volume.log.roots.are_at_last_block();
    let read_only = options.read_only || volume.log.recorded.superblock().read_only;
    volume.log.status = Status::of(worn_out, read_only);
    volume.log.recorded.resume(checkpoint.number, checkpoint.clean);
    volume.files.data_blocks = checkpoint.data_blocks;
    volume.log.patrol = Patrol::resume(checkpoint.rounds);
    volume.log.pages.medium_mut().number_from(checkpoint.seq + 1, 0);
    if !volume.log.status.is_read_only() {
        volume.log.pages.medium_mut().watch_reads();
    }
    volume.files.nodes.ids = Ids::from(checkpoint.next_nid, checkpoint.number);
    volume.files.nodes.inodes = checkpoint.inodes;
    volume.files.nodes.bytes = checkpoint.node_bytes;
    (volume.files.nodes.table.roots, volume.files.nodes.table.height) = checkpoint.node_roots.clone();
    volume.files.nodes.root_inode = checkpoint.root_inode;
    volume.files.nodes.table.overlay.extend(checkpoint.node_journal.iter().copied());
    volume.log.blocks.resume(checkpoint.blocks.clone());
    (volume.log.blocks.table.roots, volume.log.blocks.table.height) = checkpoint.block_roots.clone();
    volume.log.blocks.table.overlay.extend(checkpoint.block_journal.iter().copied());
    volume.files.trim(&mut volume.log);
    volume.log.pages.set_window(checkpoint.window.iter().copied());
    volume.log.pages.guard(&checkpoint.copies, &checkpoint.guarded);
    if checkpoint.clean {
        volume.files.nodes.ids.checkpointed();
        for (head, place) in checkpoint.heads.iter().enumerate() {
            volume.log.pages.resume(head, *place);
        }
    }
    Ok((volume, checkpoint))
}
