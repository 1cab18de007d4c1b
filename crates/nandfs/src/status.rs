//! Whether a volume may be changed, and the end of one that may not any more.
//!
//! A chip ends once too many erase blocks are bad for the cleaner to keep moving the stored data, or all but one of those
//! for anchors. The volume becomes one for reading only, with a checkpoint that says so, while there is room for it.

use alloc::format;

use pumice_vfs::{Errno, FsError, Result};

use crate::log::Log;
use crate::params::ANCHOR_BLOCKS;

/// Whether the volume may be changed.
#[derive(Default)]
pub(crate) struct Status {
    life: Life,
    read_only: bool,
}

/// Whether the chip can still be written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    #[default]
    Lasting,
    /// Too few good blocks are left.
    Over,
    /// Likewise, and no checkpoint has what was changed since the last one.
    CutShort,
}

impl Status {
    /// That of a volume whose chip may have worn out.
    pub(crate) fn of(worn_out: bool, read_only: bool) -> Status {
        let life = if worn_out { Life::Over } else { Life::Lasting };
        Status { life, read_only: read_only || worn_out }
    }

    /// True if no call may change it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Too few good blocks are left.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.life != Life::Lasting
    }

    /// No checkpoint has what was changed since the last one, and none follows.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.life == Life::CutShort
    }

    /// The next checkpoint says that the chip has worn out.
    pub(crate) fn wear_out(&mut self) {
        self.life = Life::Over;
    }

    /// That checkpoint was written, or could not be.
    pub(crate) fn end(&mut self, written: bool) {
        *self = Status { life: if written { Life::Over } else { Life::CutShort }, read_only: true };
    }

    /// Has a repair look at a volume before it changes it.
    pub(crate) fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }
}

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
            self.status.read_only = true;
        }
    }

    /// Ends the volume's life with no room for a checkpoint that says so: the last good block of anchors is full.
    pub(crate) fn end_unwritten(&mut self) -> FsError {
        self.status = Status { life: Life::CutShort, read_only: true };
        self.worn_out_error()
    }
}
