//! The file system behind a mount; it serves requests until the session ends.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use parking_lot::RwLock;
use pumice_vfs::{Errno, FileSystem, FsError, Result};

use crate::{refs::Refs, table::Mount};

/// State shared by requests, the background thread and the session.
pub(crate) struct Volume<F: ?Sized> {
    /// `None` once the session has ended. Threads that still wait for the kernel then find nothing, and the
    /// caller of [`crate::Session::wait`] is the only owner.
    fs: RwLock<Option<Arc<F>>>,
    pub(crate) refs: Refs,
    requests: AtomicU64,
    dirty: AtomicBool,
    /// Known once it is mounted.
    mount: OnceLock<Mount>,
}

impl<F: FileSystem + ?Sized> Volume<F> {
    pub(crate) fn new(fs: Arc<F>) -> Volume<F> {
        Volume {
            fs: RwLock::new(Some(fs)),
            refs: Refs::default(),
            requests: AtomicU64::new(0),
            dirty: AtomicBool::new(false),
            mount: OnceLock::new(),
        }
    }

    /// Runs a request of the kernel; the error is the errno to answer with.
    pub(crate) fn serve<T>(&self, what: &str, ino: u64, work: impl FnOnce(&F) -> Result<T>) -> Answer<T> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.with(work).unwrap_or_else(|| Err(Errno::Stale.into())).map_err(|error| answer(what, ino, &error))
    }

    /// The same for a request that changes something.
    pub(crate) fn change<T>(&self, what: &str, ino: u64, work: impl FnOnce(&F) -> Result<T>) -> Answer<T> {
        self.dirty.store(true, Ordering::Relaxed);
        self.serve(what, ino, work)
    }

    /// Runs `work`; fails if the session has ended.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&F) -> T) -> Option<T> {
        self.fs.read().as_deref().map(work)
    }

    /// It is mounted from now on.
    pub(crate) fn mounted(&self, mount: Mount) {
        debug_assert!(self.mount.get().is_none(), "a volume is mounted twice");
        self.mount.get_or_init(|| mount);
    }

    /// True if the mount became read-only, of which only the kernel knows.
    pub(crate) fn is_read_only(&self) -> bool {
        self.mount.get().is_some_and(Mount::is_read_only)
    }

    /// Number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// True if something changed since the last call.
    pub(crate) fn take_dirty(&self) -> bool {
        self.dirty.swap(false, Ordering::Relaxed)
    }

    /// Ends service: waits for requests in progress, then drops all references to inodes and the file system.
    pub(crate) fn close(&self) {
        if let Some(fs) = self.fs.write().take() {
            self.refs.give_back_all(&*fs);
        }
    }
}

/// The answer to a request.
pub(crate) type Answer<T> = std::result::Result<T, fuser::Errno>;

/// The errno for the kernel. Damage and device errors are logged too: a number does not say where.
fn answer(what: &str, ino: u64, error: &FsError) -> fuser::Errno {
    if error.errno() == Errno::Io {
        log::error!("{what} on inode {ino}: {error}");
    } else {
        log::debug!("{what} on inode {ino}: {error}");
    }
    fuser::Errno::from_i32(error.code())
}
