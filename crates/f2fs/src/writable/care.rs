//! Work on a volume as a whole: sections that are emptied, and files that are written anew in a row.

use std::ops::Range;

use pumice_vfs::Ino;

use super::WritableF2fs;
use crate::error::Result;

impl WritableF2fs {
    /// Has all blocks of sections written elsewhere, and keeps logs out of them until the volume is unmounted or others are vacated.
    pub fn vacate(&self, sections: &Range<u32>) -> Result<()> {
        self.keep(|commit, elapsed| commit.vacate(sections, elapsed))
    }

    /// Sections that are free, and all that there are.
    pub fn sections(&self) -> (u32, u32) {
        self.state.lock().commit.tree().blocks().nodes().writer().sections()
    }

    /// Cleans the emptiest sections, until so many are free, or none is left that gains more than it costs: one that is
    /// full to seven eighths or less.
    pub fn clean(&self, free: u32) -> Result<()> {
        self.keep(|commit, elapsed| commit.compact(free, elapsed))
    }

    /// Blocks of a file or directory that stand on the medium, and the rows that they stand in.
    pub fn rows(&self, ino: Ino) -> Result<(u64, u64)> {
        let nid = self.nid(ino)?;
        let rows =
            self.look(|commit| commit.tree().blocks().rows(&commit.tree().inode(nid)?, 0, u64::MAX))?;
        Ok((rows.blocks, rows.count))
    }

    /// Writes a file or directory anew, in one row, or in fewer than now, as far as there is room. A pinned file stays.
    pub fn defragment(&self, ino: Ino) -> Result<()> {
        let nid = self.nid(ino)?;
        self.keep(|commit, elapsed| commit.defragment(nid, elapsed))
    }
}
