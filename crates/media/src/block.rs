//! The trait of a disk: blocks that can be written again and again, as cards and flash translation layers
//! show them.

use core::fmt;

use crate::errno::Errno;

/// A logical block address: a block, counted from the start of the device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lba(pub u64);

/// The reason why a block device refused or failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BlockError {
    /// The blocks lie beyond the end.
    OutOfRange {
        /// First block asked for.
        first: Lba,
        /// The number of blocks.
        count: u64,
        /// Blocks of the device.
        blocks: u64,
    },
    /// The buffer is no whole number of blocks.
    Length {
        /// Bytes of the buffer.
        bytes: usize,
        /// Bytes of a block.
        block_bytes: u32,
    },
    /// The device was opened for reading.
    ReadOnly,
    /// The contents of a block are lost.
    Unreadable(Lba),
    /// No space is left to write to, although the block exists.
    Full,
    /// The medium is at the end of its life: it can be read and no longer be written.
    WornOut,
    /// Power is gone: nothing works until the device is opened again.
    PowerLost,
    /// The device or file failed, with its errno.
    Device(i32),
}

impl BlockError {
    /// True if the file or disk that the device is kept on has no room left.
    pub fn is_host_full(&self) -> bool {
        matches!(self, BlockError::Device(errno) if Errno(*errno).is_full())
    }
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockError::OutOfRange { first, count, blocks } => {
                write!(f, "{count} blocks from {} on lie beyond the {blocks} of the device", first.0)
            }
            BlockError::Length { bytes, block_bytes } => {
                write!(f, "a buffer of {bytes} bytes is no whole number of blocks of {block_bytes} bytes")
            }
            BlockError::ReadOnly => f.write_str("the device is open for reading only"),
            BlockError::Unreadable(lba) => write!(f, "block {} cannot be read", lba.0),
            BlockError::Full => f.write_str("the device has no space left to write to"),
            BlockError::WornOut => f.write_str("the device is worn out and can only be read"),
            BlockError::PowerLost => f.write_str("the device has lost power"),
            BlockError::Device(errno) => write!(f, "device error: {}", Errno(*errno)),
        }
    }
}

impl core::error::Error for BlockError {}

/// A device of equal blocks that can each be read and overwritten.
///
/// Buffers hold one or more whole blocks. A call that reaches beyond the end or has a buffer of another
/// length does nothing and returns an error.
///
/// Power may be cut at any time. Everything written before the last [`BlockDevice::flush`] that returned is kept, and
/// so is everything written by [`BlockDevice::write_through`]. Each block written since holds its old or its new bytes
/// on its own, in any order and combination; blocks that were not written are never touched.
pub trait BlockDevice {
    /// Bytes of a block, at least 1; never changes.
    fn block_bytes(&self) -> u32;

    /// Blocks of the device; never changes.
    fn blocks(&self) -> u64;

    /// Fills `buffer` with the blocks from `first` on. Blocks never written, or discarded, read as anything.
    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError>;

    /// Writes the blocks from `first` on. On an error each of them holds its old or its new bytes.
    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError>;

    /// Writes the blocks from `first` on; when it returns they outlive a power cut (FUA). Earlier writes get no
    /// promise, but a device without such a write makes all of them outlive one.
    fn write_through(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.write(first, buffer)?;
        self.flush()
    }

    /// Makes everything written so far outlive a power cut.
    fn flush(&mut self) -> Result<(), BlockError>;

    /// Tells that the bytes of `count` blocks from `first` on are no longer needed. A hint: the device may do
    /// nothing.
    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError>;
}

impl<D: BlockDevice + ?Sized> BlockDevice for alloc::boxed::Box<D> {
    fn block_bytes(&self) -> u32 {
        (**self).block_bytes()
    }
    fn blocks(&self) -> u64 {
        (**self).blocks()
    }
    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        (**self).read(first, buffer)
    }
    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        (**self).write(first, buffer)
    }
    fn write_through(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        (**self).write_through(first, buffer)
    }
    fn flush(&mut self) -> Result<(), BlockError> {
        (**self).flush()
    }
    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        (**self).discard(first, count)
    }
}

/// The shape of a device, with the checks every call begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockShape {
    /// Bytes of a block, at least 1.
    pub block_bytes: u32,
    /// Blocks of the device.
    pub blocks: u64,
}

impl BlockShape {
    /// The offset in bytes of a transfer of `bytes` bytes from `first` on; an error if it is no whole number
    /// of blocks or reaches beyond the end.
    pub fn locate(&self, first: Lba, bytes: usize) -> Result<u64, BlockError> {
        let block_bytes = u64::from(self.block_bytes.max(1));
        if !(bytes as u64).is_multiple_of(block_bytes) {
            return Err(BlockError::Length { bytes, block_bytes: self.block_bytes });
        }
        self.locate_blocks(first, bytes as u64 / block_bytes)
    }

    /// The same for a number of blocks.
    pub fn locate_blocks(&self, first: Lba, count: u64) -> Result<u64, BlockError> {
        match first.0.checked_add(count) {
            Some(end) if end <= self.blocks => Ok(first.0.saturating_mul(u64::from(self.block_bytes))),
            _ => Err(BlockError::OutOfRange { first, count, blocks: self.blocks }),
        }
    }
}
