//! A disk in memory that outlives its mounts.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex},
};

use pumice_media::{BlockDevice, BlockError, BlockShape, Lba, ReadAt};

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A disk; its copies are the same one.
#[derive(Clone)]
pub(crate) struct SharedDisk {
    shape: BlockShape,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl SharedDisk {
    pub(crate) fn new(block_bytes: u32, blocks: u64) -> SharedDisk {
        let bytes = vec![0; usize::try_from(u64::from(block_bytes) * blocks).unwrap()];
        SharedDisk { shape: BlockShape { block_bytes, blocks }, bytes: Arc::new(Mutex::new(bytes)) }
    }

    /// A disk that holds `bytes`.
    pub(crate) fn of(block_bytes: u32, bytes: Vec<u8>) -> SharedDisk {
        let blocks = bytes.len() as u64 / u64::from(block_bytes);
        SharedDisk { shape: BlockShape { block_bytes, blocks }, bytes: Arc::new(Mutex::new(bytes)) }
    }

    /// The contents.
    pub(crate) fn bytes_now(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

/// Writes the contents of a disk to a new file, without pieces of zeros.
pub(crate) fn save(disk: &dyn ReadAt, path: &Path) {
    let file = File::create(path).unwrap();
    file.set_len(disk.bytes()).unwrap();
    let mut piece = vec![0; ZEROS.len()];
    for at in (0..disk.bytes()).step_by(ZEROS.len()) {
        let piece = &mut piece[..ZEROS.len().min(usize::try_from(disk.bytes() - at).unwrap())];
        disk.read_at(at, piece).unwrap();
        if *piece != ZEROS[..piece.len()] {
            file.write_all_at(piece, at).unwrap();
        }
    }
}

impl BlockDevice for SharedDisk {
    fn block_bytes(&self) -> u32 {
        self.shape.block_bytes
    }

    fn blocks(&self) -> u64 {
        self.shape.blocks
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        let at = usize::try_from(self.shape.locate(first, buffer.len())?).unwrap();
        buffer.copy_from_slice(&self.bytes.lock().unwrap()[at..at + buffer.len()]);
        Ok(())
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        let at = usize::try_from(self.shape.locate(first, buffer.len())?).unwrap();
        self.bytes.lock().unwrap()[at..at + buffer.len()].copy_from_slice(buffer);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.shape.locate_blocks(first, count).map(drop)
    }
}

impl ReadAt for SharedDisk {
    fn bytes(&self) -> u64 {
        self.shape.blocks * u64::from(self.shape.block_bytes)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let bytes = self.bytes.lock().unwrap();
        let start = usize::try_from(at).unwrap();
        let Some(found) = start.checked_add(buffer.len()).and_then(|end| bytes.get(start..end)) else {
            return Err(BlockError::OutOfRange {
                first: Lba(at),
                count: buffer.len() as u64,
                blocks: bytes.len() as u64,
            });
        };
        buffer.copy_from_slice(found);
        Ok(())
    }
}
