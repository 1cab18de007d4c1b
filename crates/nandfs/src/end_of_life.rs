//! The end of a volume that may not be changed any more.
//!
//! A chip ends once too many erase blocks are bad for the cleaner to keep moving the stored data, or all but one of those
//! for anchors. The volume becomes one for reading only, with a checkpoint that says so, while there is room for it.

use alloc::format;

use pumice_vfs::{Errno, FsError, Result};

use crate::log::Log;
use crate::params::ANCHOR_BLOCKS;

impl Log<'_> {
    /// Fails if the volume may not be changed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match (self.blocks.lost(), self.status.is_read_only()) {
            _ if self.status.is_worn_out() => Err(self.worn_out_error()),
            (Some(why), _) => Err(FsError::new(Errno::ReadOnly, why.into())),
            (None, true) => Err(Errno::ReadOnly.into()),
            (None, false) => Ok(()),
        }
    }

    pub(crate) fn worn_out_error(&self) -> FsError {
        let why = match self.roots.are_at_last_block() {
            true => format!("all but one of the first {ANCHOR_BLOCKS} erase blocks"),
            false => format!("{} of {} erase blocks", self.blocks.bad(), self.params.blocks),
        };
        let text = format!("the chip is worn out: {why} are bad, and the volume can only be read");
        FsError::new(Errno::ReadOnly, text)
    }

    /// Stops writes after a call once the free blocks are not known any more.
    pub(crate) fn end_if_lost(&mut self) {
        if self.blocks.lost().is_some() {
            self.status.set_read_only(true);
        }
    }

    /// Ends the volume's life with no room for a checkpoint that says so: the last good block of anchors is full.
    pub(crate) fn end_unwritten(&mut self) -> FsError {
        self.status.end(false);
        self.worn_out_error()
    }
}
