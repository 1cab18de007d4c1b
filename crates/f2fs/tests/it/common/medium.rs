//! A disk in memory with changes laid over it, which counts reads.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use pumice_media::{BlockError, ReadAt};

/// Bytes that may be read before it is taken for a hang: many times the need of a sound volume.
const BUDGET: u64 = 4 << 30;

pub(crate) struct Medium {
    bytes: Arc<Vec<u8>>,
    changes: Vec<(u64, Vec<u8>)>,
    read: AtomicU64,
}

impl Medium {
    pub(crate) fn new(bytes: impl Into<Arc<Vec<u8>>>) -> Medium {
        Medium { bytes: bytes.into(), changes: Vec::new(), read: AtomicU64::new(0) }
    }

    /// The same with one more change.
    pub(crate) fn with(&self, at: u64, bytes: Vec<u8>) -> Medium {
        let mut changes = self.changes.clone();
        changes.push((at, bytes));
        Medium { bytes: self.bytes.clone(), changes, read: AtomicU64::new(0) }
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.read.load(Ordering::Relaxed) > BUDGET
    }

    pub(crate) fn block(&self, addr: u32) -> Vec<u8> {
        let mut block = vec![0; 4096];
        self.read_at(u64::from(addr) * 4096, &mut block).unwrap();
        block
    }
}

impl ReadAt for Medium {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        // A small read costs, too.
        self.read.fetch_add(buffer.len() as u64 + 512, Ordering::Relaxed);
        if self.is_exhausted() {
            return Err(BlockError::PowerLost);
        }
        self.bytes.as_ref().read_at(at, buffer)?;
        let end = at + buffer.len() as u64;
        for (start, change) in &self.changes {
            let (from, to) = (at.max(*start), end.min(start + change.len() as u64));
            if from < to {
                let inside = |place: u64, first: u64| usize::try_from(place - first).unwrap();
                buffer[inside(from, at)..inside(to, at)]
                    .copy_from_slice(&change[inside(from, *start)..inside(to, *start)]);
            }
        }
        Ok(())
    }
}
