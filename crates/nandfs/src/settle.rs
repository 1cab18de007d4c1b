//! The first change after a power cut. A mount replays in memory and writes nothing: whatever it shows may rest on a page
//! that fades, so it is written again before anything new, and before anybody is promised what he has seen.

use pumice_vfs::{Errno, Result};

use crate::volume::Volume;

impl Volume<'_> {
    /// Before a change: makes safe what a power cut has left, or ends the clean state with a checkpoint that repeats the
    /// last one. Until it is there the heads stay at the places of the clean one: nothing else may be programmed, not even
    /// a table page.
    pub(crate) fn mark_in_use(&mut self) -> Result<()> {
        if !self.log.recorded.is_clean() {
            return self.settle();
        }
        self.commit(false, &[])?;
        self.log.recorded.set_clean(false);
        self.log.recorded.end_aftermath();
        // This call, and its fsync.
        self.log.cleaner.rest(2);
        Ok(())
    }

    /// Makes safe what a power cut has left, if this mount has not yet done so. If it fails, the next call begins anew.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let Some(aftermath) = self.log.recorded.aftermath().cloned() else { return Ok(()) };
        if self.log.recorded.is_clean() {
            self.repeat_clean()?;
            self.log.recorded.end_aftermath();
            return Ok(());
        }
        self.log.move_newest(&mut self.files)?;
        for block in &aftermath.without_parity {
            self.log.distrust(*block)?;
        }
        self.checkpoint(false)?;
        self.log.recorded.end_aftermath();
        // Each recovery takes blocks: without cleaning here, cuts in a row would use them up. A full volume goes on all
        // the same.
        if !self.room().has_room(0)
            && let Err(error) = self.make_room(0)
            && error.errno() != Errno::NoSpace
        {
            return Err(error);
        }
        // One in a call, or in idle time.
        for block in aftermath.without_parity {
            self.log.pages.medium_mut().call_tired(block);
        }
        self.log.call_guarded();
        self.log.cleaner.rest(2);
        // A cut before all had moved that another cut left: copies of parity must not become ever more.
        if aftermath.was_guarding { self.move_guarded() } else { Ok(()) }
    }

    /// Moves these at once, unless there is no room.
    fn move_guarded(&mut self) -> Result<()> {
        let mut moved = Ok(true);
        while let Ok(true) = moved {
            moved = self.mend_one();
        }
        match moved {
            Err(error) if error.errno() != Errno::NoSpace => Err(error),
            _ => self.checkpoint(false),
        }
    }
}
