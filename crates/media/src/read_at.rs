//! Reading a disk from many threads at once.

use crate::block::BlockError;

/// A disk that several threads read at the same time, at any byte.
pub trait ReadAt: Send + Sync {
    /// Bytes of the device; never changes.
    fn bytes(&self) -> u64;

    /// Fills `buffer` with the bytes from `at` on. A range that reaches beyond the end is
    /// [`BlockError::OutOfRange`], counted in bytes.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError>;
}

impl<D: ReadAt + ?Sized> ReadAt for alloc::boxed::Box<D> {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        (**self).read_at(at, buffer)
    }
}

impl<D: ReadAt + ?Sized> ReadAt for alloc::sync::Arc<D> {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        (**self).read_at(at, buffer)
    }
}

impl ReadAt for alloc::vec::Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let found = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..buffer.len()));
        let Some(found) = found else {
            return Err(BlockError::OutOfRange {
                first: crate::Lba(at),
                count: buffer.len() as u64,
                blocks: self.bytes(),
            });
        };
        buffer.copy_from_slice(found);
        Ok(())
    }
}
