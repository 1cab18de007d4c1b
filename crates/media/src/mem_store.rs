//! Pages in memory, shared between clones until one of them writes.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::store::{BlockRecord, PageState, Store, Wear};
use crate::{BlockId, Geometry, NandError};

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

    fn block_mut(&mut self, block: BlockId) -> Result<&mut Block, NandError> {
        let at = block.0 as usize;
        let pages = self.pages_per_block;
        let group = self.groups.get_mut(at / GROUP).ok_or(OUT_OF_RANGE)?;
        let group = group.get_or_insert_with(|| Arc::new([const { None }; GROUP]));
        let slot = Arc::make_mut(group).get_mut(at % GROUP).ok_or(OUT_OF_RANGE)?;
        let fresh = || Block { record: BlockRecord::erased(Wear::default(), pages), bytes: Vec::new() };
        Ok(Arc::make_mut(slot.get_or_insert_with(|| Arc::new(fresh()))))
    }
}

/// A block outside the chip; the simulator never asks for one.
const OUT_OF_RANGE: NandError = NandError::Device(22);

impl Block {
    /// Puts a page at its place, which is the end of `bytes` as long as pages are written in order.
    fn put(&mut self, index: usize, pages: usize, data: &[u8], spare: &[u8]) {
        let stride = data.len() + spare.len();
        let at = index * stride;
        if self.bytes.is_empty() {
            self.bytes.reserve_exact(pages * stride);
        }
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

    fn write(
        &mut self,
        block: BlockId,
        index: u32,
        state: PageState,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError> {
        let pages = self.pages_per_block as usize;
        let block = self.block_mut(block)?;
        if state.is_written() {
            block.put(index as usize, pages, data, spare);
        }
        block.record.set_state(index, state);
        Ok(())
    }

    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError> {
        let pages = self.pages_per_block;
        let at = block.0 as usize;
        let group = self.groups.get_mut(at / GROUP).ok_or(OUT_OF_RANGE)?;
        let group = group.get_or_insert_with(|| Arc::new([const { None }; GROUP]));
        let slot = Arc::make_mut(group).get_mut(at % GROUP).ok_or(OUT_OF_RANGE)?;
        *slot = Some(Arc::new(Block { record: BlockRecord::erased(wear, pages), bytes: Vec::new() }));
        Ok(())
    }

    fn save(&mut self, _chip: &crate::sim::Memory) -> Result<(), NandError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), NandError> {
        Ok(())
    }
}
