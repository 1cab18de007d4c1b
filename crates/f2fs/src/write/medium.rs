//! The device that is written to, in blocks of the volume.

use std::sync::Arc;

use parking_lot::Mutex;
use pumice_media::{BlockDevice, BlockError, Lba, ReadAt};

use super::discard_unit::DiscardUnit;
use crate::word::word;
use crate::{
    error::{Error, Result},
    layout::{BlockAddr, BlockSize},
    volume::{Block, BlockCache},
};

/// Bytes that are written at a time where zeros must be written.
const ZEROS: usize = 1 << 20;
/// So many blocks that are written together, or fewer, are likely to be read again soon: nodes, tables, ends of files.
const KEPT_MAX: usize = 8;

/// A device that is written to and, as [`ReadAt`], read by others.
#[derive(Clone)]
pub(crate) struct Device(Arc<Mutex<Box<dyn BlockDevice + Send>>>);

impl Device {
    pub(crate) fn new(device: Box<dyn BlockDevice + Send>) -> Device {
        Device(Arc::new(Mutex::new(device)))
    }
}

impl ReadAt for Device {
    fn bytes(&self) -> u64 {
        let device = self.0.lock();
        device.blocks().saturating_mul(u64::from(device.block_bytes()))
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> std::result::Result<(), BlockError> {
        let (count, bytes) = (buffer.len() as u64, self.bytes());
        let end = at.checked_add(count).filter(|end| *end <= bytes);
        let end = end.ok_or(BlockError::OutOfRange { first: Lba(at), count, blocks: bytes })?;
        let mut device = self.0.lock();
        let width = u64::from(device.block_bytes());
        if at.is_multiple_of(width) && count.is_multiple_of(width) {
            return device.read(Lba(at / width), buffer);
        }
        let first = at / width;
        let mut blocks =
            vec![0; usize::try_from((end.div_ceil(width) - first) * width).unwrap_or(usize::MAX)];
        device.read(Lba(first), &mut blocks)?;
        let inside = usize::try_from(at % width).unwrap_or(usize::MAX);
        buffer.iter_mut().zip(blocks.iter().skip(inside)).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

impl BlockDevice for Device {
    fn block_bytes(&self) -> u32 {
        self.0.lock().block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.0.lock().blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> std::result::Result<(), BlockError> {
        self.0.lock().read(first, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> std::result::Result<(), BlockError> {
        self.0.lock().write(first, buffer)
    }

    fn write_through(&mut self, first: Lba, buffer: &[u8]) -> std::result::Result<(), BlockError> {
        self.0.lock().write_through(first, buffer)
    }

    fn flush(&mut self) -> std::result::Result<(), BlockError> {
        self.0.lock().flush()
    }

    fn discard(&mut self, first: Lba, count: u64) -> std::result::Result<(), BlockError> {
        self.0.lock().discard(first, count)
    }
}

/// A device with blocks of the volume's size, and those of them that were read, or written, lately.
pub(crate) struct Medium {
    device: Device,
    block: BlockSize,
    cache: Option<BlockCache>,
    /// All that was written outlives a power cut.
    is_durable: bool,
    /// Blocks were written over since then.
    has_overwritten: bool,
    /// The device is told of blocks that nobody needs.
    discards: Option<DiscardUnit>,
}

impl Medium {
    /// A device; its blocks must have the size of the volume's. Nothing is kept in memory.
    pub(crate) fn new(device: Box<dyn BlockDevice + Send>, block: BlockSize) -> Medium {
        debug_assert_eq!(device.block_bytes(), block.bytes());
        let device = Device::new(device);
        Medium { device, block, cache: None, is_durable: true, has_overwritten: false, discards: None }
    }

    /// The same, with up to `cache_bytes` bytes of blocks that were read lately.
    /// `discards` says in which pieces the device is told of blocks that nobody needs any more.
    pub(crate) fn cached(
        device: Device,
        block: BlockSize,
        cache_bytes: usize,
        discards: Option<DiscardUnit>,
    ) -> Medium {
        let cache = Some(BlockCache::new(cache_bytes, block.width()));
        Medium { device, block, cache, is_durable: true, has_overwritten: false, discards }
    }

    pub(crate) fn block(&self) -> BlockSize {
        self.block
    }

    /// One block.
    pub(crate) fn read(&self, addr: BlockAddr) -> Result<Block> {
        if let Some(block) = self.cache.as_ref().and_then(|cache| cache.get(addr)) {
            return Ok(block);
        }
        let mut bytes = vec![0; self.block.width()];
        self.read_run(addr, &mut bytes)?;
        let block = Arc::new(bytes);
        if let Some(cache) = &self.cache {
            cache.put(addr, &block);
        }
        Ok(block)
    }

    /// Fills `buffer`, a whole number of blocks, from `addr` on, past the cache.
    pub(crate) fn read_run(&self, addr: BlockAddr, buffer: &mut [u8]) -> Result<()> {
        let read = self.device.0.lock().read(Lba(addr.0.into()), buffer);
        read.map_err(|error| Error::Read { addr: addr.0.into(), error })
    }

    /// A whole number of blocks from `addr` on.
    pub(crate) fn write(&mut self, addr: BlockAddr, bytes: &[u8]) -> Result<()> {
        self.forget(addr, bytes);
        self.is_durable = false;
        let written = self.device.0.lock().write(Lba(addr.0.into()), bytes);
        written.map_err(|error| Error::Write { addr: addr.0.into(), error })?;
        self.keep(addr, bytes);
        Ok(())
    }

    /// The same, over blocks that are in use.
    pub(crate) fn write_over(&mut self, addr: BlockAddr, bytes: &[u8]) -> Result<()> {
        self.has_overwritten = true;
        self.write(addr, bytes)
    }

    /// A whole number of blocks that outlive a power cut when it returns, whatever becomes of others.
    pub(crate) fn write_through(&mut self, addr: BlockAddr, bytes: &[u8]) -> Result<()> {
        self.forget(addr, bytes);
        let written = self.device.0.lock().write_through(Lba(addr.0.into()), bytes);
        written.map_err(|error| Error::Write { addr: addr.0.into(), error })?;
        self.keep(addr, bytes);
        Ok(())
    }

    /// Keeps blocks that were written, if they are few.
    fn keep(&self, addr: BlockAddr, bytes: &[u8]) {
        let width = self.block.width();
        if let Some(cache) = self.cache.as_ref().filter(|_| bytes.len() <= KEPT_MAX * width) {
            let blocks = (addr.0..).zip(bytes.chunks_exact(width));
            blocks.for_each(|(addr, block)| cache.put(BlockAddr(addr), &Arc::new(block.to_vec())));
        }
    }

    fn forget(&self, addr: BlockAddr, bytes: &[u8]) {
        debug_assert!(bytes.len().is_multiple_of(self.block.width()));
        if let Some(cache) = &self.cache {
            let count = word(bytes.len() / self.block.width());
            (addr.0..addr.0.saturating_add(count)).for_each(|addr| cache.forget(BlockAddr(addr)));
        }
    }

    /// The pieces in which the device is told of what a checkpoint frees, if it is.
    pub(crate) fn discards(&self) -> Option<DiscardUnit> {
        self.discards
    }

    /// Tells the device that nobody needs `count` blocks from `addr` on any more. A hint: that it fails does no harm.
    pub(crate) fn discard(&self, addr: BlockAddr, count: u32) {
        let _ = self.device.0.lock().discard(Lba(addr.0.into()), count.into());
    }

    /// Zeros in `count` blocks from `addr` on.
    pub(crate) fn clear(&mut self, addr: BlockAddr, count: u32) -> Result<()> {
        let width = self.block.width();
        let zeros = vec![0; ZEROS.min(count as usize * width)];
        let (mut at, end) = (addr.0, addr.0.saturating_add(count));
        while at < end {
            let part = (end - at).min(word(zeros.len() / width));
            self.write(BlockAddr(at), zeros.get(..part as usize * width).unwrap_or_default())?;
            at += part;
        }
        Ok(())
    }

    /// Makes all that was written outlive a power cut.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.device.0.lock().flush().map_err(Error::Flush)?;
        (self.is_durable, self.has_overwritten) = (true, false);
        Ok(())
    }

    /// The same, if anything was written since the last time.
    pub(crate) fn make_durable(&mut self) -> Result<()> {
        if self.is_durable { Ok(()) } else { self.flush() }
    }

    /// True if blocks that are in use were written over and may not outlive a power cut.
    pub(crate) fn has_overwritten(&self) -> bool {
        self.has_overwritten
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::MemDisk;

    use super::*;

    /// A disk that remembers its writes: the first block of each and how many.
    struct Told {
        disk: MemDisk,
        writes: Arc<Mutex<Vec<(u64, usize)>>>,
    }

    impl BlockDevice for Told {
        fn block_bytes(&self) -> u32 {
            self.disk.block_bytes()
        }

        fn blocks(&self) -> u64 {
            self.disk.blocks()
        }

        fn read(&mut self, first: Lba, buffer: &mut [u8]) -> std::result::Result<(), BlockError> {
            self.disk.read(first, buffer)
        }

        fn write(&mut self, first: Lba, buffer: &[u8]) -> std::result::Result<(), BlockError> {
            self.writes.lock().push((first.0, buffer.len() / 4096));
            self.disk.write(first, buffer)
        }

        fn flush(&mut self) -> std::result::Result<(), BlockError> {
            self.disk.flush()
        }

        fn discard(&mut self, first: Lba, count: u64) -> std::result::Result<(), BlockError> {
            self.disk.discard(first, count)
        }
    }

    #[test]
    fn zeros_are_written_in_large_pieces() {
        let writes = Arc::default();
        let told = Told { disk: MemDisk::new(4096, 2048), writes: Arc::clone(&writes) };
        let mut medium = Medium::new(Box::new(told), BlockSize::KIB4);
        for (addr, count) in [(0, 3), (1000, 600), (7, 0)] {
            medium.clear(BlockAddr(addr), count).unwrap();
        }
        assert_eq!(*writes.lock(), [(0, 3), (1000, 256), (1256, 256), (1512, 88)]);
    }
}
