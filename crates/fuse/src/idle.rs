//! What happens while nobody asks for anything: writing back, cleaning, and a checkpoint now and then.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use pumice_vfs::FileSystem;

use crate::volume::Volume;

/// How often the thread looks whether anything is to be done.
const PERIOD: Duration = Duration::from_secs(1);

/// How long a change may stay without a checkpoint: what a power cut may cost those who do not call fsync.
const SYNC_PERIOD: Duration = Duration::from_secs(5);

/// The thread; it ends when this is dropped.
pub(crate) struct Idle {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Idle {
    pub(crate) fn start<F: FileSystem + Send + Sync + ?Sized + 'static>(
        volume: Arc<Volume<F>>,
    ) -> std::io::Result<Idle> {
        let (stop, stopped) = channel();
        let thread =
            std::thread::Builder::new().name("pumice-idle".into()).spawn(move || run(&volume, &stopped))?;
        Ok(Idle { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported by the panic hook; there is nothing to add.
            let _ = thread.join();
        }
    }
}

fn run<F: FileSystem + ?Sized>(volume: &Volume<F>, stopped: &Receiver<()>) {
    let mut seen = volume.requests();
    let mut synced = Instant::now();
    while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        if synced.elapsed() >= SYNC_PERIOD {
            synced = Instant::now();
            checkpoint(volume);
        }
        let now = volume.requests();
        if now == seen {
            maintain(volume, now, stopped);
        }
        seen = volume.requests();
    }
}

fn checkpoint<F: FileSystem + ?Sized>(volume: &Volume<F>) {
    if volume.take_dirty() {
        report("checkpoint", volume.with(FileSystem::sync));
    }
}

/// Works as long as there is work and no request came since there had been `requests`.
fn maintain<F: FileSystem + ?Sized>(volume: &Volume<F>, requests: u64, stopped: &Receiver<()>) {
    let wanted =
        || volume.requests() == requests && stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty);
    while wanted() && report("maintenance", volume.with(FileSystem::maintain)) == Some(true) {}
}

/// The value, unless the session has ended or the work failed.
fn report<T>(what: &str, result: Option<pumice_vfs::Result<T>>) -> Option<T> {
    match result? {
        Ok(value) => Some(value),
        Err(error) => {
            log::error!("{what}: {error}");
            None
        }
    }
}
