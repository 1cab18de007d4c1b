//! The libraries' log: to stderr, or to the system log once the program runs in the background.

use std::{
    os::unix::net::UnixDatagram,
    sync::atomic::{AtomicBool, Ordering},
};

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Logger;

static LOGGER: Logger = Logger;
static IN_BACKGROUND: AtomicBool = AtomicBool::new(false);

/// Shows warnings and errors from now on.
pub(crate) fn install() {
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// Tells the system log of an error, if messages go there by now.
pub(crate) fn to_system(message: &str) {
    if IN_BACKGROUND.load(Ordering::Relaxed) {
        send(Level::Error, message);
    }
}

/// Sends messages to the system log from now on.
pub(crate) fn to_system_log() {
    IN_BACKGROUND.store(true, Ordering::Relaxed);
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Warnings of other crates are meant for programmers.
        metadata.level() == Level::Error || metadata.target().starts_with("pumice")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let message = record.args().to_string();
        if IN_BACKGROUND.load(Ordering::Relaxed) {
            send(record.level(), &message);
        } else {
            crate::message::complain(&message);
        }
    }

    fn flush(&self) {}
}

/// Sends one datagram to the system log; without one the message is lost.
fn send(level: Level, message: &str) {
    const DAEMON: u8 = 3 << 3;
    let severity = if level == Level::Error { 3 } else { 4 };
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let line = format!("<{}>pumice[{}]: {message}", DAEMON | severity, std::process::id());
    let _ = socket.send_to(line.as_bytes(), "/dev/log");
}
