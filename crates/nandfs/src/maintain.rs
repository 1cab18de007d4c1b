//! Work that can wait for idle time, and inodes without a name: they go once nobody holds them.

use pumice_vfs::Result;

use crate::moving::Supply;
use crate::volume::Volume;

/// Reclaimed blocks for which idle time makes a checkpoint.
const DYING_SAVED: usize = 2;

impl Volume<'_> {
    /// Ends a hold; an inode without a name goes with its last.
    pub(crate) fn release_node(&mut self, ino: u32) -> Result<()> {
        if self.files.end_hold(&mut self.log, ino)? {
            self.begin()?;
            self.files.drop_orphan(&mut self.log, ino)?;
        }
        Ok(())
    }

    /// Takes away one inode that lost its last name before the last mount; true if there may be more.
    pub(crate) fn reap_orphan(&mut self) -> Result<bool> {
        let Some(ino) = self.files.next_orphan(&mut self.log)? else { return Ok(false) };
        self.begin()?;
        self.files.drop_orphan(&mut self.log, ino)?;
        Ok(true)
    }

    /// Work that can wait; true if more is left.
    pub(crate) fn maintain_some(&mut self) -> Result<bool> {
        if self.log.status.is_read_only() || self.room().host_room()? == Some(0) {
            return Ok(false);
        }
        if self.log.recorded.aftermath().is_some() {
            return self.settle().map(|()| true);
        }
        // A clean checkpoint is true as long as nothing is touched; decaying blocks must be touched.
        if !self.log.recorded.is_clean() && self.tidy_up()? {
            return Ok(true);
        }
        self.patrol_some()
    }

    /// Prepares for the next calls of users; true if more is left.
    fn tidy_up(&mut self) -> Result<bool> {
        if self.log.pages.erase_ahead(self.log.pages.own_blocks(), 0)? {
            self.log.apply_events(&mut self.files)?;
            return Ok(true);
        }
        if self.reap_orphan()? {
            return Ok(true);
        }
        if self.room().supply() < self.room().idle_stock() {
            self.make_room(0)?;
            return self.log.clean_one(&mut self.files, Supply::Ample);
        }
        // Reclaimed blocks become free at the next checkpoint.
        if self.log.blocks.dying().len() >= DYING_SAVED
            && self.log.pages.window().len() < self.log.reach.window_most() / 2
        {
            self.make_room(0)?;
            self.checkpoint(false)?;
            return Ok(true);
        }
        Ok(false)
    }
}
