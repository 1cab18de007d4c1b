//! Pages of a container that were programmed one behind the other and wait for the host's file, which takes them in two
//! writes.

use std::io;
use std::vec::Vec;

use crate::container::{Layout, PAGE_RECORD};
use crate::host::HostFile;
use crate::nand::BlockId;

/// Bytes that wait at the most, but for one page.
const BYTES_MOST: usize = 128 * 1024;

/// The pages, which lie in one block; none at first.
#[derive(Debug, Default)]
pub(crate) struct Run {
    block: u32,
    /// The index of the first page.
    first: u32,
    /// The pages as they are in the file, with their check sums.
    pages: Vec<u8>,
    records: Vec<u8>,
}

impl Run {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        (self.pages.len() + self.records.len()) as u64
    }

    fn count(&self) -> usize {
        self.records.len() / PAGE_RECORD
    }

    /// True if a page goes on where these end, and there is room.
    pub(crate) fn takes(&self, block: BlockId, index: u32) -> bool {
        let next = u64::from(self.first) + self.count() as u64;
        !self.is_empty() && self.block == block.0 && next == u64::from(index) && self.pages.len() < BYTES_MOST
    }

    /// Adds a page, which the run takes or begins with.
    pub(crate) fn push(&mut self, block: BlockId, index: u32, parts: [&[u8]; 2], record: &[u8; PAGE_RECORD]) {
        debug_assert!(self.is_empty() || self.takes(block, index), "page {index} of {block:?} ends a run");
        if self.is_empty() {
            (self.block, self.first) = (block.0, index);
        }
        let from = self.pages.len();
        for part in parts {
            self.pages.extend_from_slice(part);
        }
        let sum = crc32fast::hash(self.pages.get(from..).unwrap_or_default());
        self.pages.extend(sum.to_le_bytes());
        self.records.extend(record);
    }

    /// The bytes of a page, if it is here.
    pub(crate) fn page(&self, block: BlockId, index: u32) -> Option<&[u8]> {
        let at = index.checked_sub(self.first).filter(|_| self.block == block.0)? as usize;
        let bytes = self.pages.len().checked_div(self.count())?;
        self.pages.get(at * bytes..(at + 1) * bytes)
    }

    /// Writes the pages and then their records, so that a process that is killed leaves each page erased or whole. They
    /// stay here if that fails.
    pub(crate) fn write(&mut self, file: &dyn HostFile, layout: &Layout) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        file.write_all_at(&self.pages, layout.page_at(self.block, self.first))?;
        file.write_all_at(&self.records, layout.page_record_at(self.block, self.first))?;
        self.pages.clear();
        self.records.clear();
        Ok(())
    }
}
