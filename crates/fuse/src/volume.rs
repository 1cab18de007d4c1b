//! The file system behind a mount: open to requests until the session ends.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use parking_lot::RwLock;
use pumice_vfs::{Errno, FileSystem, FsError, Result};

use crate::refs::Refs;

/// What requests, the idle thread and the session share.
pub(crate) struct Volume<F: ?Sized> {
    /// `None` once the session has ended. Threads that still wait for the kernel then find nothing, and the
    /// caller of [`crate::Session::wait`] is the only owner.
    fs: RwLock<Option<Arc<F>>>,
    pub(crate) refs: Refs,
    requests: AtomicU64,
    dirty: AtomicBool,
}

impl<F: FileSystem + ?Sized> Volume<F> {
    pub(crate) fn new(fs: Arc<F>) -> Volume<F> {
        Volume {
            fs: RwLock::new(Some(fs)),
            refs: Refs::default(),
            requests: AtomicU64::new(0),
            dirty: AtomicBool::new(false),
        }
    }

    /// Carries out a request of the kernel; an error is the errno to answer with.
    pub(crate) fn serve<T>(&self, what: &str, ino: u64, work: impl FnOnce(&F) -> Result<T>) -> Answer<T> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.with(work).unwrap_or_else(|| Err(Errno::Stale.into())).map_err(|error| answer(what, ino, &error))
    }

    /// The same for a request that changes something.
    pub(crate) fn change<T>(&self, what: &str, ino: u64, work: impl FnOnce(&F) -> Result<T>) -> Answer<T> {
        self.dirty.store(true, Ordering::Relaxed);
        self.serve(what, ino, work)
    }

    /// Runs `work` unless the session has ended.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&F) -> T) -> Option<T> {
        self.fs.read().as_deref().map(work)
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// True if something was changed since the last time this was asked.
    pub(crate) fn take_dirty(&self) -> bool {
        self.dirty.swap(false, Ordering::Relaxed)
    }

    /// Ends it: waits for requests under way, lets go of every inode and of the file system.
    pub(crate) fn close(&self) {
        if let Some(fs) = self.fs.write().take() {
            self.refs.give_back_all(&*fs);
        }
    }
}

/// What a request is answered with.
pub(crate) type Answer<T> = std::result::Result<T, fuser::Errno>;

/// The number the kernel gets. Damage and broken devices have a story that the number cannot tell: log it.
fn answer(what: &str, ino: u64, error: &FsError) -> fuser::Errno {
    if error.errno() == Errno::Io {
        log::error!("{what} on inode {ino}: {error}");
    } else {
        log::debug!("{what} on inode {ino}: {error}");
    }
    fuser::Errno::from_i32(error.code())
}
