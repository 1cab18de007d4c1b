//! The translation table: where each logical block is stored (CAT paper, section 4 and figure 10).

use alloc::{vec, vec::Vec};

use crate::shape::Addr;

/// Four bytes for each logical block.
#[derive(Debug)]
pub(crate) struct Table {
    addrs: Vec<u32>,
    /// Blocks that are stored.
    live: u64,
}

impl Table {
    /// Nothing is stored.
    pub(crate) fn new(logical_blocks: u32) -> Table {
        Table { addrs: vec![Addr::NONE.0; logical_blocks as usize], live: 0 }
    }

    /// Logical blocks of the disk.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.addrs.len()).unwrap_or(u32::MAX)
    }

    /// Where a block is stored; nowhere if it lies outside the disk.
    pub(crate) fn get(&self, lba: u32) -> Addr {
        self.addrs.get(lba as usize).map_or(Addr::NONE, |addr| Addr(*addr))
    }

    /// Forgets where everything is.
    pub(crate) fn clear(&mut self) {
        self.addrs.fill(Addr::NONE.0);
        self.live = 0;
    }

    pub(crate) fn set(&mut self, lba: u32, addr: Addr) {
        if let Some(entry) = self.addrs.get_mut(lba as usize) {
            self.live += u64::from(!addr.is_none());
            self.live -= u64::from(!Addr(*entry).is_none());
            *entry = addr.0;
        }
    }

    /// Each block that is stored, with its place.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u32, Addr)> {
        (0..).zip(&self.addrs).map(|(lba, addr)| (lba, Addr(*addr))).filter(|(_, addr)| !addr.is_none())
    }

    /// Logical blocks that are stored.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// All entries in order, as a checkpoint keeps them.
    pub(crate) fn entries(&self) -> &[u32] {
        &self.addrs
    }

    /// Bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.addrs.capacity() * size_of::<u32>()
    }
}
