//! The unreadable parts of an image. Verbs that read go on behind damage and report it here.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use crate::failure::{Failure, Outcome};

/// Bytes of reports kept for a second report, at most.
const KEPT_MAX: usize = 1 << 20;

/// Counts losses. Each is reported on stderr at once, so that any number takes no memory; threads may share it.
#[derive(Default)]
pub(crate) struct Losses {
    count: AtomicU64,
    /// Reported elsewhere.
    is_silent: bool,
    /// Reports since the last call of [`Losses::told`], if they are kept.
    told: Option<Mutex<String>>,
}

impl Losses {
    /// Losses of a first pass, in silence; a second pass reports.
    pub(crate) fn silent() -> Losses {
        Losses { is_silent: true, ..Losses::default() }
    }

    /// Keeps reports for [`Losses::told`].
    pub(crate) fn kept() -> Losses {
        Losses { told: Some(Mutex::default()), ..Losses::default() }
    }

    /// Reports a loss and its reason, and counts it.
    pub(crate) fn add(&self, failure: &Failure) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.is_silent {
            return;
        }
        let line = failure.to_string();
        crate::message::complain(&line);
        if let Some(told) = &self.told {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < KEPT_MAX {
                told.push_str(&line);
                told.push('\n');
            }
        }
    }

    /// The same for a result; `None` if it is a loss.
    pub(crate) fn pass<T>(&self, result: Outcome<T>) -> Option<T> {
        result.map_err(|failure| self.add(&failure)).ok()
    }

    /// The same for one of several things that the user named. If it is the only one, its failure is the verb's own.
    pub(crate) fn pass_named<T>(&self, result: Outcome<T>, named: usize) -> Outcome<Option<T>> {
        if named == 1 { result.map(Some) } else { Ok(self.pass(result)) }
    }

    /// The reports since the last call, one line each, if they are not too long.
    pub(crate) fn take_told(&self) -> String {
        let told = self.told.as_ref().map(|told| told.lock().unwrap_or_else(PoisonError::into_inner));
        told.map(|mut told| std::mem::take(&mut *told)).unwrap_or_default()
    }

    /// The number of losses.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The verb's result: a failure with a summary if anything is missing.
    pub(crate) fn end(&self) -> Outcome {
        match self.count() {
            0 => Ok(()),
            1 => Err(Failure::new("1 thing could not be read; the rest is complete")),
            count => Err(Failure::new(format!("{count} things could not be read; the rest is complete"))),
        }
    }
}
