//! Work on a volume as a whole: sections that are emptied.

use std::ops::Range;

use super::WritableF2fs;
use crate::error::Result;

impl WritableF2fs {
    /// Keeps logs out of sections until the volume is unmounted, and has all blocks that stand there written elsewhere.
    pub(crate) fn vacate(&self, sections: &Range<u32>) -> Result<()> {
        self.keep(|commit, elapsed| commit.vacate(sections, elapsed))
    }
}
