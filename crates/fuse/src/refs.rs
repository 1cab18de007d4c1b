//! Lookup counts: as long as the kernel refers to an inode, the file system keeps it.

use std::collections::{HashMap, hash_map::Entry};

use parking_lot::Mutex;
use pumice_vfs::{FileSystem, Ino, Result};

/// Lookup counts; an inode in the table is held once in the file system.
#[derive(Default)]
pub(crate) struct Refs {
    counts: Mutex<HashMap<Ino, u64>>,
}

impl Refs {
    /// Counts one more reference of the kernel to `ino`.
    pub(crate) fn take<F: FileSystem + ?Sized>(&self, fs: &F, ino: Ino) -> Result<()> {
        // Hold and release happen under the lock: a forget on another thread must not overtake a lookup.
        match self.counts.lock().entry(ino) {
            Entry::Occupied(mut count) => *count.get_mut() += 1,
            Entry::Vacant(place) => {
                fs.hold(ino)?;
                place.insert(1);
            }
        }
        Ok(())
    }

    /// The kernel has dropped `times` references.
    pub(crate) fn give_back<F: FileSystem + ?Sized>(&self, fs: &F, ino: Ino, times: u64) -> Result<()> {
        let mut counts = self.counts.lock();
        match counts.get_mut(&ino) {
            Some(count) if *count > times => *count -= times,
            Some(_) => {
                counts.remove(&ino);
                fs.release(ino)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Drops all references: the kernel is gone.
    pub(crate) fn give_back_all<F: FileSystem + ?Sized>(&self, fs: &F) {
        for (ino, _) in self.counts.lock().drain() {
            if let Err(error) = fs.release(ino) {
                log::error!("inode {}: release at the end of the mount: {error}", ino.0);
            }
        }
    }
}
