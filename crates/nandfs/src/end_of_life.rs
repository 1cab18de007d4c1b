//! The end of a chip: once so many erase blocks are bad that what is stored could not be kept moving, the volume becomes
//! one for reading only, with a checkpoint that says so, while there is still room for it.

use alloc::format;

use pumice_vfs::{Errno, FsError, Result};

use crate::volume::Volume;

impl Volume<'_> {
    /// Fails if the volume may not be changed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match (self.worn_out, self.read_only) {
            (true, _) => Err(self.worn_out_error()),
            (false, true) => Err(Errno::ReadOnly.into()),
            (false, false) => Ok(()),
        }
    }

    fn worn_out_error(&self) -> FsError {
        let text = format!(
            "the chip is worn out: {} of {} erase blocks are bad, and the volume can only be read",
            self.blocks.bad, self.params.blocks
        );
        FsError::new(Errno::ReadOnly, text)
    }

    /// Fails if the life ended before what waited could be written.
    pub(crate) fn check_end(&self) -> Result<()> {
        if self.worn_out && self.has_changes() { Err(self.worn_out_error()) } else { Ok(()) }
    }

    /// Before a change: ends the volume's life if the blocks that are good do not suffice any more.
    pub(crate) fn check_life(&mut self) -> Result<()> {
        if self.is_at_end() { self.end_life() } else { Ok(()) }
    }

    /// Writes what waits, says in a checkpoint that it is the last, and fails.
    fn end_life(&mut self) -> Result<()> {
        if self.clean {
            self.mark_in_use()?;
        }
        self.worn_out = true;
        let done = self.checkpoint(true);
        self.read_only = true;
        done?;
        Err(self.worn_out_error())
    }
}
