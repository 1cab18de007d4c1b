//! The end of a volume that may not be changed any more.
//!
//! A chip ends once too many erase blocks are bad for the cleaner to keep moving the stored data, or all but one of those
//! for anchors. The volume becomes one for reading only, with a checkpoint that says so, while there is room for it.

use alloc::format;

use pumice_vfs::{Errno, FsError, Result};

use crate::log::Life;
use crate::params::ANCHOR_BLOCKS;
use crate::volume::Volume;

impl Volume<'_> {
    /// Fails if the volume may not be changed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match (self.log.blocks.lost(), self.log.status.read_only) {
            _ if self.is_worn_out() => Err(self.worn_out_error()),
            (Some(why), _) => Err(FsError::new(Errno::ReadOnly, why.into())),
            (None, true) => Err(Errno::ReadOnly.into()),
            (None, false) => Ok(()),
        }
    }

    fn worn_out_error(&self) -> FsError {
        let why = match self.log.roots.are_at_last_block() {
            true => format!("all but one of the first {ANCHOR_BLOCKS} erase blocks"),
            false => format!("{} of {} erase blocks", self.log.blocks.bad, self.log.params.blocks),
        };
        let text = format!("the chip is worn out: {why} are bad, and the volume can only be read");
        FsError::new(Errno::ReadOnly, text)
    }

    pub(crate) fn is_worn_out(&self) -> bool {
        self.log.status.life != Life::Lasting
    }

    /// Fails if waiting changes cannot be written any more.
    pub(crate) fn check_end(&self) -> Result<()> {
        match self.log.blocks.lost() {
            _ if !self.has_changes() => Ok(()),
            Some(why) => Err(FsError::new(Errno::Io, why.into())),
            None if self.log.status.life == Life::CutShort => Err(self.worn_out_error()),
            None => Ok(()),
        }
    }

    /// Stops writes after a call once the free blocks are not known any more.
    pub(crate) fn end_if_lost(&mut self) {
        self.log.status.read_only |= self.log.blocks.lost().is_some();
    }

    /// Ends the volume's life before a change if too few good blocks are left.
    pub(crate) fn check_life(&mut self) -> Result<()> {
        // Changed nodes count as large as nodes can be until they are measured.
        self.files.nodes.measure();
        if self.is_at_end() { self.end_life() } else { Ok(()) }
    }

    /// Ends the volume's life with no room for a checkpoint that says so: the last good block of anchors is full.
    pub(crate) fn end_unwritten(&mut self) -> FsError {
        (self.log.status.life, self.log.status.read_only) = (Life::CutShort, true);
        self.worn_out_error()
    }

    /// Writes waiting changes, marks the checkpoint as the last, and fails.
    fn end_life(&mut self) -> Result<()> {
        if self.log.recorded.clean {
            self.mark_in_use()?;
        }
        self.log.status.life = Life::Over;
        let done = self.checkpoint(true);
        self.log.status.read_only = true;
        if done.is_err() {
            self.log.status.life = Life::CutShort;
        }
        done?;
        Err(self.worn_out_error())
    }
}
