//! The disk of the host under a chip that lies in a file. A call is refused before it changes anything if a checkpoint may
//! not find room there: what was accepted outlives an unmount.

use alloc::format;

use pumice_flashlog::Medium;
use pumice_media::Nand;
use pumice_vfs::{Errno, FsError, Result};

use crate::error::device;

/// Bytes of a page on the host beyond its payload: it has records of its own, and blocks that hold more than a page.
const OVERHEAD: u64 = 4096;

/// A call, by the room that it needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Any,
    /// It moves names or takes them away, which has room where nothing else does.
    Tidy,
}

impl Call {
    /// Bytes of the host's disk that have to be left if a checkpoint behind the call may program so many pages. Before
    /// calls that do not tidy up, as many are left for those that do, and for cleaning.
    fn bytes_needed(self, pages: u64, payload: u32) -> u64 {
        let times = if self == Call::Tidy { 1 } else { 2 };
        times * pages * (u64::from(payload) + OVERHEAD)
    }

    /// Refuses the call if the host's disk has too little room for it.
    pub(crate) fn check(self, room: u64, pages: u64, payload: u32) -> Result<()> {
        let need = self.bytes_needed(pages, payload);
        if room < need {
            let text =
                format!("the disk under the chip's file has {room} bytes left, a call may take {need}");
            return Err(FsError::new(Errno::NoSpace, text));
        }
        Ok(())
    }

    /// Bytes that are left of this room beyond those for the call.
    pub(crate) fn left(self, room: u64, pages: u64, payload: u32) -> u64 {
        room.saturating_sub(self.bytes_needed(pages, payload))
    }
}

/// Bytes that the host's disk has left for pages programmed for the first time; none if they cannot run out.
pub(crate) fn room(medium: &Medium<'_>) -> Result<Option<u64>> {
    medium.chip().room().map_err(device)
}
