//! The states of a mounted volume.

use pumice_vfs::{Errno, Result};

use crate::error::damaged;

/// Whether a volume is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It is.
    Writable,
    /// The mount asked for none.
    ReadOnly,
    /// A change stopped half way: nothing in memory is written any more.
    Broken,
}

impl Mode {
    /// The mode that a mount begins in.
    pub fn new(read_only: bool) -> Mode {
        if read_only { Mode::ReadOnly } else { Mode::Writable }
    }

    /// Refuses a call that would write where nothing is written.
    pub fn writable(self) -> Result<()> {
        match self {
            Mode::Writable => Ok(()),
            Mode::ReadOnly => Err(Errno::ReadOnly.into()),
            Mode::Broken => {
                Err(damaged("an earlier write failed half way; the volume is not written to any more"))
            }
        }
    }
}
