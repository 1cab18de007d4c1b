//! A damaged volume that is written to: writes lie over it, and power may fail.

use std::{
    collections::BTreeMap,
    fs::File,
    ops::Range,
    os::unix::fs::FileExt,
    sync::{Arc, Mutex},
};

use pumice_media::{BlockDevice, BlockError, BlockShape, Lba, ReadAt};

use crate::check::patient::{BLOCK, Disk};

/// A disk. Copies are of the same one.
#[derive(Clone)]
pub(crate) struct Medium {
    disk: Disk,
    state: Arc<Mutex<State>>,
}

struct State {
    written: BTreeMap<u64, Vec<u8>>,
    /// Writes that are still made.
    left: usize,
    reads: usize,
    /// The reads that fail.
    failing: Range<usize>,
}

impl Medium {
    pub(crate) fn new(disk: &Disk) -> Medium {
        let state = State { written: BTreeMap::new(), left: usize::MAX, reads: 0, failing: 0..0 };
        Medium { disk: disk.clone(), state: Arc::new(Mutex::new(state)) }
    }

    /// Power fails after so many writes.
    pub(crate) fn cut_after(&self, left: usize) {
        self.state.lock().unwrap().left = left;
    }

    /// Of the reads from now on these fail.
    pub(crate) fn fail_reads(&self, failing: Range<usize>) {
        let mut state = self.state.lock().unwrap();
        (state.reads, state.failing) = (0, failing);
    }

    /// Reads since the last call of [`Medium::fail_reads`].
    pub(crate) fn reads(&self) -> usize {
        self.state.lock().unwrap().reads
    }

    /// True if all bytes are as they were at first.
    pub(crate) fn is_as_before(&self) -> bool {
        let mut block = vec![0; BLOCK];
        self.state.lock().unwrap().written.iter().all(|(number, bytes)| {
            self.disk.read_at(number * BLOCK as u64, &mut block).unwrap();
            block == *bytes
        })
    }

    /// The blocks that were written.
    pub(crate) fn written(&self) -> BTreeMap<u64, Vec<u8>> {
        self.state.lock().unwrap().written.clone()
    }

    /// Writes what was written over the disk to a file that has it, from byte `start` on.
    pub(crate) fn save(&self, file: &File, start: u64) {
        for (number, bytes) in &self.state.lock().unwrap().written {
            file.write_all_at(bytes, start + number * BLOCK as u64).unwrap();
        }
    }

    fn shape(&self) -> BlockShape {
        BlockShape { block_bytes: 4096, blocks: self.disk.bytes() / BLOCK as u64 }
    }
}

impl ReadAt for Medium {
    fn bytes(&self) -> u64 {
        self.disk.bytes()
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let mut state = self.state.lock().unwrap();
        state.reads += 1;
        if state.failing.contains(&(state.reads - 1)) {
            return Err(BlockError::Unreadable(Lba(at / BLOCK as u64)));
        }
        self.disk.read_at(at, buffer)?;
        let (block, end) = (BLOCK as u64, at + buffer.len() as u64);
        for (number, bytes) in state.written.range(at / block..end.div_ceil(block)) {
            let (from, to) = (at.max(number * block), end.min((number + 1) * block));
            let part = |base: u64| usize::try_from(from - base).unwrap()..usize::try_from(to - base).unwrap();
            buffer[part(at)].copy_from_slice(&bytes[part(number * block)]);
        }
        Ok(())
    }
}

impl BlockDevice for Medium {
    fn block_bytes(&self) -> u32 {
        self.shape().block_bytes
    }

    fn blocks(&self) -> u64 {
        self.shape().blocks
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        let at = self.shape().locate(first, buffer.len())?;
        self.read_at(at, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.shape().locate(first, buffer.len())?;
        let mut state = self.state.lock().unwrap();
        state.left = state.left.checked_sub(1).ok_or(BlockError::PowerLost)?;
        state.written.extend((first.0..).zip(buffer.chunks(BLOCK).map(<[u8]>::to_vec)));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.shape().locate_blocks(first, count).map(drop)
    }
}
