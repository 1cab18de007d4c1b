//! The state of the server: the calls that it allows, how it started, the work that it did.

use pumice_media::NandError;

use crate::counters::{Counters, Start};
use crate::error::{FtlError, Missing, Result};

/// The state of the server, and with it the calls it allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Opened for reading.
    ReadOnly,
    /// Nothing was written since the checkpoint, and its record says so.
    Clean,
    /// Pages written since the checkpoint are known in memory; the first change makes a checkpoint.
    Replayed {
        /// A move was undone; an anchor has to say so before its segment is erased.
        undone: bool,
    },
    /// The record says that there is more than the checkpoint.
    Dirty,
    /// Too few good segments are left.
    WornOut,
    /// Pages are missing that may hold newer copies; a repair gives them up.
    Missing(Missing),
    /// The chip failed in a way that leaves its content in doubt.
    Failed(NandError),
}

/// The state, the kind of the start, and the counters.
pub(crate) struct Status {
    mode: Mode,
    pub(crate) start: Start,
    pub(crate) counters: Counters,
}

impl Status {
    /// A server that was not started yet.
    pub(crate) fn new() -> Status {
        Status { mode: Mode::ReadOnly, start: Start::Checkpoint, counters: Counters::default() }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// The state after the start.
    pub(crate) fn serve(&mut self, mode: Mode) {
        debug_assert!(self.mode == Mode::ReadOnly, "{:?} before a start", self.mode);
        self.mode = mode;
    }

    /// Something is about to be written that the checkpoint does not know.
    pub(crate) fn begin_changes(&mut self) {
        self.mode = Mode::Dirty;
    }

    /// The end of the chip's life.
    pub(crate) fn wear_out(&mut self) {
        self.mode = Mode::WornOut;
    }

    /// Pages turned out missing.
    pub(crate) fn miss(&mut self, missing: Missing) {
        self.mode = Mode::Missing(missing);
    }

    /// True if the disk can be written.
    pub(crate) fn may_write(&self) -> bool {
        matches!(self.mode, Mode::Clean | Mode::Replayed { .. } | Mode::Dirty)
    }

    /// Stops all writes: after this error the chip's content is in doubt.
    pub(crate) fn fail<T>(&mut self, error: NandError) -> Result<T> {
        self.mode = Mode::Failed(error);
        Err(error.into())
    }

    /// The result of a change. If it is the end of the chip's life, everything says so from now on, not this error alone.
    pub(crate) fn noted<T>(&mut self, done: Result<T>) -> Result<T> {
        if matches!(done, Err(FtlError::WornOut)) && self.mode == Mode::Dirty {
            self.mode = Mode::WornOut;
        }
        done
    }
}
