//! Ends the program where a case never ends: a loop that reads nothing is not seen by the medium, which counts reads.

use std::{
    io::{Write, stderr},
    process::abort,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{sleep, spawn},
    time::Duration,
};

/// A hundred thousand times the length of a case.
const PATIENCE: Duration = Duration::from_secs(120);

/// The case that is being tried.
static CASE: AtomicUsize = AtomicUsize::new(0);

/// Starts the watch: a new case must begin again and again.
pub(crate) fn start() {
    spawn(|| {
        loop {
            let before = CASE.load(Ordering::Relaxed);
            sleep(PATIENCE);
            if CASE.load(Ordering::Relaxed) == before {
                // The test runner would keep the output of `eprintln` to itself.
                let _ =
                    writeln!(stderr(), "case {before} does not end: PUMICE_BYTES={}", before / crate::BLOCK);
                abort();
            }
        }
    });
}

pub(crate) fn begin(case: usize) {
    CASE.store(case, Ordering::Relaxed);
}
