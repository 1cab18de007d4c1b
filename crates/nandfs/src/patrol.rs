//! The patrol: flash decays, so all live data is read in full within a set time, and blocks near the limit of ECC, or
//! read too often, are moved.
//!
//! A pass goes through the chip from its first block to its last, as fast as the clock wants it; the roots come first.
//! A spare area proves nothing about its page, so pages are read whole. The place of the pass stands in each
//! checkpoint, so that it goes on after a remount. It stops while there is something to move: the blocks behind it need
//! nothing any more.

use pumice_flashlog::{Fault, READS_MOST, Rounds};
use pumice_vfs::Result;

use crate::blocks::State;
use crate::error::device;
use crate::files::Files;
use crate::log::Log;
use crate::options::Scrubbed;
use crate::params::ANCHOR_BLOCKS;
use crate::volume::Volume;

/// Log pages that one call reads at the most.
const PAGES: u32 = 32;
/// Erase blocks with nothing in them that one call passes at the most.
const BLOCKS: u32 = 256;

impl Log<'_> {
    /// True if blocks may wait to be moved, or reads to be charged.
    fn has_weak(&self) -> bool {
        self.is_relieving() || self.pages.medium().has_tired() || self.pages.medium().has_samples()
    }

    /// True if the newest checkpoint has another place.
    pub(crate) fn is_patrol_unsaved(&self) -> bool {
        self.patrol.unsaved_pages() > 0
    }

    /// Has a block moved by the patrol, if need be by that of a later mount.
    pub(crate) fn distrust(&mut self, block: u32) -> Result<()> {
        if self.usage(block)?.state == State::Used {
            self.update(block, |usage| usage.reads = READS_MOST)?;
        }
        Ok(())
    }

    /// Charges reads to their blocks; a block that was read too often is to be moved.
    fn charge_reads(&mut self) -> Result<()> {
        for block in self.pages.medium_mut().take_samples() {
            let usage = self.usage(block)?;
            if usage.state != State::Used {
                continue;
            }
            let usage = self.update(block, |usage| {
                usage.reads = usage.reads.saturating_add(1).min(READS_MOST);
            })?;
            if usage.reads == READS_MOST {
                self.pages.medium_mut().call_tired(block);
            }
        }
        Ok(())
    }

    /// True if a block holds something. The roots' own are looked at apart.
    pub(crate) fn is_patrolled(&mut self, block: u32) -> bool {
        // Blocks on an unreadable page of the table are unknown: they are read, too.
        let Ok(usage) = self.usage(block) else { return true };
        let holds = matches!(usage.state, State::Used | State::Failing) && usage.valid > 0;
        if holds && usage.reads == READS_MOST {
            self.pages.medium_mut().call_tired(block);
        }
        holds && !self.roots.holds(block)
    }

    /// Reads the patrol's next page; true if nothing follows in its block.
    fn patrol_page(&mut self, block: u32, found: &mut Scrubbed) -> Result<bool> {
        let page = self.patrol.rounds().page;
        match self.pages.medium_mut().read_anew(page) {
            Ok(_) => found.pages += 1,
            Err(Fault::Erased(_)) => {
                let index = self.params.shape.index_of(page);
                return Ok(self.pages.next_programmed(block, index)?.is_none());
            }
            Err(Fault::Chip(error)) => return Err(device(error)),
            Err(Fault::Unreadable(_) | Fault::Unproved(_)) => {
                found.pages += 1;
                found.unreadable.push(page);
            }
        }
        Ok(page + 1 == self.params.page(block + 1, 0))
    }

    /// Reads the parity of a block that is not filled any more; if some is missing, the block is to be moved.
    fn patrol_parity(&mut self, block: u32) -> Result<()> {
        let may_hold = self.params.shape.parity() > 0 && !self.pages.is_open(block);
        if may_hold
            && self.is_patrolled(block)
            && !self.pages.medium_mut().has_parity(block).map_err(device)?
        {
            self.pages.medium_mut().call_tired(block);
        }
        Ok(())
    }

    /// Counts the live bytes of a block's unreadable pages: those that its other pages do not hold.
    fn count_lost(&mut self, files: &mut Files, block: u32, found: &mut Scrubbed) {
        if found.unreadable.last().is_none_or(|page| self.params.block_of(*page) != block) {
            return;
        }
        let chunks = self.live_chunks(files, block, true);
        let mut read = 0;
        for (addr, desc) in chunks {
            // A chunk may go on in a page that is lost.
            if self.pages.read(addr, &desc, |_| ()).is_ok() {
                read += u64::from(addr.len);
            }
        }
        // Blocks on an unreadable page of the table are unknown.
        let valid = self.usage(block).map_or(0, |usage| usage.valid);
        found.lost_bytes += u64::from(valid).saturating_sub(read);
    }
}

impl Volume<'_> {
    /// Moves a weak block; false if there is none.
    pub(crate) fn mend_one(&mut self) -> Result<bool> {
        if !self.log.has_weak() {
            return Ok(false);
        }
        self.mark_in_use()?;
        self.log.charge_reads()?;
        self.make_room(0)?;
        self.log.relieve_one(&mut self.files)?;
        Ok(true)
    }

    /// Does the piece of the patrol that is due; true if more is left.
    pub(crate) fn patrol_some(&mut self) -> Result<bool> {
        if self.mend_one()? {
            return Ok(true);
        }
        let (now, pages) = (self.files.now().seconds, self.log.params.pages());
        if !self.log.patrol.is_due(now, pages) {
            return Ok(false);
        }
        self.patrol_pages(&mut Scrubbed::default())?;
        if self.log.patrol.is_save_due(pages) {
            self.save_patrol()?;
        }
        Ok(true)
    }

    /// Makes a checkpoint for the patrol's place.
    pub(crate) fn save_patrol(&mut self) -> Result<()> {
        if self.log.recorded.is_clean() {
            return self.repeat_clean();
        }
        self.settle()?;
        self.make_room(0)?;
        self.checkpoint(false)
    }

    /// Begins a pass that is to be gone through at once.
    pub(crate) fn begin_scrub(&mut self) {
        let now = self.files.now().seconds;
        self.log.patrol.begin(now);
        if !self.log.status.is_read_only() {
            // Uncounted blocks cannot be moved.
            self.log.blocks.look(&mut self.log.pages);
        }
    }

    /// Does a piece of such a pass, which moves weak blocks unless the volume is mounted for reading only; done and
    /// all, in log pages.
    pub(crate) fn scrub_some(&mut self, found: &mut Scrubbed) -> Result<(u32, u32)> {
        let pages = self.log.params.pages();
        let Rounds { corrected_bits: bits, moved_blocks: moved, .. } = self.log.patrol.rounds();
        let rebuilt = self.log.pages.medium().rebuilt_pages();
        if self.log.status.is_read_only() {
            while self.log.pages.medium_mut().take_tired().is_some() {
                found.weak_blocks += 1;
            }
            // Reads are charged to nobody; a volume that could be written to until now counted them.
            self.log.pages.medium_mut().take_samples();
            self.patrol_pages(found)?;
        } else if !self.mend_one()? && self.log.patrol.rounds().page < pages {
            self.patrol_pages(found)?;
        }
        found.weak_blocks += self.log.patrol.rounds().moved_blocks - moved;
        self.log.patrol.count_bits(self.log.pages.medium().corrected_bits());
        found.corrected_bits += self.log.patrol.rounds().corrected_bits - bits;
        found.rebuilt_pages += self.log.pages.medium().rebuilt_pages() - rebuilt;
        let rest = u32::from(self.log.has_weak());
        let page = self.log.patrol.rounds().page;
        Ok((page - rest.min(page), pages))
    }

    /// The end of such a pass.
    pub(crate) fn end_scrub(&mut self) -> Result<()> {
        if self.log.status.is_read_only() { Ok(()) } else { self.save_patrol() }
    }

    /// Reads the next pages of the pass.
    fn patrol_pages(&mut self, found: &mut Scrubbed) -> Result<()> {
        if self.log.patrol.rounds().page == 0 {
            self.patrol_roots(found)?;
            self.log.patrol.move_to(self.log.params.page(ANCHOR_BLOCKS, 0));
        }
        let (mut read, mut passed) = (0, 0);
        while read < PAGES && passed < BLOCKS && self.log.patrol.rounds().page < self.log.params.pages() {
            let page = self.log.patrol.rounds().page;
            let block = self.log.params.block_of(page);
            let next = self.log.params.page(block + 1, 0);
            if !self.log.is_patrolled(block) || self.log.patrol_page(block, found)? {
                self.log.patrol_parity(block)?;
                self.log.count_lost(&mut self.files, block, found);
                self.log.patrol.move_to(next);
                passed += 1;
            } else {
                self.log.patrol.move_to(page + 1);
                read += 1;
            }
        }
        self.log.patrol.count_bits(self.log.pages.medium().corrected_bits());
        if self.log.patrol.rounds().page >= self.log.params.pages() {
            self.log.patrol.end_pass();
        }
        Ok(())
    }

    /// Reads anchors and records of checkpoints; weak ones are written anew.
    fn patrol_roots(&mut self, found: &mut Scrubbed) -> Result<()> {
        if self.log.roots.are_sound(self.log.pages.medium_mut()).map_err(device)? {
            return Ok(());
        }
        found.weak_roots = true;
        if self.log.status.is_read_only() {
            return Ok(());
        }
        self.mark_in_use()?;
        self.make_room(0)?;
        self.log.roots.turn_over();
        self.checkpoint(false)
    }
}
