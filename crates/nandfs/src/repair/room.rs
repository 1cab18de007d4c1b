//! Where a repair may write: what the volume was before must be there until the repair is done, or the next one would find
//! less if the power goes.
//!
//! Its pages are of a log of their own. Recovery passes over them; a scan of tags believes them once a page that ends
//! them is there, or a later page of another log.

use alloc::{collections::BTreeSet, format, vec::Vec};

use pumice_vfs::{Errno, FsError, Result};

use super::scan::Scan;
use super::work::Repair;
use crate::addr::Addr;
use crate::blocks::State;
use crate::checkpoint_record::Checkpoint;
use crate::error::device;
use crate::log::META;
use crate::names::NameRecord;
use crate::params::ANCHOR_BLOCKS;
use crate::tag::{ChunkKind, Tag, desc};
use crate::volume::Volume;

/// The erase blocks of a volume as its checkpoint tells them.
#[derive(Default)]
pub(super) struct Before {
    /// The sequence number of the checkpoint, if there is one.
    pub(super) seq: Option<u64>,
    /// Those that it needs.
    needed: BTreeSet<u32>,
    /// Its window: recovery looks there, so a repair begins there.
    window: Vec<u32>,
}

impl Before {
    /// Of a volume that was loaded and not yet recovered.
    pub(super) fn of(volume: &mut Volume<'_>, checkpoint: &Checkpoint) -> Result<Before> {
        let window: Vec<u32> = checkpoint.window.iter().map(|spare| spare.block).collect();
        let mut needed: BTreeSet<u32> = checkpoint.heads.iter().flatten().map(|(block, _)| *block).collect();
        for block in ANCHOR_BLOCKS..volume.params.blocks {
            let is_needed = match volume.blocks.get(&mut volume.log, block) {
                Ok(usage) => !(usage.is_free() || (usage.state == State::Used && usage.valid == 0)),
                Err(_) => volume.holds_any(block, |volume, tag| {
                    tag.chunks().any(|(_, desc)| volume.live(&desc).is_ok_and(Addr::is_stored))
                })?,
            };
            if is_needed {
                needed.insert(block);
            }
        }
        for block in &window {
            let is_new = |_: &mut Volume<'_>, tag: &Tag| tag.seq >= checkpoint.seq && !tag.log.is_aside();
            if volume.holds_any(*block, is_new)? {
                needed.insert(*block);
            }
        }
        Ok(Before { seq: Some(checkpoint.seq), needed, window })
    }
}

impl Volume<'_> {
    /// True if this is true of any page of a block that proves itself.
    fn holds_any(&mut self, block: u32, mut is_it: impl FnMut(&mut Self, &Tag) -> bool) -> Result<bool> {
        for index in 0..self.params.pages_per_block {
            let page = self.params.page(block, index);
            let found = self.log.flash.medium.read_proved(page).map_err(device)?;
            let tag = found.and_then(|found| Tag::of(&found, &self.params.tags));
            if tag.is_some_and(|tag| is_it(self, &tag)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Says that all nodes of a repair are on the chip.
    pub(super) fn end_repair(&mut self) -> Result<()> {
        self.write_everything()?;
        self.keep_written()?;
        let nothing = NameRecord::default().encode();
        self.log.append(META, desc(ChunkKind::Names, 0, 0, nothing.len()), &nothing)?;
        let now = self.now();
        self.program(META, Some(now))
    }
}

impl Repair<'_> {
    /// The free blocks that a repair may take, in the order in which it does.
    pub(super) fn order(&self, free: &[u32]) -> Vec<u32> {
        let told: BTreeSet<u32> =
            self.scan.iter().flat_map(Scan::needed).map(|page| self.volume.params.block_of(page)).collect();
        let may = |block: &&u32| !self.before.needed.contains(*block) && !told.contains(*block);
        let first = self.before.window.iter().filter(|block| free.contains(block));
        let rest = free.iter().filter(|block| !self.before.window.contains(block));
        first.chain(rest).filter(may).copied().collect()
    }

    /// Writes all that was mended. The record of the checkpoint makes it count: until then the volume is what it was.
    pub(super) fn write(&mut self) -> Result<()> {
        let volume = &mut self.volume;
        let (there, want) = (volume.log.window.len(), volume.checkpoint_blocks(0) as usize);
        if there < want {
            let text = format!(
                "a repair takes {want} erase blocks that the volume needs nothing of, and there are {there}: nothing \
                 was changed; copy off what can be read"
            );
            return Err(FsError::new(Errno::NoSpace, text));
        }
        volume.read_only = false;
        volume.log.repair_epoch();
        volume.move_newest()?;
        volume.end_repair()?;
        volume.checkpoint(true)
    }
}
