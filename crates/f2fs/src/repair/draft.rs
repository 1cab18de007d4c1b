//! A volume with changes over it that are not on the medium yet.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use pumice_media::{BlockDevice, BlockError, Lba, ReadAt};

use crate::{
    error::{Error, Result},
    layout::{BlockAddr, BlockSize},
};

/// Changed blocks by address.
type Changes = BTreeMap<u32, Vec<u8>>;

/// A medium that is only read, and the blocks that differ from it. Copies are of the same draft.
#[derive(Clone)]
pub(super) struct Draft {
    base: Arc<dyn ReadAt>,
    size: BlockSize,
    changes: Arc<Mutex<Changes>>,
    /// Changes that were made.
    count: Arc<AtomicU64>,
    /// Blocks that could not be read, each with the last error.
    failed: Arc<Mutex<BTreeMap<u32, BlockError>>>,
}

impl Draft {
    pub(super) fn new(base: Arc<dyn ReadAt>, size: BlockSize) -> Draft {
        Draft { base, size, changes: Arc::default(), count: Arc::default(), failed: Arc::default() }
    }

    /// The number of changes that were made, one block over the other among them.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn size(&self) -> BlockSize {
        self.size
    }

    /// A block as it stands on the medium.
    pub(super) fn original(&self, addr: BlockAddr) -> Result<Vec<u8>> {
        let mut block = vec![0; self.size.width()];
        self.read_base(self.place(addr), &mut block).map_err(|error| failed(addr, error))?;
        Ok(block)
    }

    /// Bytes of the medium. If they cannot be read at once each block is tried again, and those that fail are noted.
    fn read_base(&self, at: u64, buffer: &mut [u8]) -> std::result::Result<(), BlockError> {
        let first = match self.base.read_at(at, buffer) {
            Err(error) if !matches!(error, BlockError::OutOfRange { .. }) => error,
            done => return done,
        };
        let (mut from, mut rest, mut last) = (at, buffer, Ok(()));
        while !rest.is_empty() {
            let addr = from / self.size.bytes_u64();
            let length = rest.len().min(index((addr + 1) * self.size.bytes_u64() - from));
            let (part, behind) = rest.split_at_mut(length);
            if let Err(error) = self.base.read_at(from, part) {
                self.failed.lock().insert(word(addr), error);
                last = Err(error);
            }
            (from, rest) = (from + length as u64, behind);
        }
        // A device whose parts can be read when the whole cannot is not to be trusted with either.
        if last.is_ok() {
            self.failed.lock().insert(word(at / self.size.bytes_u64()), first);
        }
        last
    }

    /// An error if a block could not be read, and now it can: what was made of its absence counts for nothing.
    pub(super) fn check_failed(&self) -> Result<()> {
        let failed_reads = self.failed.lock().clone();
        for (addr, error) in failed_reads {
            let mut block = vec![0; self.size.width()];
            if self.base.read_at(self.place(BlockAddr(addr)), &mut block).is_ok() {
                return Err(failed(BlockAddr(addr), error));
            }
        }
        Ok(())
    }

    /// A block with its changes.
    pub(super) fn read(&self, addr: BlockAddr) -> Result<Vec<u8>> {
        if let Some(block) = self.changes.lock().get(&addr.0) {
            return Ok(block.clone());
        }
        self.original(addr)
    }

    /// Changes a block, if it is another. A block that cannot be read counts as another.
    pub(super) fn write(&self, addr: BlockAddr, block: &[u8]) {
        debug_assert_eq!(block.len(), self.size.width());
        if !self.read(addr).is_ok_and(|old| old == block) {
            self.changes.lock().insert(addr.0, block.to_vec());
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Changes a part of a block.
    pub(super) fn edit(&self, addr: BlockAddr, edit: impl FnOnce(&mut [u8])) -> Result<()> {
        let mut block = self.read(addr)?;
        edit(&mut block);
        self.write(addr, &block);
        Ok(())
    }

    /// Has a block as it stands on the medium.
    pub(super) fn forget(&self, addr: BlockAddr) {
        self.changes.lock().remove(&addr.0);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Another draft, with the same changes so far.
    pub(super) fn fork(&self) -> Draft {
        let changes = Arc::new(Mutex::new(self.changes()));
        Draft { changes, count: Arc::default(), ..self.clone() }
    }

    /// Changed blocks by address.
    pub(super) fn changes(&self) -> Changes {
        self.changes.lock().clone()
    }

    fn place(&self, addr: BlockAddr) -> u64 {
        u64::from(addr.0) * self.size.bytes_u64()
    }
}

fn failed(addr: BlockAddr, error: BlockError) -> Error {
    Error::Read { addr: addr.0.into(), error }
}

impl ReadAt for Draft {
    fn bytes(&self) -> u64 {
        self.base.bytes()
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> std::result::Result<(), BlockError> {
        let (width, end) = (self.size.bytes_u64(), at.saturating_add(buffer.len() as u64));
        let changes = self.changes.lock();
        let span = word(at / width)..word(end.div_ceil(width));
        // A block that cannot be read may have been written anew.
        if let Err(error) = self.read_base(at, buffer) {
            let covered = span.clone().all(|addr| changes.contains_key(&addr));
            if !covered || end > self.bytes() {
                return Err(error);
            }
        }
        for (addr, block) in changes.range(span) {
            let start = u64::from(*addr) * width;
            let (from, to) = (at.max(start), end.min(start + width));
            let part = |base: u64| index(from - base)..index(to - base);
            if let (Some(place), Some(bytes)) = (buffer.get_mut(part(at)), block.get(part(start))) {
                place.copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

fn word(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl BlockDevice for Draft {
    fn block_bytes(&self) -> u32 {
        self.size.bytes()
    }

    fn blocks(&self) -> u64 {
        self.bytes() / self.size.bytes_u64()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> std::result::Result<(), BlockError> {
        self.read_at(first.0.saturating_mul(self.size.bytes_u64()), buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> std::result::Result<(), BlockError> {
        let count = (buffer.len() / self.size.width()) as u64;
        if first.0.saturating_add(count) > self.blocks() {
            return Err(BlockError::OutOfRange { first, count, blocks: self.blocks() });
        }
        for (addr, block) in (word(first.0)..).zip(buffer.chunks_exact(self.size.width())) {
            Draft::write(self, BlockAddr(addr), block);
        }
        Ok(())
    }

    fn flush(&mut self) -> std::result::Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, _: Lba, _: u64) -> std::result::Result<(), BlockError> {
        Ok(())
    }
}
