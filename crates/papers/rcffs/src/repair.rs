//! Section 3.2: repair. A page with a wrong signature counts as missing: the parity pages of its erase block bring it
//! back, and where too many are missing there, the parity blocks of the segment.

use pumice_common::damaged;
use pumice_ecc::Repair;
use pumice_vfs::Result;

use crate::error::code;
use crate::layout::{Addr, count};
use crate::spare::{Kind, Tag, signature};
use crate::store::Store;

/// The pages that parity pages were made of, and these.
struct Group {
    start: u32,
    /// The first parity page.
    parity: u32,
    end: u32,
}

impl Store<'_> {
    /// Brings a page back.
    pub(crate) fn repair(&mut self, at: Addr) -> Result<Vec<u8>> {
        self.mark_damaged(at);
        if let Some(page) = self.repair_in_block(at)? {
            self.repairs.in_block += 1;
            return Ok(page);
        }
        if let Some(page) = self.repair_in_segment(at)? {
            self.repairs.in_segment += 1;
            return Ok(page);
        }
        self.repairs.lost += 1;
        Err(damaged(format_args!(
            "page {} is wrong, and more are wrong in its block and its segment than parity brings back",
            at.0
        )))
    }

    /// The group of a page: the next parity page that can be read says so.
    fn group_of(&mut self, at: Addr) -> Result<Option<Group>> {
        let layout = self.layout();
        let (block, index) = (layout.block_of(at), layout.page_in_block(at));
        let mut limit = layout.pages();
        for page in index..layout.pages() {
            let (tag, _) = self.flash.read_spare(layout.page(block, page))?;
            let Some(Tag { kind: Kind::Parity, group, number, .. }) = tag else { continue };
            let Some(parity) = page.checked_sub(u32::from(number)) else { continue };
            let Some(start) = parity.checked_sub(u32::from(group)) else { continue };
            let end = parity + layout.shape.parity_pages;
            if end > layout.pages() || index >= end {
                continue;
            }
            if start <= index {
                return Ok(Some(Group { start, parity, end }));
            }
            limit = start;
            break;
        }
        self.group_without_parity(at, limit)
    }

    /// The group of a page in a group that lost all parity pages, where the page is one of them. They are the last
    /// pages of the block that are not void, before another group begins at `limit`.
    fn group_without_parity(&mut self, at: Addr, limit: u32) -> Result<Option<Group>> {
        let layout = self.layout();
        let (block, index, segment) = (layout.block_of(at), layout.page_in_block(at), layout.segment_of(at));
        let void = self.void_of(segment)?;
        if void.is_none() && self.sought != Some(segment) {
            return Ok(None);
        }
        let mut is_void = Vec::new();
        for page in (index + 1..limit).map(|page| layout.page(block, page)) {
            is_void.push(match &void {
                Some(void) => void[layout.page_in_segment(page) as usize],
                // A wrong guess makes no segment information.
                None => self.flash.read_spare(page)?.1,
            });
        }
        let written = is_void.iter().position(|is_void| *is_void).unwrap_or(is_void.len());
        let end = index + 1 + count(written);
        let Some(parity) = end.checked_sub(layout.shape.parity_pages) else { return Ok(None) };
        if index < parity || is_void[written..].contains(&false) {
            return Ok(None);
        }
        let mut start = parity;
        while let Some(before) = start.checked_sub(1) {
            let (tag, _) = self.flash.read_spare(layout.page(block, before))?;
            if tag.is_some_and(|tag| tag.kind == Kind::Parity) {
                break;
            }
            start = before;
        }
        Ok(Some(Group { start, parity, end }))
    }

    /// Reads the pages of one erase block, those of the group.
    pub(crate) fn repair_in_block(&mut self, at: Addr) -> Result<Option<Vec<u8>>> {
        let layout = self.layout();
        let Some(group) = self.group_of(at)? else { return Ok(None) };
        let void = self.void_of(layout.segment_of(at))?;
        let k = layout.shape.parity_pages as usize;
        let mut repair = Repair::new(k, layout.page_bytes()).map_err(code)?;
        let block = layout.block_of(at);
        for index in group.start..group.end {
            let page = layout.page(block, index);
            let is_void = void.as_ref().is_some_and(|void| void[layout.page_in_segment(page) as usize]);
            let is_known_zero = is_void && index < group.parity;
            let read = self.flash.read(page)?;
            if is_known_zero {
                repair.push(&vec![0; layout.page_bytes()]).map_err(code)?;
            } else if read.is_sound {
                repair.push(&read.data).map_err(code)?;
            } else {
                repair.push_lost();
            }
        }
        let index = layout.page_in_block(at) - group.start;
        self.proved(at, repair, index as usize)
    }

    /// Reads the page at the same place of each block of the segment; a wrong page there is repaired in its block.
    pub(crate) fn repair_in_segment(&mut self, at: Addr) -> Result<Option<Vec<u8>>> {
        let layout = self.layout();
        let (segment, index) = (layout.segment_of(at), layout.page_in_block(at));
        let m = layout.shape.parity_blocks as usize;
        let blocks = self.good_blocks(segment)?;
        // The parity pages of whole blocks are in no stripe.
        let has_stripe = m > 0 && index < layout.pages() - layout.shape.parity_pages;
        let Some(regular) = blocks.len().checked_sub(m).filter(|_| has_stripe) else { return Ok(None) };
        let void = self.void_of(segment)?;
        let mut repair = Repair::new(m, layout.page_bytes()).map_err(code)?;
        let mut place = None;
        for (number, block) in blocks.iter().enumerate() {
            let page = layout.page(*block, index);
            if page == at {
                place = Some(number);
                repair.push_lost();
                continue;
            }
            let read = self.flash.read(page)?;
            let is_void = match &void {
                Some(void) => void[layout.page_in_segment(page) as usize],
                None => read.is_blank,
            };
            // A segment that was cut short has no parity blocks yet.
            if is_void && number < regular {
                repair.push(&vec![0; layout.page_bytes()]).map_err(code)?;
            } else if read.is_sound {
                repair.push(&read.data).map_err(code)?;
            } else if let Some(found) = self.repair_in_block(page)? {
                repair.push(&found).map_err(code)?;
            } else {
                repair.push_lost();
            }
        }
        match place {
            Some(place) => self.proved(at, repair, place),
            None => Ok(None),
        }
    }

    /// The page that was asked for, if its signature, where that can be read, holds.
    fn proved(&mut self, at: Addr, repair: Repair, place: usize) -> Result<Option<Vec<u8>>> {
        let Ok(found) = repair.finish() else { return Ok(None) };
        let Some((_, page)) = found.into_iter().find(|(number, _)| *number == place) else { return Ok(None) };
        let (tag, _) = self.flash.read_spare(at)?;
        let holds = match tag {
            Some(tag) => signature(&page, tag.shape)? == tag.signature,
            None => true,
        };
        Ok(holds.then_some(page))
    }
}
