//! The quick scrub: finds segments with parity that does not fit them, by the signatures in the spare areas alone
//! (RCFFS, 3.2).

use crate::error::{FtlError, Result};
use crate::patrol::Scrubbed;
use crate::segment::State;
use crate::server::Server;
use crate::shape::ANCHOR_BLOCKS;

impl Server<'_> {
    /// Fails without signatures to look at.
    pub(crate) fn admit_quick_scrub(&self) -> Result<()> {
        let shape = self.log.shape.medium;
        if shape.has_signatures() { Ok(()) } else { Err(FtlError::NoSignatures { parity: shape.parity() }) }
    }

    /// The pass of [`crate::Ftl::quick_scrub`].
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
