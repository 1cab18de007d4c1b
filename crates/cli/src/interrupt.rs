//! Signals: a verb that is interrupted removes unfinished work and says so.

use std::{
    io::{self, Seek, SeekFrom, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::failure::{Failure, Outcome};

/// Records whether a signal has asked the process to end.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Makes the first signal set a flag only, which callers must poll; the second ends the process at once.
    pub(crate) fn watch(&self) -> Outcome {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            self.watch_for(signal).map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
        }
        Ok(())
    }

    fn watch_for(&self, signal: i32) -> std::io::Result<()> {
        flag::register_conditional_default(signal, self.came.clone())?;
        flag::register_usize(signal, self.signal.clone(), usize::try_from(signal).unwrap_or_default())?;
        flag::register(signal, self.came.clone()).map(drop)
    }

    /// Fails once a signal has come.
    pub(crate) fn check(&self) -> Outcome {
        if !self.came.load(Ordering::Relaxed) {
            return Ok(());
        }
        let signal = self.signal.load(Ordering::Relaxed);
        Err(Failure::interrupted(u8::try_from(signal).unwrap_or_default()))
    }
}

impl Interrupt {
    /// The same as an I/O error. Not `ErrorKind::Interrupted`, which callers would retry.
    pub(crate) fn check_io(&self) -> io::Result<()> {
        self.check().map_err(|failure| io::Error::other(failure.to_string()))
    }
}

/// A writer that fails once a signal has come.
pub(crate) struct Watched<'a, W> {
    inner: W,
    interrupt: &'a Interrupt,
}

impl<'a, W: Write> Watched<'a, W> {
    pub(crate) fn new(inner: W, interrupt: &'a Interrupt) -> Watched<'a, W> {
        Watched { inner, interrupt }
    }
}

impl<W: Seek> Seek for Watched<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupt.check_io()?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
