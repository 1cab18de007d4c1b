//! Progress bars on stderr, if that is a terminal.

use std::{borrow::Cow, io::IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar; dropping it removes it.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over bytes.
    pub(crate) fn bytes(what: &'static str) -> Progress {
        Progress::new(what, "{msg} [{bar:40}] {bytes}/{total_bytes} {eta}")
    }

    /// A bar over a count of items.
    pub(crate) fn counted(what: impl Into<Cow<'static, str>>) -> Progress {
        Progress::new(what, "{msg} [{bar:40}] {pos}/{len} {eta}")
    }

    fn new(what: impl Into<Cow<'static, str>>, template: &str) -> Progress {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress { bar }
    }

    /// True if the bar is visible.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    pub(crate) fn set_total(&self, total: u64) {
        self.bar.set_length(total);
    }

    /// Adds to what is done.
    pub(crate) fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// Sets what is done and the total.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}

/// Runs of the simulator, counted by their writes.
impl pumice_lab::run::Progress for Progress {
    fn expect(&self, writes: u64) {
        self.bar.inc_length(writes);
    }

    fn done(&self, writes: u64) {
        self.bar.inc(writes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
