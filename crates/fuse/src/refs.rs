//! Lookup counts: as long as the kernel refers to an inode, the file system keeps it.

use parking_lot::Mutex;
use pumice_vfs::{Counts, FileSystem, Ino, Result};

/// Lookup counts; an inode in the table is held once in the file system.
#[derive(Default)]
pub(crate) struct Refs {
    counts: Mutex<Counts>,
}

impl Refs {
    /// Counts one more reference of the kernel to `ino`.
    pub(crate) fn take<F: FileSystem + ?Sized>(&self, fs: &F, ino: Ino) -> Result<()> {
        // Hold and release happen under the lock: a forget on another thread must not overtake a lookup.
        let mut counts = self.counts.lock();
        if counts.get(ino) == 0 {
            fs.hold(ino)?;
        }
        counts.add(ino);
        Ok(())
    }

    /// The kernel has dropped `times` references.
    pub(crate) fn give_back<F: FileSystem + ?Sized>(&self, fs: &F, ino: Ino, times: u64) -> Result<()> {
        let mut counts = self.counts.lock();
        if counts.take(ino, times) == Some(0) { fs.release(ino) } else { Ok(()) }
    }

    /// Drops all references: the kernel is gone.
    pub(crate) fn give_back_all<F: FileSystem + ?Sized>(&self, fs: &F) {
        for ino in std::mem::take(&mut *self.counts.lock()).inodes() {
            if let Err(error) = fs.release(ino) {
                log::error!("inode {}: release at the end of the mount: {error}", ino.0);
            }
        }
    }
}
