//! Section 3.2, figure 2: the segment that is being written, and its parity, which grows page by page.
//!
//! Parity is that of `ecc::Parity`, GF(2^16). A group is the pages of a block since the last parity pages; it ends with K
//! parity pages. Page p of the parity blocks is that of page p of the regular blocks. The last K are the parity pages of
//! the parity block itself. Pages where all blocks have none are left out.

use pumice_ecc::Parity;
use pumice_vfs::Result;

use crate::error::code;
use crate::layout::{Addr, Layout, count};
use crate::segment::Reverse;

/// The open segment.
pub(crate) struct Open {
    layout: Layout,
    pub(crate) segment: u32,
    pub(crate) sequence: u32,
    /// Its good blocks, regular ones first.
    blocks: Vec<u32>,
    /// The block that is written, counted among `blocks`, and the next page in it.
    block: usize,
    page: u32,
    /// The page with which the parity group begins.
    group: u32,
    parity: Parity,
    /// The parity blocks: of the pages at the same place of all blocks, for each place but those of their own parity pages.
    stripes: Vec<Parity>,
    /// Pages that the stripes have taken of this block.
    taken: u32,
    /// Pages of the segment that count as zeros.
    pub(crate) void: Vec<bool>,
    pub(crate) reverse: Vec<Reverse>,
}

impl Open {
    pub(crate) fn new(layout: Layout, segment: u32, sequence: u32, blocks: Vec<u32>) -> Result<Open> {
        let parity = |pages: u32| Parity::new(pages as usize, layout.page_bytes()).map_err(code);
        let m = layout.shape.parity_blocks;
        let stripes = if m == 0 { 0 } else { layout.pages() - layout.shape.parity_pages };
        Ok(Open {
            layout,
            segment,
            sequence,
            blocks,
            block: 0,
            page: 0,
            group: 0,
            parity: parity(layout.shape.parity_pages)?,
            stripes: (0..stripes).map(|_| parity(m)).collect::<Result<_>>()?,
            taken: 0,
            void: vec![true; layout.pages_of_segment() as usize],
            reverse: Vec::new(),
        })
    }

    fn regular(&self) -> usize {
        self.blocks.len() - self.layout.shape.parity_blocks as usize
    }

    pub(crate) fn is_last_block(&self) -> bool {
        self.block + 1 == self.regular()
    }

    pub(crate) fn parity_blocks(&self) -> Vec<u32> {
        self.blocks[self.regular()..].to_vec()
    }

    /// The place of the next page.
    pub(crate) fn here(&self) -> Addr {
        self.layout.page(self.blocks[self.block], self.page)
    }

    /// Pages that this block takes before parity and, in the last block, the summary of so many entries more.
    pub(crate) fn room(&self, more: usize) -> u32 {
        let k = self.layout.shape.parity_pages;
        let summary = self.layout.summary(self.reverse.len() + more);
        match (summary, self.is_last_block()) {
            (None, _) => 0,
            (Some(start), true) => start.saturating_sub(k + self.page),
            (Some(_), false) => self.layout.pages().saturating_sub(k + self.page),
        }
    }

    /// Pages since the last parity pages.
    pub(crate) fn group_pages(&self) -> u32 {
        self.page - self.group
    }

    /// The parity pages of the group, which ends with them.
    pub(crate) fn end_group(&mut self) -> Vec<Vec<u8>> {
        let pages = self.parity.pages().map(<[u8]>::to_vec).collect();
        self.parity.clear();
        self.group = self.page + self.layout.shape.parity_pages;
        pages
    }

    /// A page was programmed, or failed: both take the place. Nothing is where it failed, and parity is made of that.
    pub(crate) fn take(&mut self, data: &[u8], is_parity: bool, is_void: bool) -> Result<()> {
        let zeros = vec![0; data.len()];
        let data = if is_void { &zeros } else { data };
        if !is_parity {
            self.parity.push(data).map_err(code)?;
        }
        self.void_until(self.page)?;
        if let Some(stripe) = self.stripes.get_mut(self.page as usize) {
            stripe.push(data).map_err(code)?;
        }
        let at = self.layout.page_in_segment(self.here()) as usize;
        self.void[at] = is_void;
        self.page += 1;
        self.taken = self.page;
        Ok(())
    }

    /// Nothing will be written in this block before a page.
    fn void_until(&mut self, page: u32) -> Result<()> {
        let zeros = vec![0; self.layout.page_bytes()];
        for at in self.taken..page {
            if let Some(stripe) = self.stripes.get_mut(at as usize) {
                stripe.push(&zeros).map_err(code)?;
            }
        }
        self.taken = self.taken.max(page);
        Ok(())
    }

    /// Goes on in the next block.
    pub(crate) fn next_block(&mut self) -> Result<()> {
        self.void_until(self.layout.pages())?;
        debug_assert!(!self.is_last_block(), "the last block ends with the segment");
        (self.block, self.page, self.group, self.taken) = (self.block + 1, 0, 0, 0);
        Ok(())
    }

    /// Goes to where the summary begins; no page of it is void.
    pub(crate) fn go_to_summary(&mut self) -> Result<Addr> {
        while !self.is_last_block() {
            self.next_block()?;
        }
        let start = self.layout.summary(self.reverse.len()).unwrap_or(self.page);
        debug_assert!(start >= self.page, "the summary has room");
        self.void_until(start)?;
        (self.page, self.group) = (start, start);
        let first = self.here();
        for page in start..self.layout.pages() {
            let at = self.layout.page(self.blocks[self.block], page);
            self.void[self.layout.page_in_segment(at) as usize] = false;
        }
        self.claim_parity_blocks();
        Ok(first)
    }

    /// The pages of the parity blocks, place by place; `None` where all blocks are void.
    pub(crate) fn stripe(&self, page: u32) -> Option<Vec<Vec<u8>>> {
        let is_used = self.blocks[..self.regular()].iter().any(|block| {
            let at = self.layout.page_in_segment(self.layout.page(*block, page));
            !self.void[at as usize]
        });
        let stripe = self.stripes.get(page as usize).filter(|_| is_used)?;
        Some(stripe.pages().map(<[u8]>::to_vec).collect())
    }

    /// Notes the place of a key.
    pub(crate) fn note(&mut self, key: u64, page: Addr, offset: u16) {
        let place = self.layout.page_in_segment(page);
        debug_assert!(place < u32::from(u16::MAX), "pages of a segment are counted in 16 bits");
        self.reverse.push(Reverse { key, page: u16::try_from(place).unwrap_or(u16::MAX), offset });
    }

    /// Places of a parity block before its own parity pages.
    pub(crate) fn places(&self) -> core::ops::Range<u32> {
        0..count(self.stripes.len())
    }

    /// The pages of the parity blocks that will be written are not void.
    fn claim_parity_blocks(&mut self) {
        let used: Vec<u32> = self.places().filter(|place| self.stripe(*place).is_some()).collect();
        let own = self.layout.pages() - self.layout.shape.parity_pages..self.layout.pages();
        for block in self.parity_blocks() {
            for place in used.iter().copied().chain(own.clone()) {
                let at = self.layout.page_in_segment(self.layout.page(block, place));
                self.void[at as usize] = false;
            }
        }
    }
}
