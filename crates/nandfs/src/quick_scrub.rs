//! The quick scrub: finds blocks with parity that does not fit them, by the signatures in the spare areas alone (RCFFS,
//! 3.2).

use pumice_flashlog::Rounds;
use pumice_vfs::{Errno, FsError, Result};

use crate::error::device;
use crate::log::Log;
use crate::options::Scrubbed;
use crate::params::ANCHOR_BLOCKS;
use crate::volume::Volume;

/// Erase blocks that one call looks at.
const BLOCKS: u32 = 8;

impl Log<'_> {
    /// Fails without signatures to look at.
    pub(crate) fn admit_quick_scrub(&self) -> Result<()> {
        let shape = self.params.shape;
        match (shape.parity(), shape.has_signatures()) {
            (_, true) => Ok(()),
            (0, _) => refuse("the volume has no parity pages"),
            _ => refuse("the spare areas of this chip have no room for signatures"),
        }
    }
}

impl Volume<'_> {
    /// Looks at some blocks from this one on, anchors left out, and has those with missing or wrong parity moved,
    /// unless the volume is mounted for reading only. Returns the next block, and the end.
    pub(crate) fn quick_scrub_some(&mut self, from: u32, found: &mut Scrubbed) -> Result<(u32, u32)> {
        let end = self.log.params.blocks;
        let Rounds { moved_blocks: moved, .. } = self.log.patrol.rounds();
        let shape = self.log.params.shape;
        let next = from + BLOCKS.min(end - from);
        for block in from.max(ANCHOR_BLOCKS)..next {
            if self.log.pages.is_open(block) || !self.log.is_patrolled(block) {
                continue;
            }
            found.spare_areas += u64::from(shape.pages() + shape.parity());
            if !self.log.pages.medium_mut().has_fitting_signatures(block).map_err(device)? {
                self.log.pages.medium_mut().call_tired(block);
            }
        }
        if self.log.status.is_read_only() {
            while self.log.pages.medium_mut().take_tired().is_some() {
                found.weak_blocks += 1;
            }
        } else {
            while self.log.pages.medium().has_tired() && self.mend_one()? {}
        }
        found.weak_blocks += self.log.patrol.rounds().moved_blocks - moved;
        Ok((next, end))
    }
}

fn refuse(why: &str) -> Result<()> {
    let text = alloc::format!("{why}: only a full scrub can be made");
    Err(FsError::new(Errno::NotSupported, text))
}
