//! The quick scrub: finds segments with parity that does not fit them, by the signatures in the spare areas alone
//! (RCFFS, 3.2).

use crate::error::{FtlError, Result};
use crate::patrol::Scrubbed;
use crate::segments::State;
use crate::server::Server;
use crate::shape::ANCHOR_BLOCKS;

impl Server<'_> {
    /// Whether a quick scrub can be made.
    ///
    /// # Errors
    /// As [`Server::quick_scrub`].
    pub(crate) fn admit_quick_scrub(&self) -> Result<()> {
        let shape = self.log.shape.medium;
        if shape.has_signatures() { Ok(()) } else { Err(FtlError::NoSignatures { parity: shape.parity() }) }
    }

    /// Compares the signatures in the spare areas of each segment of data with those of its parity, and empties
    /// segments with missing or wrong parity. Reads each spare area and no page: decayed pages, checkpoint and table
    /// are left to [`Server::scrub`]. `progress` is told segments done and all.
    ///
    /// # Errors
    /// [`FtlError::NoSignatures`] for a disk without parity, or on a chip without room for signatures in its spare
    /// areas.
    pub(crate) fn quick_scrub(&mut self, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrubbed> {
        self.admit_quick_scrub()?;
        let shape = self.log.shape.medium;
        let before = self.log.rounds();
        let mut found = Scrubbed::default();
        let mut next = ANCHOR_BLOCKS;
        self.log.note_weak();
        loop {
            // The chip's life may end meanwhile.
            if self.log.segments.weak() > 0 && self.log.status.may_write() {
                self.mend_one()?;
            } else if next < self.log.shape.blocks {
                let state = self.log.segments.get(next).state;
                if state.holds_data() && state != State::Open {
                    found.spare_areas += u64::from(shape.pages() + shape.parity());
                    if !self.log.flash.medium.has_fitting_signatures(next)? {
                        self.log.flash.medium.call_tired(next);
                        self.log.note_weak();
                    }
                }
                next += 1;
            } else {
                break;
            }
            progress(next, self.log.shape.blocks);
        }
        found.read_only = !self.log.status.may_write();
        found.weak_segments =
            self.log.segments.weak() + (self.log.rounds().moved_blocks - before.moved_blocks);
        Ok(found)
    }
}
