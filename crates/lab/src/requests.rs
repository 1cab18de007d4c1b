//! The requests of a file system to its disk, one by one (F2FS paper, 3.2.2 and figure 5).

use pumice_ftl::Ftl;
use pumice_media::{BlockDevice, BlockError, Lba, Nand, SimChip};

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Blocks are read.
    Read,
    /// Blocks are written.
    Write,
    /// The contents of blocks are needed no more.
    Discard,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The kind of the request.
    pub kind: Kind,
    /// The first block.
    pub first: u64,
    /// Blocks.
    pub blocks: u64,
    /// Nanoseconds of device time before it was served.
    pub at_ns: u64,
}

/// A disk that keeps a list of its requests.
pub struct TracedDisk {
    disk: Ftl<SimChip>,
    requests: Vec<Request>,
}

impl TracedDisk {
    /// Nothing was asked so far.
    pub fn new(disk: Ftl<SimChip>) -> TracedDisk {
        TracedDisk { disk, requests: Vec::new() }
    }

    /// The disk itself.
    pub fn disk(&self) -> &Ftl<SimChip> {
        &self.disk
    }

    /// All that was asked, in order.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    fn note(&mut self, kind: Kind, first: Lba, blocks: u64) {
        let at_ns = self.disk.chip().stats().device_ns;
        self.requests.push(Request { kind, first: first.0, blocks, at_ns });
    }
}

impl BlockDevice for TracedDisk {
    fn block_bytes(&self) -> u32 {
        self.disk.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.disk.blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.note(Kind::Read, first, buffer.len() as u64 / u64::from(self.block_bytes()));
        self.disk.read(first, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.note(Kind::Write, first, buffer.len() as u64 / u64::from(self.block_bytes()));
        self.disk.write(first, buffer)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.disk.flush()
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.note(Kind::Discard, first, count);
        self.disk.discard(first, count)
    }
}
