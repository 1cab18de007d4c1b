//! Pages in memory, shared between clones until one of them writes.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use crate::memory::Memory;
use crate::nand::{BlockId, Geometry, NandError};
use crate::store::{BlockRecord, PageState, Store, Wear};

/// Blocks that share one slot of the directory. A clone copies the directory only; the first write to a
/// shared group copies this many pointers.
const GROUP: usize = 64;

/// A chip's pages in memory. Blocks never touched take no memory, so that a chip of 1 TiB can be made;
/// [`Clone`] takes one pointer for 64 blocks and copies a block when one of the clones writes to it.
#[derive(Clone, Debug)]
pub struct MemStore {
    page_bytes: usize,
    spare_bytes: usize,
    pages_per_block: u32,
    groups: Vec<Option<Arc<Group>>>,
    /// Reads of blocks since their erase: here, so that a read copies no block that clones share.
    reads: BTreeMap<BlockId, u32>,
    pool: Pool,
}

/// Memory of erased blocks, for the next blocks to be written: fresh memory costs more than the copy into it.
#[derive(Debug, Default)]
struct Pool(Vec<Vec<u8>>);

/// Bytes the pool may hold.
const POOL_BYTES: usize = 16 << 20;

impl Pool {
    fn give(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() > 0 && (self.0.len() + 1) * bytes.capacity() <= POOL_BYTES {
            bytes.clear();
            self.0.push(bytes);
        }
    }

    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }
}

impl Clone for Pool {
    /// Spare memory is not worth a copy.
    fn clone(&self) -> Pool {
        Pool::default()
    }
}

type Group = [Option<Arc<Block>>; GROUP];

#[derive(Clone, Debug)]
struct Block {
    record: BlockRecord,
    /// Pages with their free spare bytes, one after the other up to the last written; filled with ones
    /// where pages were skipped.
    bytes: Vec<u8>,
}

impl MemStore {
    /// An empty store for a chip of this shape.
    pub fn new(geometry: &Geometry) -> MemStore {
        let mut groups = Vec::new();
        groups.resize_with((geometry.blocks as usize).div_ceil(GROUP), || None);
        MemStore {
            page_bytes: geometry.page_bytes as usize,
            spare_bytes: geometry.free_spare_bytes as usize,
            pages_per_block: geometry.pages_per_block,
            groups,
            reads: BTreeMap::new(),
            pool: Pool::default(),
        }
    }

    /// Bytes of pages held in memory, shared ones included.
    pub fn resident_bytes(&self) -> u64 {
        let blocks = self.groups.iter().flatten().flat_map(|group| group.iter().flatten());
        blocks.map(|block| block.bytes.len() as u64).sum()
    }

    fn block(&self, block: BlockId) -> Option<&Block> {
        let at = block.0 as usize;
        self.groups.get(at / GROUP)?.as_ref()?.get(at % GROUP)?.as_deref()
    }

    fn slot(&mut self, block: BlockId) -> Result<&mut Option<Arc<Block>>, NandError> {
        let at = block.0 as usize;
        let group = self.groups.get_mut(at / GROUP).ok_or(OUT_OF_RANGE)?;
        let group = group.get_or_insert_with(|| Arc::new([const { None }; GROUP]));
        Arc::make_mut(group).get_mut(at % GROUP).ok_or(OUT_OF_RANGE)
    }

    fn block_mut(&mut self, block: BlockId) -> Result<&mut Block, NandError> {
        let pages = self.pages_per_block;
        let slot = self.slot(block)?;
        Ok(Arc::make_mut(slot.get_or_insert_with(|| Arc::new(Block::erased(Wear::default(), pages)))))
    }
}

/// A block outside the chip; the simulator never asks for one.
const OUT_OF_RANGE: NandError = NandError::Device(22);

impl Block {
    fn erased(wear: Wear, pages: u32) -> Block {
        Block { record: BlockRecord::erased(wear, pages), bytes: Vec::new() }
    }

    /// Puts a page at its place, which is the end of `bytes` as long as pages are written in order.
    fn put(&mut self, index: usize, pages: usize, data: &[u8], spare: &[u8]) {
        let stride = data.len() + spare.len();
        let at = index * stride;
        self.bytes.reserve_exact((pages * stride).saturating_sub(self.bytes.len()));
        if self.bytes.len() < at {
            self.bytes.resize(at, 0xFF);
        }
        if let Some(place) = self.bytes.get_mut(at..at + stride) {
            let (data_place, spare_place) = place.split_at_mut(data.len());
            data_place.copy_from_slice(data);
            spare_place.copy_from_slice(spare);
        } else {
            self.bytes.truncate(at);
            self.bytes.extend_from_slice(data);
            self.bytes.extend_from_slice(spare);
        }
    }
}

impl Store for MemStore {
    fn wear(&mut self, block: BlockId) -> Result<Wear, NandError> {
        Ok(self.block(block).map_or_else(Wear::default, |b| b.record.wear))
    }

    fn set_wear(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        self.block_mut(block)?.record.wear = wear;
        Ok(())
    }

    fn next_page(&mut self, block: BlockId) -> Result<u32, NandError> {
        Ok(self.block(block).map_or(0, |b| b.record.next()))
    }

    fn page_state(&mut self, block: BlockId, index: u32) -> Result<PageState, NandError> {
        Ok(self.block(block).map_or(PageState::Erased, |b| b.record.state(index)))
    }

    fn read(
        &mut self,
        block: BlockId,
        index: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<PageState, NandError> {
        let at = index as usize * (self.page_bytes + self.spare_bytes);
        let spare_at = at + self.page_bytes;
        let block = self.block(block);
        let state = block.map_or(PageState::Erased, |b| b.record.state(index));
        let bytes = block.filter(|_| state.is_written()).map_or(&[][..], |b| &b.bytes);
        let page = bytes.get(at..at + data.len()).zip(bytes.get(spare_at..spare_at + spare.len()));
        if let Some((data_bytes, spare_bytes)) = page {
            data.copy_from_slice(data_bytes);
            spare.copy_from_slice(spare_bytes);
        } else {
            data.fill(0xFF);
            spare.fill(0xFF);
        }
        Ok(state)
    }

    fn programmed_s(&mut self, block: BlockId, index: u32) -> Result<u32, NandError> {
        Ok(self.block(block).map_or(0, |b| b.record.programmed_s(index)))
    }

    fn reads(&mut self, block: BlockId) -> Result<u32, NandError> {
        Ok(self.reads.get(&block).copied().unwrap_or(0))
    }

    fn count_read(&mut self, block: BlockId) -> Result<(), NandError> {
        let reads = self.reads.entry(block).or_insert(0);
        *reads = reads.saturating_add(1);
        Ok(())
    }

    fn write(
        &mut self,
        (block, index): (BlockId, u32),
        state: PageState,
        programmed_s: u32,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError> {
        let pages = self.pages_per_block as usize;
        let fresh = state.is_written() && self.block(block).is_none_or(|b| b.bytes.capacity() == 0);
        let pooled = if fresh { self.pool.take() } else { Vec::new() };
        let block = self.block_mut(block)?;
        if fresh {
            block.bytes = pooled;
        }
        if state.is_written() {
            block.put(index as usize, pages, data, spare);
        }
        block.record.set(index, state, programmed_s);
        Ok(())
    }

    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        let pages = self.pages_per_block;
        let slot = self.slot(block)?;
        let mut unshared = slot.as_mut().and_then(Arc::get_mut);
        let bytes = unshared.as_mut().map(|b| mem::take(&mut b.bytes)).unwrap_or_default();
        match unshared {
            Some(block) => block.record.erase(wear),
            None => *slot = Some(Arc::new(Block::erased(wear, pages))),
        }
        self.pool.give(bytes);
        self.reads.remove(&block);
        Ok(())
    }

    fn save(&mut self, _chip: &Memory) -> Result<(), NandError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), NandError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erased_blocks_leave_so_much_memory_and_no_more() {
        let mut pool = Pool::default();
        pool.give(Vec::new());
        assert!(pool.0.is_empty(), "there is nothing to keep");
        (0..6).for_each(|_| pool.give(Vec::with_capacity(POOL_BYTES / 4)));
        assert_eq!(pool.0.len(), 4);
        assert!((0..4).all(|_| pool.take().capacity() > 0));
        assert_eq!(pool.take().capacity(), 0);
    }
}
