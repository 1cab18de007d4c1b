//! A block device in an image file or on a device node.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::{
    fs::{FallocateFlags, fallocate},
    io::Errno,
};

use crate::MediaError;
use crate::block::{BlockDevice, BlockError, BlockShape, Lba};
use crate::error::errno;
use crate::lock::{Locked, create_locked, open_locked};
use crate::read_at::ReadAt;

/// A disk in a file: a regular image file, or a device such as a card. A remainder at the end that is no
/// whole block is not shown. Discards make holes in a regular file, where its file system can, and have a device forget, where
/// it can.
#[derive(Debug)]
pub struct FileDisk {
    file: Locked,
    shape: BlockShape,
    read_only: bool,
}

/// The calls that free room, in the order of trying. First comes a device's own discard, which older kernels make of
/// this. Then comes a hole, which files and newer kernels know: on devices, zeros that take no room.
const DISCARDS: [FallocateFlags; 2] = [
    FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE).union(FallocateFlags::NO_HIDE_STALE),
    FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE),
];

impl FileDisk {
    /// Opens a file or device as blocks of `block_bytes` bytes; 0 bytes count as 1. A writer needs it for
    /// itself, readers share it; a disk that is mounted cannot be written to.
    pub fn open(path: impl AsRef<Path>, block_bytes: u32, read_only: bool) -> Result<FileDisk, MediaError> {
        let path = path.as_ref();
        let file = open_locked(path, read_only)?;
        // The length of a device node is found by seeking only.
        let bytes = (&*file).seek(SeekFrom::End(0)).map_err(MediaError::io("measure", path))?;
        let block_bytes = block_bytes.max(1);
        let shape = BlockShape { block_bytes, blocks: bytes / u64::from(block_bytes) };
        Ok(FileDisk { file, shape, read_only })
    }

    /// Makes a sparse image file of `blocks` blocks and opens it. With `force` an existing file is replaced,
    /// unless another process has it open.
    pub fn create(
        path: impl AsRef<Path>,
        block_bytes: u32,
        blocks: u64,
        force: bool,
    ) -> Result<FileDisk, MediaError> {
        let path = path.as_ref();
        let file = create_locked(path, force)?;
        let bytes = u64::from(block_bytes).saturating_mul(blocks);
        file.set_len(0).and_then(|()| file.set_len(bytes)).map_err(MediaError::io("size", path))?;
        let shape = BlockShape { block_bytes: block_bytes.max(1), blocks };
        Ok(FileDisk { file, shape, read_only: false })
    }

    fn writable(&self) -> Result<(), BlockError> {
        if self.read_only { Err(BlockError::ReadOnly) } else { Ok(()) }
    }
}

fn failed(error: &std::io::Error) -> BlockError {
    BlockError::Device(errno(error))
}

impl BlockDevice for FileDisk {
    fn block_bytes(&self) -> u32 {
        self.shape.block_bytes
    }

    fn blocks(&self) -> u64 {
        self.shape.blocks
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        let at = self.shape.locate(first, buffer.len())?;
        self.file.read_exact_at(buffer, at).map_err(|e| failed(&e))
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.writable()?;
        let at = self.shape.locate(first, buffer.len())?;
        self.file.write_all_at(buffer, at).map_err(|e| failed(&e))
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        if self.read_only { Ok(()) } else { self.file.sync_data().map_err(|e| failed(&e)) }
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.writable()?;
        let at = self.shape.locate_blocks(first, count)?;
        let bytes = count.saturating_mul(u64::from(self.shape.block_bytes));
        if bytes == 0 {
            return Ok(());
        }
        for way in DISCARDS {
            match fallocate(&*self.file, way, at, bytes) {
                Err(Errno::OPNOTSUPP) => {}
                done => return done.map_err(|error| failed(&error.into())),
            }
        }
        Ok(())
    }
}

impl ReadAt for FileDisk {
    fn bytes(&self) -> u64 {
        self.shape.blocks.saturating_mul(u64::from(self.shape.block_bytes))
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let (count, bytes) = (buffer.len() as u64, self.bytes());
        if at.checked_add(count).is_none_or(|end| end > bytes) {
            return Err(BlockError::OutOfRange { first: Lba(at), count, blocks: bytes });
        }
        self.file.read_exact_at(buffer, at).map_err(|e| failed(&e))
    }
}
