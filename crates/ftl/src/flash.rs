//! Log pages as the server sees them: logical blocks with their entries, on the medium.

use alloc::sync::Arc;

use pumice_flashlog::{Fault, Medium, Page, Peek};
use pumice_media::{AnyChip, NandError};

use crate::error::Result;
use crate::layout::Kind;
use crate::shape::{Place, Shape};
use crate::summary::Summary;
use crate::tag::{Before, Tag};

/// The content of a page.
pub(crate) enum Found {
    /// It was never programmed.
    Erased,
    /// A page that proves nothing.
    Unproved,
    /// A page that proved itself.
    Page(Tag, Arc<Page>),
}

impl Found {
    /// The page if it proved itself and is of this kind.
    pub(crate) fn of_kind(self, kind: Kind) -> Option<(Tag, Arc<Page>)> {
        match self {
            Found::Page(tag, page) if tag.kind == kind => Some((tag, page)),
            _ => None,
        }
    }
}

/// The chip.
pub(crate) struct Flash<'c> {
    pub(crate) medium: Medium<'c>,
    shape: Shape,
    /// The page of blocks or trims that was programmed last.
    before: Option<Before>,
    /// All pages programmed so far are promised, and the next page says so.
    is_promised: bool,
}

impl<'c> Flash<'c> {
    pub(crate) fn new(nand: AnyChip<'c>, shape: Shape) -> Flash<'c> {
        Flash { medium: Medium::new(nand, shape.medium), shape, before: None, is_promised: false }
    }

    /// The summary in a page, if there is a proved one.
    pub(crate) fn read_summary(&mut self, place: Place) -> Result<Option<Summary>> {
        let found = self.read_twice(place)?;
        Ok(found
            .of_kind(Kind::Summary)
            .and_then(|(_, page)| Summary::decode(&self.shape, place, &page.payload)))
    }

    /// Reads a log page.
    pub(crate) fn read(&mut self, place: Place) -> Result<Found> {
        match self.medium.read(self.shape.page(place)) {
            Ok(page) => {
                Ok(Tag::decode(&self.shape, &page.tag).map_or(Found::Unproved, |tag| Found::Page(tag, page)))
            }
            Err(Fault::Erased(_)) => Ok(Found::Erased),
            Err(Fault::Unreadable(_) | Fault::Unproved(_)) => Ok(Found::Unproved),
            Err(Fault::Chip(error)) => Err(error.into()),
        }
    }

    /// Reads a log page, and once more if it cannot be read: a page left by a power cut may be readable the next time.
    pub(crate) fn read_twice(&mut self, place: Place) -> Result<Found> {
        match self.read(place)? {
            Found::Unproved => self.read(place),
            found => Ok(found),
        }
    }

    /// Reads a log page, and keeps it for the next blocks of it.
    pub(crate) fn read_kept(&mut self, place: Place) -> Result<Found> {
        let found = self.read(place)?;
        if let Found::Page(_, page) = &found {
            self.medium.keep(self.shape.page(place), page);
        }
        Ok(found)
    }

    /// Looks at the first spare bytes of a page.
    pub(crate) fn peek(&mut self, place: Place) -> Result<Peek> {
        Ok(self.medium.peek(self.shape.page(place))?)
    }

    /// The tag of a page by its spare bytes, without proof of its entries; `None` if there is none that makes sense.
    pub(crate) fn tag_hint(&mut self, place: Place) -> Result<Option<Tag>> {
        let tag = Fault::readable(self.medium.tag(self.shape.page(place)))?;
        Ok(tag.and_then(|tag| Tag::decode(&self.shape, &tag)))
    }

    /// The tag of a page that ECC gives up on, by its spare area, if that can be read; only its header is proved.
    pub(crate) fn tag_of_lost(&mut self, place: Place) -> Result<Option<Tag>> {
        match self.medium.read(self.shape.page(place)) {
            Err(Fault::Unreadable(_)) => self.tag_hint(place),
            Err(Fault::Chip(error)) => Err(error.into()),
            Err(Fault::Erased(_) | Fault::Unproved(_)) | Ok(_) => Ok(None),
        }
    }

    /// Passes pages over: they share cells with promised ones.
    pub(crate) fn promise(&mut self) {
        self.is_promised = true;
    }

    /// Programs a log page with a tag that names the one before it. Those of a segment come in order, the first one
    /// first.
    pub(crate) fn program(
        &mut self,
        place: Place,
        tag: &Tag,
        payload: &[u8],
    ) -> core::result::Result<(), NandError> {
        let page = self.shape.page(place);
        let is_named = matches!(tag.kind, Kind::Data | Kind::Trim);
        let promised = self.is_promised && is_named;
        let tag = Tag { before: self.before.clone(), promised, ..tag.clone() };
        self.medium.program_counted(page, &tag.encode(&self.shape), payload)?;
        if is_named {
            self.before = Some(Before::new(page, &tag.entries));
            self.is_promised = false;
        }
        Ok(())
    }
}
