//! The beginning of a call: the volume may be changed, is marked in use, and has room for the call.

use pumice_vfs::Result;

use crate::host::Call;
use crate::volume::Volume;

impl Volume<'_> {
    /// Ends the volume's life before a change if too few good blocks are left.
    pub(crate) fn check_life(&mut self) -> Result<()> {
        // Changed nodes count as large as nodes can be until they are measured.
        self.files.nodes.measure();
        if self.room().is_at_end() { self.end_life() } else { Ok(()) }
    }

    /// Writes waiting changes, marks the checkpoint as the last, and fails.
    fn end_life(&mut self) -> Result<()> {
        self.mark_in_use()?;
        self.log.status.wear_out();
        let done = self.checkpoint(true);
        self.log.status.end(done.is_ok());
        done?;
        Err(self.log.worn_out_error())
    }

    /// Prepares for a change: the volume is writable, marked in use, and has room for a call's work.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.begin_writing(0)
    }

    /// The same for a call that writes so many bytes to a file.
    pub(crate) fn begin_writing(&mut self, bytes: usize) -> Result<()> {
        self.begin_on_host(bytes, Call::Any)
    }

    /// The same for a call that moves names or takes them away.
    pub(crate) fn begin_tidying(&mut self) -> Result<()> {
        self.begin_on_host(0, Call::Tidy)
    }

    fn begin_on_host(&mut self, bytes: usize, call: Call) -> Result<()> {
        self.log.check_writable()?;
        self.check_life()?;
        self.files.look(&mut self.log);
        self.files.check_host(&mut self.log, bytes, call)?;
        self.mark_in_use()?;
        self.make_room(bytes)?;
        self.files.begin_claims(&mut self.log);
        Ok(())
    }
}
