//! The device that is written to, in blocks of the volume.

use crate::word::word;
use pumice_media::{BlockDevice, Lba};

use crate::{
    error::{Error, Result},
    layout::{BlockAddr, BlockSize},
};

/// Bytes that are written at a time where zeros must be written.
const ZEROS: usize = 1 << 20;

/// A device whose blocks are those of the volume.
pub(crate) struct Medium {
    device: Box<dyn BlockDevice + Send>,
    block: BlockSize,
}

impl Medium {
    /// A device; its blocks must have the size of the volume's.
    pub(crate) fn new(device: Box<dyn BlockDevice + Send>, block: BlockSize) -> Medium {
        debug_assert_eq!(device.block_bytes(), block.bytes());
        Medium { device, block }
    }

    pub(crate) fn block(&self) -> BlockSize {
        self.block
    }

    /// One block.
    pub(crate) fn read(&mut self, addr: BlockAddr) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.block.width()];
        let read = self.device.read(Lba(addr.0.into()), &mut bytes);
        read.map(|()| bytes).map_err(|error| Error::Read { addr: addr.0.into(), error })
    }

    /// A whole number of blocks from `addr` on.
    pub(crate) fn write(&mut self, addr: BlockAddr, bytes: &[u8]) -> Result<()> {
        debug_assert!(bytes.len().is_multiple_of(self.block.width()));
        let written = self.device.write(Lba(addr.0.into()), bytes);
        written.map_err(|error| Error::Write { addr: addr.0.into(), error })
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
        self.device.flush().map_err(Error::Flush)
    }
}
