//! A block device in memory.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::{BlockDevice, BlockError, BlockShape, Lba};

/// A disk in memory. Blocks never written read as zeros and take no memory.
#[derive(Clone, Debug)]
pub struct MemDisk {
    shape: BlockShape,
    written: BTreeMap<u64, Vec<u8>>,
}

impl MemDisk {
    /// A disk of `blocks` blocks of `block_bytes` bytes; 0 bytes count as 1.
    pub fn new(block_bytes: u32, blocks: u64) -> MemDisk {
        let shape = BlockShape { block_bytes: block_bytes.max(1), blocks };
        MemDisk { shape, written: BTreeMap::new() }
    }

    fn chunk_bytes(&self) -> usize {
        self.shape.block_bytes as usize
    }
}

impl BlockDevice for MemDisk {
    fn block_bytes(&self) -> u32 {
        self.shape.block_bytes
    }

    fn blocks(&self) -> u64 {
        self.shape.blocks
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.shape.locate(first, buffer.len())?;
        for (at, chunk) in (first.0..).zip(buffer.chunks_exact_mut(self.chunk_bytes())) {
            match self.written.get(&at) {
                Some(bytes) => chunk.copy_from_slice(bytes),
                None => chunk.fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.shape.locate(first, buffer.len())?;
        for (at, chunk) in (first.0..).zip(buffer.chunks_exact(self.chunk_bytes())) {
            let bytes = self.written.entry(at).or_default();
            bytes.clear();
            bytes.extend_from_slice(chunk);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.shape.locate_blocks(first, count)?;
        let gone: Vec<u64> = self.written.range(first.0..first.0 + count).map(|(at, _)| *at).collect();
        for at in gone {
            self.written.remove(&at);
        }
        Ok(())
    }
}
