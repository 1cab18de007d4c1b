//! Messages on stderr: lines, or JSON documents of a line where JSON was asked for.

use std::{
    io::{Write, stderr},
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::json;

use crate::{output, text};

static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Has messages be JSON documents from now on.
pub(crate) fn as_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

/// One line, if there is anything to say. Nobody is left to tell if stderr is closed.
pub(crate) fn complain(message: &str) {
    if message.is_empty() {
        return;
    }
    let line = if AS_JSON.load(Ordering::Relaxed) {
        output::document_line("message", json!({ "message": message })).ok()
    } else {
        None
    };
    report(&line.unwrap_or_else(|| format!("pumice: {}", text::line(message))));
}

/// Text of several lines.
pub(crate) fn report(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}
