//! The store of a simulated chip's pages: the trait under [`SimChip`](crate::SimChip).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::memory::Memory;
use crate::nand::{BlockId, NandError};

/// The state of a page, as the simulator knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum PageState {
    /// All ones, ready to be programmed.
    #[default]
    Erased = 0,
    /// Programmed; reads back the stored bytes.
    Programmed = 1,
    /// Reads as the stored bytes and is beyond correction.
    Garbage = 2,
    /// A program was cut early: reads as erased, but programming it now gives garbage.
    Spoiled = 3,
    /// A program was cut early: reads as erased; new data reads right at first and then fades.
    Frail = 4,
}

impl PageState {
    /// True if the page looks programmed to a reader.
    pub fn is_written(self) -> bool {
        matches!(self, PageState::Programmed | PageState::Garbage)
    }
}

/// The state that outlives an erase, and the effects of an interrupted one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wear {
    /// Erases so far, failed and cut ones included.
    pub erase_count: u32,
    /// The block carries the bad-block mark.
    pub bad: bool,
    /// The block's strength after an interrupted erase.
    pub hold: Hold,
}

/// The strength with which a block keeps new data where it looks erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Hold {
    /// As it should.
    #[default]
    Sound,
    /// An erase was cut: new data is lost at once.
    Weak,
    /// An erase was cut: new data reads right at first and then fades.
    Frail,
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

    /// Fills both buffers with the page's bytes, all ones where it is not written. `data` may be empty to read the
    /// spare bytes alone.
    fn read(
        &mut self,
        block: BlockId,
        index: u32,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<PageState, NandError>;

    /// The time when the page at `index` of a block was programmed, by the chip's clock; 0 if it is not.
    fn programmed_s(&mut self, block: BlockId, index: u32) -> Result<u32, NandError>;

    /// Reads of the block's pages since its erase, as [`Store::count_read`] counted them.
    fn reads(&mut self, block: BlockId) -> Result<u32, NandError>;

    /// Counts one more read of a page of the block. The count is kept by `save`, not by each call.
    fn count_read(&mut self, block: BlockId) -> Result<(), NandError>;

    /// Stores a page, its state and the time of its program, whatever was there. The buffers are ignored unless
    /// `state` is written.
    fn write(
        &mut self,
        place: (BlockId, u32),
        state: PageState,
        programmed_s: u32,
        data: &[u8],
        spare: &[u8],
    ) -> Result<(), NandError>;

    /// Makes all pages of a block erased, forgets its reads and replaces its wear.
    fn erase(&mut self, block: BlockId, wear: Wear) -> Result<(), NandError>;

    /// Keeps the chip's memory beside its pages; called by `flush` and when the chip is dropped.
    fn save(&mut self, chip: &Memory) -> Result<(), NandError>;

    /// Makes everything stored so far outlive a crash of the host.
    fn sync(&mut self) -> Result<(), NandError>;

    /// Bytes that pages may still take; none if they cannot run out.
    fn room(&self) -> Result<Option<u64>, NandError> {
        Ok(None)
    }
}

/// Wear and pages of one block, as every store keeps them in memory.
#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    pub(crate) wear: Wear,
    next: u32,
    states: Box<[PageState]>,
    /// The time when each page was programmed; shorter where the rest was programmed at 0.
    programmed_s: Vec<u32>,
}

impl BlockRecord {
    pub(crate) fn erased(wear: Wear, pages: u32) -> BlockRecord {
        let states = vec![PageState::Erased; pages as usize].into_boxed_slice();
        BlockRecord { wear, next: 0, states, programmed_s: Vec::new() }
    }

    pub(crate) fn erase(&mut self, wear: Wear) {
        self.wear = wear;
        self.next = 0;
        self.states.fill(PageState::Erased);
        self.programmed_s.clear();
    }

    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    pub(crate) fn state(&self, index: u32) -> PageState {
        self.states.get(index as usize).copied().unwrap_or_default()
    }

    pub(crate) fn programmed_s(&self, index: u32) -> u32 {
        self.programmed_s.get(index as usize).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, index: u32, state: PageState, programmed_s: u32) {
        let at = index as usize;
        let Some(slot) = self.states.get_mut(at) else { return };
        *slot = state;
        if programmed_s > 0 && self.programmed_s.len() <= at {
            self.programmed_s.resize(at + 1, 0);
        }
        if let Some(slot) = self.programmed_s.get_mut(at) {
            *slot = programmed_s;
        }
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
