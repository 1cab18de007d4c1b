//! The translation table: where each logical block is stored (CAT paper, section 4 and figure 10).

use alloc::{vec, vec::Vec};

use crate::shape::Addr;

/// Four bytes for each logical block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table(Vec<u32>);

impl Table {
    /// Nothing is stored.
    pub(crate) fn new(logical_blocks: u32) -> Table {
        Table(vec![Addr::NONE.0; logical_blocks as usize])
    }

    /// Logical blocks of the disk.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Where a block is stored; nowhere if it lies outside the disk.
    pub(crate) fn get(&self, lba: u32) -> Addr {
        self.0.get(lba as usize).map_or(Addr::NONE, |addr| Addr(*addr))
    }

    pub(crate) fn set(&mut self, lba: u32, addr: Addr) {
        if let Some(entry) = self.0.get_mut(lba as usize) {
            *entry = addr.0;
        }
    }

    /// Each block that is stored, with its place.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u32, Addr)> {
        (0..).zip(&self.0).map(|(lba, addr)| (lba, Addr(*addr))).filter(|(_, addr)| !addr.is_none())
    }

    /// All entries in order, as a checkpoint keeps them.
    pub(crate) fn entries(&self) -> &[u32] {
        &self.0
    }

    /// Bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}
