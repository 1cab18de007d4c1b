//! A disk that is counted and can be opened again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pumice_media::{BlockDevice, BlockError, Lba, ReadAt};

/// Bytes of a block.
pub(crate) const BLOCK: u32 = 4096;

/// A disk that several parts share.
pub(crate) struct Disk<D>(Arc<Mutex<Counted<D>>>);

struct Counted<D> {
    disk: D,
    /// Blocks written.
    written: u64,
}

impl<D> Clone for Disk<D> {
    fn clone(&self) -> Self {
        Disk(Arc::clone(&self.0))
    }
}

impl<D> Disk<D> {
    /// Shares a disk of blocks of [`BLOCK`] bytes.
    pub(crate) fn new(disk: D) -> Self {
        Disk(Arc::new(Mutex::new(Counted { disk, written: 0 })))
    }

    /// Blocks written so far.
    pub(crate) fn written(&self) -> u64 {
        self.lock().written
    }

    /// Looks at the disk itself.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&D) -> R) -> R {
        look(&self.lock().disk)
    }

    fn lock(&self) -> MutexGuard<'_, Counted<D>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: BlockDevice> BlockDevice for Disk<D> {
    fn block_bytes(&self) -> u32 {
        BLOCK
    }

    fn blocks(&self) -> u64 {
        self.lock().disk.blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.lock().disk.read(first, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        let mut counted = self.lock();
        counted.disk.write(first, buffer)?;
        counted.written += (buffer.len() / BLOCK as usize) as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.lock().disk.flush()
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.lock().disk.discard(first, count)
    }
}

impl<D: BlockDevice + Send> ReadAt for Disk<D> {
    fn bytes(&self) -> u64 {
        self.blocks() * u64::from(BLOCK)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let mut block = [0; BLOCK as usize];
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let place = at + done as u64;
            self.lock().disk.read(Lba(place / u64::from(BLOCK)), &mut block)?;
            #[expect(clippy::cast_possible_truncation, reason = "below a block")]
            let inside = (place % u64::from(BLOCK)) as usize;
            for (to, from) in rest.iter_mut().zip(block.iter().skip(inside)) {
                *to = *from;
                done += 1;
            }
        }
        Ok(())
    }
}
