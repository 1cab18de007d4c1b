//! Reading the log: pages with their tags, and chunks, which may wait in the page that a head is filling.

use alloc::{sync::Arc, vec::Vec};

use pumice_flashlog::{Fault, Look, Medium, Page, Peek, TagPlace};
use pumice_media::AnyChip;
use pumice_vfs::Result;

use super::{Head, Pages};
use crate::addr::Addr;
use crate::error::{Damage, device};
use crate::tag::{ChunkKind, Desc, Tag, chunks};

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
        self.prove(page).map_err(Damage::of_page)
    }

    fn prove(&mut self, page: u32) -> core::result::Result<LogPage, Fault> {
        let found = self.medium.read(page)?;
        let tag = Tag::of(&found, &self.params.tags).ok_or(Fault::Unproved(page))?;
        if tag.descs.len() > 1 {
            self.medium.keep(page, &found);
        }
        Ok(LogPage { tag, page: found })
    }

    /// The chunks of a page by its tag alone if that lies in the spare area, not proved then; none if the page is
    /// erased.
    pub(crate) fn read_tag(&mut self, page: u32) -> Result<Option<Tag>> {
        let by_spare = match self.params.shape.tag_place() {
            TagPlace::Spare => self.medium.tag(page).map(|tag| Tag::decode(&tag, None, &self.params.tags)),
            _ => Ok(None),
        };
        match by_spare.and_then(|tag| tag.map_or_else(|| self.prove(page).map(|found| found.tag), Ok)) {
            Err(Fault::Erased(_)) => Ok(None),
            found => found.map(Some).map_err(Damage::of_page),
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

    /// The head with this page in its buffer.
    fn buffered(&self, page: u32) -> Option<&Head> {
        let here = |(block, index)| self.params.page(block, index) == page;
        self.heads.iter().find(|head| head.used > 0 && head.place.is_some_and(here))
    }

    /// Reads the chunk at `addr`, which must be of this kind and id, and hands it to `take` with its descriptor. A
    /// file's block may be compressed there.
    pub(crate) fn read_as<T>(
        &mut self,
        addr: Addr,
        kind: ChunkKind,
        id: u32,
        take: impl FnOnce(&[u8], Desc) -> T,
    ) -> Result<T> {
        let Addr { page, offset, len } = addr;
        let (start, end) = (usize::from(offset), usize::from(offset) + usize::from(len));
        let goes_on = self.params.packs && kind.is_block();
        let payload = self.params.payload as usize;
        if page == 0 || page >= self.params.pages() || start >= payload || (end > payload && !goes_on) {
            return Err(Damage::Address { page, offset, len }.into());
        }
        let not_there = Damage::NotThere { page, offset };
        let is_kind = |found: ChunkKind| found == kind || (kind == ChunkKind::Data && found.is_block());
        let is_it = |desc: &Desc| is_kind(desc.kind) && desc.id == id && desc.len == len;
        let find = |descs: &[Desc]| chunks(descs).find(|(at, desc)| *at == offset && is_it(desc));
        let tags = self.params.tags;
        let part = |payload: &[u8], count: usize| {
            let end = if goes_on { end.min(tags.room(count)) } else { end };
            payload.get(start..end).map(<[u8]>::to_vec)
        };
        let (desc, mut bytes) = if let Some(head) = self.buffered(page) {
            let (_, desc) = find(&head.descs).ok_or(not_there)?;
            if let Some(bytes) = head.payload.get(start..end).filter(|_| end <= tags.room(head.descs.len())) {
                return Ok(take(bytes, desc));
            }
            (desc, part(&head.payload, head.descs.len()).ok_or(not_there)?)
        } else {
            let found = self.read_page(page)?;
            let (_, desc) = find(&found.tag.descs).ok_or(not_there)?;
            let count = found.tag.descs.len();
            if let Some(bytes) =
                found.payload().get(start..end).filter(|_| !goes_on || end <= tags.room(count))
            {
                return Ok(take(bytes, desc));
            }
            (desc, part(found.payload(), count).ok_or(not_there)?)
        };
        self.read_rest(page, &desc, &mut bytes)?;
        Ok(take(&bytes, desc))
    }

    /// Reads the chunk of a block of a file or directory, and hands it to `take` with its kind.
    pub(crate) fn read_block<T>(
        &mut self,
        addr: Addr,
        ino: u32,
        index: u32,
        take: impl FnOnce(&[u8], ChunkKind) -> T,
    ) -> Result<T> {
        let taken = self.read_as(addr, ChunkKind::Data, ino, |bytes, desc| {
            (desc.index == index).then(|| take(bytes, desc.kind))
        })?;
        taken.ok_or(Damage::NotThere { page: addr.page, offset: addr.offset }.into())
    }

    /// The same with the whole descriptor.
    pub(crate) fn read<T>(&mut self, addr: Addr, want: &Desc, take: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let taken = self.read_as(addr, want.kind, want.id, |bytes, desc| {
            (desc.index == want.index).then(|| take(bytes))
        })?;
        taken.ok_or(Damage::NotThere { page: addr.page, offset: addr.offset }.into())
    }

    /// Adds the parts in the pages behind `page` to the start of a chunk.
    fn read_rest(&mut self, page: u32, desc: &Desc, bytes: &mut Vec<u8>) -> Result<()> {
        let mut next = page;
        while bytes.len() < desc.len.into() {
            next += 1;
            let not_there = Damage::NotThere { page: next, offset: 0 };
            if next >= self.params.pages() || self.params.block_of(next) != self.params.block_of(page) {
                return Err(not_there.into());
            }
            let len = (usize::from(desc.len) - bytes.len()).min(self.params.payload as usize);
            let is_rest = |found: &Desc| {
                let is_of_it = (found.id, found.index) == (desc.id, desc.index);
                found.kind == ChunkKind::Rest && is_of_it && usize::from(found.len) == len
            };
            let part = if let Some(head) = self.buffered(next) {
                let found = head.descs.first().filter(|found| is_rest(found)).ok_or(not_there)?;
                head.payload.get(..found.len.into()).map(<[u8]>::to_vec)
            } else {
                let found = self.read_page(next)?;
                let first = found.tag.descs.first().filter(|found| is_rest(found)).ok_or(not_there)?;
                found.payload().get(..first.len.into()).map(<[u8]>::to_vec)
            };
            bytes.extend_from_slice(&part.ok_or(not_there)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{ChipSpec, SimChip};
    use pumice_vfs::FileKind;

    use crate::mount::format;
    use crate::nodes::ROOT;
    use crate::options::FormatOptions;
    use crate::pages::META;
    use crate::testing::{chip_of, mounted};

    /// Where tags lie in the page, descriptors of many nodes stand behind it in the same page.
    #[test]
    fn a_look_at_a_tag_in_the_page_reads_it_once() {
        let mut chip = SimChip::new(&ChipSpec::named("spinand-1g").unwrap().with_size(16 << 20).unwrap());
        format(&mut chip, &FormatOptions { erased: true, ..FormatOptions::default() }, &mut |_, _| {})
            .unwrap();
        let mut volume = mounted(chip, 1 << 22);
        for number in 0..400 {
            volume.begin().unwrap();
            volume.make(ROOT, &alloc::format!("{number}"), FileKind::File);
        }
        volume.checkpoint(false).unwrap();
        let (block, end) = volume.log.pages.places().nth(META).flatten().unwrap();
        let first = volume.log.params.page(block, 0);
        // Nothing is known of the pages yet.
        let mut volume = mounted(chip_of(volume), 1 << 22);
        let before = volume.log.pages.medium().stats();
        let mut most = 0;
        for page in first..first + end {
            let tag = volume.log.pages.read_tag(page).unwrap().unwrap();
            most = most.max(tag.descs.len());
        }
        let reads = (volume.log.pages.medium().stats() - before).page_reads;
        assert!(most > 5 && end > 4, "{end} pages of at most {most} nodes");
        assert!(reads <= u64::from(end), "{reads} reads of {end} pages");
    }
}
