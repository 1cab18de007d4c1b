//! Log pages as this file system sees them: chunks with their descriptors, on the medium.

use alloc::sync::Arc;

use pumice_flashlog::{Fault, Look, Medium, Page, Peek};
use pumice_media::{AnyChip, NandError};
use pumice_vfs::FsError;

use crate::error::{Damage, device};
use crate::params::Params;
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

/// The chip.
pub(crate) struct Flash<'c> {
    pub(crate) medium: Medium<'c>,
    tags: Layout,
}

impl<'c> Flash<'c> {
    pub(crate) fn new(nand: AnyChip<'c>, params: &Params) -> Flash<'c> {
        Flash { medium: Medium::new(nand, params.shape), tags: params.tags }
    }

    /// Reads a log page and proves it.
    pub(crate) fn read(&mut self, page: u32) -> Result<LogPage, FsError> {
        let found = self.medium.read(page).map_err(Damage::of_page)?;
        let tag = Tag::of(&found, &self.tags).ok_or(Damage::Page(page))?;
        if tag.descs.len() > 1 {
            self.medium.keep(page, &found);
        }
        Ok(LogPage { tag, page: found })
    }

    /// The chunks of a page by its tag alone if that lies in the spare area, not proved then; none if the page is
    /// erased.
    pub(crate) fn read_tag(&mut self, page: u32) -> Result<Option<Tag>, FsError> {
        match self.medium.tag(page) {
            Ok(tag) => match Tag::decode(&tag, None, &self.tags) {
                Some(tag) => Ok(Some(tag)),
                None => Ok(Some(self.read(page)?.tag)),
            },
            Err(Fault::Erased(_)) => Ok(None),
            Err(fault) => Err(Damage::of_page(fault)),
        }
    }

    /// Looks at the start of a tag.
    pub(crate) fn peek(&mut self, page: u32) -> Result<Peek, FsError> {
        self.medium.peek(page).map_err(device)
    }

    /// The next programmed page of a block, from `index` on, with the result of a look at it.
    pub(crate) fn next_programmed(&mut self, block: u32, index: u32) -> Result<Option<(u32, Look)>, FsError> {
        self.medium.next_programmed(block, index).map_err(device)
    }

    /// True if the block carries a bad-block mark.
    pub(crate) fn is_bad(&mut self, block: u32) -> Result<bool, FsError> {
        self.medium.is_bad(block).map_err(device)
    }

    /// Puts a bad-block mark on a block.
    pub(crate) fn mark_bad(&mut self, block: u32) -> Result<(), FsError> {
        self.medium.mark_bad(block).map_err(device)
    }

    /// Programs a log page; `payload` has its full length, with room left for overflowing descriptors.
    pub(crate) fn program(&mut self, page: u32, tag: &Tag, payload: &mut [u8]) -> Result<(), NandError> {
        let (tag, overflow) = tag.encode(&self.tags);
        let start = payload.len().saturating_sub(overflow.len());
        if let Some(tail) = payload.get_mut(start..) {
            tail.copy_from_slice(&overflow);
        }
        self.medium.program_counted(page, &tag, payload)
    }
}
