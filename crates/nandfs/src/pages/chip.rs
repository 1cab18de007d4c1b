//! Log pages on the medium: chunks with their descriptors.

use alloc::sync::Arc;

use pumice_flashlog::{Fault, Look, Medium, Page, Peek};
use pumice_media::{AnyChip, NandError};
use pumice_vfs::Result;

use super::Pages;
use crate::error::{Damage, device};
use crate::tag::{Layout, Tag};

/// A log page that proved itself.
pub(crate) struct LogPage {
    pub(crate) tag: Tag,
    pub(crate) page: Arc<Page>,
}

impl LogPage {
    pub(crate) fn payload(&self) -> &[u8] {
        &self.page.payload
    }
}

impl<'c> Pages<'c> {
    /// The chip, to be read.
    pub(crate) fn medium(&self) -> &Medium<'c> {
        &self.medium
    }

    /// The same for what guards its blocks, and for the roots.
    pub(crate) fn medium_mut(&mut self) -> &mut Medium<'c> {
        &mut self.medium
    }

    /// The chip, given back.
    pub(crate) fn into_chip(self) -> AnyChip<'c> {
        self.medium.into_chip()
    }

    /// Reads a log page and proves it.
    pub(crate) fn read_page(&mut self, page: u32) -> Result<LogPage> {
        let found = self.medium.read(page).map_err(Damage::of_page)?;
        let tag = Tag::of(&found, &self.params.tags).ok_or(Damage::Page(Fault::Unproved(page)))?;
        if tag.descs.len() > 1 {
            self.medium.keep(page, &found);
        }
        Ok(LogPage { tag, page: found })
    }

    /// The chunks of a page by its tag alone if that lies in the spare area, not proved then; none if the page is
    /// erased.
    pub(crate) fn read_tag(&mut self, page: u32) -> Result<Option<Tag>> {
        match self.medium.tag(page) {
            Ok(tag) => match Tag::decode(&tag, None, &self.params.tags) {
                Some(tag) => Ok(Some(tag)),
                None => Ok(Some(self.read_page(page)?.tag)),
            },
            Err(Fault::Erased(_)) => Ok(None),
            Err(fault) => Err(Damage::of_page(fault)),
        }
    }

    /// Looks at the start of a tag.
    pub(crate) fn peek(&mut self, page: u32) -> Result<Peek> {
        self.medium.peek(page).map_err(device)
    }

    /// The next programmed page of a block, from `index` on, with the result of a look at it.
    pub(crate) fn next_programmed(&mut self, block: u32, index: u32) -> Result<Option<(u32, Look)>> {
        self.medium.next_programmed(block, index).map_err(device)
    }

    /// True if the block carries a bad-block mark.
    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool> {
        self.medium.is_bad(block).map_err(device)
    }

    /// Puts a bad-block mark on a block.
    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<()> {
        self.medium.mark_bad(block).map_err(device)
    }
}

/// Programs a log page; `payload` has its full length, with room left for overflowing descriptors.
pub(super) fn program(
    medium: &mut Medium<'_>,
    tags: &Layout,
    page: u32,
    tag: &Tag,
    payload: &mut [u8],
) -> core::result::Result<(), NandError> {
    let (tag, overflow) = tag.encode(tags);
    let start = payload.len().saturating_sub(overflow.len());
    if let Some(tail) = payload.get_mut(start..) {
        tail.copy_from_slice(&overflow);
    }
    medium.program_counted(page, &tag, payload)
}
