//! Where a simulated chip keeps its pages: the trait under [`SimChip`](crate::SimChip).

use alloc::boxed::Box;
use alloc::vec;

use crate::{BlockId, NandError};

/// What a page holds, as the simulator knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum PageState {
    /// All ones, ready to be programmed.
    #[default]
    Erased = 0,
    /// Programmed; reads back what is stored.
    Programmed = 1,
    /// Reads as what is stored and is beyond correction.
    Garbage = 2,
    /// A program was cut early: reads as erased, but programming it now gives garbage.
    Spoiled = 3,
}

impl PageState {
    /// True if the page looks programmed to a reader.
    pub fn is_written(self) -> bool {
        matches!(self, PageState::Programmed | PageState::Garbage)
    }
}

/// What outlives an erase, and what an interrupted one leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wear {
    /// Erases so far, failed and cut ones included.
    pub erase_count: u32,
    /// The block carries the bad-block mark.
    pub bad: bool,
    /// An erase was cut: pages that look erased do not keep what is programmed.
    pub weak: bool,
}

/// Holds the pages of a chip. It knows no rules of NAND: [`SimChip`](crate::SimChip) enforces them and never
/// passes a block, index or buffer length outside the geometry the store was made for.
///
/// A store of a file orders its writes so that the loss of the process leaves each call done or not done.
pub trait Store {
    /// Wear and marks of a block.
    fn wear(&mut self, block: BlockId) -> Result<Wear, NandError>;

    /// Replaces wear and marks of a block.
    fn set_wear(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError>;

    /// The index after the last written page of a block; 0 if none is.
    fn next_page(&mut self, block: BlockId) -> Result<u32, NandError>;

    /// The state of the page at `index` of a block.
    fn page_state(&mut self, block: BlockId, index: u32) -> Result<PageState, NandError>;

    /// Fills both buffers with what the page holds, all ones where it is not written. `data` may be empty to
    /// read the spare bytes alone.
    fn read(
        &mut self,
        block: BlockId,
        index: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<PageState, NandError>;

    /// Stores a page and its state, whatever was there. The buffers are ignored unless `state` is written.
    fn write(
        &mut self,
        block: BlockId,
        index: u32,
        state: PageState,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError>;

    /// Makes all pages of a block erased and replaces its wear.
    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError>;

    /// Keeps what the chip remembers beside its pages; called by `flush` and when the chip is dropped.
    fn save(&mut self, chip: &crate::sim::Memory) -> Result<(), NandError>;

    /// Makes everything stored so far outlive a crash of the host.
    fn sync(&mut self) -> Result<(), NandError>;
}

/// Wear and page states of one block, as every store keeps them in memory.
#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    pub(crate) wear: Wear,
    next: u32,
    states: Box<[PageState]>,
}

impl BlockRecord {
    #[cfg(feature = "std")]
    pub(crate) fn new(wear: Wear, states: Box<[PageState]>) -> BlockRecord {
        let mut record = BlockRecord { wear, next: 0, states };
        record.find_next();
        record
    }

    pub(crate) fn erased(wear: Wear, pages: u32) -> BlockRecord {
        BlockRecord { wear, next: 0, states: vec![PageState::Erased; pages as usize].into_boxed_slice() }
    }

    pub(crate) fn erase(&mut self, wear: Wear) {
        self.wear = wear;
        self.next = 0;
        self.states.fill(PageState::Erased);
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    pub(crate) fn state(&self, index: u32) -> PageState {
        self.states.get(index as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set_state(&mut self, index: u32, state: PageState) {
        let Some(slot) = self.states.get_mut(index as usize) else { return };
        *slot = state;
        if state.is_written() {
            self.next = self.next.max(index + 1);
        } else if index + 1 == self.next {
            self.find_next();
        }
    }

    fn find_next(&mut self) {
        let last = self.states.iter().rposition(|state| state.is_written());
        self.next = last.and_then(|at| u32::try_from(at + 1).ok()).unwrap_or(0);
    }
}
