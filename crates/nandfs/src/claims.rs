//! Space that a call claims.

use pumice_vfs::{Errno, Result};

/// The claims of the call in hand.
#[derive(Default)]
pub(crate) struct Claims {
    /// Bytes taken when it began.
    base: u64,
    /// Bytes claimed since.
    claimed: u64,
    /// Recovery is at work: its writes had their space before.
    replaying: bool,
    /// The call moves names or takes them away.
    moving: bool,
}

impl Claims {
    /// A call begins, with so many bytes taken.
    pub(crate) fn begin(&mut self, taken: u64) {
        (self.base, self.claimed) = (taken, 0);
    }

    /// Fails unless `bytes` more can be taken of `most` in all.
    pub(crate) fn take(&mut self, bytes: u64, most: u64) -> Result<()> {
        if self.base + self.claimed + bytes > most && !self.replaying {
            return Err(Errno::NoSpace.into());
        }
        self.claimed += bytes;
        Ok(())
    }

    /// Recovery begins or ends.
    pub(crate) fn replay(&mut self, replaying: bool) {
        self.replaying = replaying;
    }

    /// Lets calls only move names and take them away, until this is called with `false`.
    pub(crate) fn move_names(&mut self, moving: bool) {
        self.moving = moving;
    }

    /// True if names are only moved and taken away.
    pub(crate) fn moves_names(&self) -> bool {
        self.moving
    }
}
