//! Section 3.2: scrubbing. The quick form reads no page. It compares the signatures in the spare areas of a parity
//! group, and of a stripe, with those of its parity. The full form reads each page and repairs it. Section 6: the
//! cleaner moves what is wrong.

use pumice_ecc::Parity;
use pumice_vfs::Result;

use crate::error::code;
use crate::layout::{Addr, count};
use crate::spare::{Kind, Tag};
use crate::store::Store;
use crate::volume::Volume;

/// The results of a scrub.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scrub {
    /// Pages looked at; of the quick form, their spare areas.
    pub pages: u64,
    /// Pages, or groups of signatures, that were wrong.
    pub wrong: u64,
    /// Pages among them that could not be brought back.
    pub lost: u64,
    /// Segments that were emptied.
    pub moved: u32,
}

impl Volume<'_> {
    /// Sections 3.2 and 6: looks at every segment in use, in full or by signatures alone. Where something is wrong its data
    /// moves, unless the mount writes nothing. `progress` is told how many of how many segments were looked at.
    pub fn scrub(&mut self, is_quick: bool, progress: &mut dyn FnMut(u32, u32)) -> Result<Scrub> {
        let mut found = Scrub::default();
        let segments = self.layout().segments();
        for segment in 0..segments {
            progress(segment, segments);
            if !self.shared_log().usage()[segment as usize].may_be_live() {
                continue;
            }
            let store = self.log().store();
            if is_quick {
                store.scrub_quick(segment, &mut found)?;
            } else {
                store.scrub_full(segment, &mut found)?;
            }
        }
        if self.is_writable() {
            found.moved = self.clean_damaged()?;
        }
        Ok(found)
    }
}

impl Store<'_> {
    fn scrub_full(&mut self, segment: u32, found: &mut Scrub) -> Result<()> {
        let layout = self.layout();
        let void = self.void_of(segment)?;
        for block in self.good_blocks(segment)? {
            for index in 0..layout.pages() {
                let at = layout.page(block, index);
                let place = layout.page_in_segment(at) as usize;
                if void.as_ref().is_some_and(|void| void[place]) {
                    continue;
                }
                let read = self.flash().read(at)?;
                found.pages += 1;
                // Before a segment is ended no list has its unwritten pages.
                if read.is_sound || (void.is_none() && read.is_blank) {
                    continue;
                }
                found.wrong += 1;
                self.mark_damaged(at);
                // The last parity pages of a block can be made again of the pages they are for.
                let is_made = index >= layout.pages() - layout.shape.parity_pages;
                found.lost += u64::from(!is_made && self.repair(at).is_err());
            }
        }
        Ok(())
    }

    fn scrub_quick(&mut self, segment: u32, found: &mut Scrub) -> Result<()> {
        let layout = self.layout();
        let m = layout.shape.parity_blocks as usize;
        let void = self.void_of(segment)?;
        let blocks = self.good_blocks(segment)?;
        let Some(regular) = blocks.len().checked_sub(m) else { return Ok(()) };
        let mut all: Vec<Vec<Option<Tag>>> = Vec::new();
        for block in &blocks {
            let mut tags = Vec::new();
            for index in 0..layout.pages() {
                let at = layout.page(*block, index);
                let is_void = void.as_ref().is_some_and(|void| void[layout.page_in_segment(at) as usize]);
                found.pages += 1;
                let tag = self.flash().read_spare(at)?.0;
                tags.push(tag.filter(|_| !is_void));
            }
            all.push(tags);
        }
        for (block, tags) in blocks.iter().zip(&all) {
            for index in wrong_groups(tags)? {
                found.wrong += 1;
                self.mark_damaged(layout.page(*block, index));
            }
        }
        if void.is_none() || m == 0 {
            return Ok(());
        }
        for index in 0..layout.pages() - layout.shape.parity_pages {
            let column: Vec<Option<Tag>> = all.iter().map(|tags| tags[index as usize]).collect();
            if !agrees(&column[..regular], &column[regular..])? {
                found.wrong += 1;
                self.mark_damaged(Addr(layout.first_page(segment).0));
            }
        }
        Ok(())
    }
}

/// The first parity pages of groups with wrong parity: the signatures of their pages do not give that of the parity.
fn wrong_groups(tags: &[Option<Tag>]) -> Result<Vec<u32>> {
    let mut wrong = Vec::new();
    for (index, tag) in tags.iter().enumerate() {
        let Some(tag) = tag.filter(|tag| tag.kind == Kind::Parity && tag.number == 0) else { continue };
        let end = index + tag.shape.parity_pages as usize;
        let start = index.checked_sub(usize::from(tag.group));
        let (Some(start), true) = (start, end <= tags.len()) else {
            wrong.push(count(index));
            continue;
        };
        if !agrees(&tags[start..index], &tags[index..end])? {
            wrong.push(count(index));
        }
    }
    Ok(wrong)
}

/// True if the signatures of parity pages are the parity of the signatures (2.2); a page without one counts as zeros.
fn agrees(pages: &[Option<Tag>], parity: &[Option<Tag>]) -> Result<bool> {
    let Some(any) = pages.iter().flatten().next() else { return Ok(parity.iter().all(Option::is_none)) };
    let bytes = any.shape.signature_bytes as usize;
    let mut sum = Parity::new(parity.len(), bytes).map_err(code)?;
    for tag in pages {
        let signature = tag.map_or([0; 8], |tag| tag.signature);
        sum.push(&signature[..bytes]).map_err(code)?;
    }
    let mut both = sum.pages().zip(parity);
    Ok(both.all(|(want, tag)| tag.is_some_and(|tag| tag.signature[..bytes] == *want)))
}
