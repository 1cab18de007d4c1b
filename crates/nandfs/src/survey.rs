//! The survey after a power cut: the blocks that may have been written to since the checkpoint. They are known: the
//! open ones and the window.
//!
//! A cut tears the last page of a block, and pages that share cells with it. Other unreadable pages have died.

use alloc::{sync::Arc, vec::Vec};

use pumice_flashlog::{CHECKPOINT, DOUBTED, Fault, Page, Peek};
use pumice_vfs::Result;

use crate::checkpoint_record::Fence;
use crate::error::{Damage, device};
use crate::names::NameRecord;
use crate::pack;
use crate::pages::{Pages, Spare};
use crate::params::Params;
use crate::replay_names::names_in;
use crate::tag::{COPIES, ChunkKind, Desc, LogKind, Tag};

/// Blocks at the end of the window that roots may have been written to: in some a program may have failed.
const ROOTS: usize = 2 * DOUBTED;

/// A page that fsync may have written.
pub(crate) struct Record {
    pub(crate) page: u32,
    pub(crate) tag: Tag,
    /// Lengths of the compressed blocks that begin there, each with its place.
    pub(crate) lengths: Vec<(u16, usize)>,
    /// Changes of names that it tells.
    pub(crate) names: Option<NameRecord>,
}

impl Record {
    /// Bytes of a file that a chunk at this place holds.
    pub(crate) fn length_of(&self, offset: u16, desc: &Desc) -> Result<usize> {
        if desc.kind != ChunkKind::Packed {
            return Ok(desc.len.into());
        }
        let known = self.lengths.iter().find(|(at, _)| *at == offset);
        let (_, length) = known.ok_or(Damage::Packed { page: self.page, offset })?;
        Ok(*length)
    }
}

/// The header of a block.
enum Header {
    /// Every page seems erased.
    None,
    /// Kind and sequence number.
    Known(u8, u64),
    /// None of its pages tells; so many are programmed.
    Unknown(u32),
}

/// The findings in the blocks that the log may have used.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) records: Vec<Record>,
    /// The last pages of blocks that need no replay: they tell the number of records.
    pub(crate) ends: Vec<Tag>,
    /// Pages that cannot be read, or prove nothing.
    pub(crate) unread: Vec<u32>,
    /// Pages of blocks in which none tells anything. One that cannot be read now may be readable later.
    pub(crate) silent: u32,
    /// Pages among the unread that no cut of their block's last page explains.
    pub(crate) dead: Vec<u32>,
    /// Blocks of the window that were written to.
    pub(crate) touched: Vec<u32>,
    pub(crate) untouched: Vec<Spare>,
    /// Those of its last blocks that are left to roots.
    pub(crate) roots: Vec<Spare>,
    /// Blocks of the window that hold copies of parity.
    pub(crate) copies: Vec<u32>,
    /// The highest sequence number seen.
    pub(crate) seq: u64,
    /// The highest of them on pages since the checkpoint, and its block.
    pub(crate) last: (u64, u32),
    /// The page with the highest one among the records that end in a commit.
    pub(crate) newest: Option<(u32, Arc<Page>)>,
}

/// A block of the window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It was written to.
    Written,
    /// None of its pages tells anything, and it was to be erased first.
    Silent,
    /// Its pages are erased, or older than the checkpoint.
    Old,
}

/// The findings in the window.
#[derive(Default)]
struct Window {
    /// Its blocks in order.
    seen: Vec<(Spare, Seen)>,
    /// Blocks without a page that tells anything, behind the last of the log with one.
    silent: Vec<u32>,
    /// The number of blocks up to the last that was written to.
    last: usize,
}

impl Survey {
    /// Looks at every block that may have been written since the checkpoint.
    pub(crate) fn of(pages: &mut Pages<'_>, params: &Params, fence: Fence<'_>) -> Result<Survey> {
        let (mut survey, mut window) = (Survey::default(), Window::default());
        Surveyor { pages, params, fence }.survey(&mut survey, &mut window)?;
        Ok(survey)
    }
}

/// Reads the blocks.
struct Surveyor<'a, 'c> {
    pages: &'a mut Pages<'c>,
    params: &'a Params,
    fence: Fence<'a>,
}

impl Surveyor<'_, '_> {
    fn survey(&mut self, survey: &mut Survey, window: &mut Window) -> Result<()> {
        let fence = self.fence;
        let mut headers = Vec::with_capacity(fence.window.len());
        let own = fence.window.len().saturating_sub(ROOTS);
        for (place, spare) in fence.window.iter().enumerate() {
            let header = self.header_of(spare.block)?;
            if let Header::Unknown(pages) = header {
                survey.silent += pages;
            }
            // Each page may lack another codeword.
            let spare = Spare { erased: spare.erased && place < own, ..*spare };
            headers.push((spare, self.by_parity(spare.block, header, 0)?));
        }
        // The survey of blocks may need them.
        survey.seq = self.find_copies(&headers)?;
        for (block, index) in fence.heads.iter().flatten() {
            let log = self.log_of_open(*block, *index)?;
            if log.is_none_or(LogKind::is_scanned) {
                self.scan(*block, *index, survey)?;
            } else {
                self.skim(*block, *index, survey)?;
            }
        }
        for (place, (spare, header)) in headers.into_iter().enumerate() {
            let header = self.by_parity(spare.block, header, fence.seq)?;
            if matches!(header, Header::Known(kind, _) if kind != COPIES) {
                self.pages.holds_none(spare.block);
            }
            let last = window.last;
            let is_root = matches!(header, Header::Known(CHECKPOINT, _)) && place >= own;
            self.survey_block((spare, header), survey, window)?;
            if is_root {
                // Taken out of the order: blocks in front of it were not.
                window.last = last;
            }
        }
        // A block with a program of its first page cut off may look untouched: those next in order are erased again.
        let copies = usize::from(self.params.copy_blocks > 0);
        let doubtful = window.last + self.pages.head_count() + 1 + copies;
        let mut late = Vec::new();
        let tail = window.seen.len().saturating_sub(DOUBTED);
        for (place, (spare, seen)) in window.seen.drain(..).enumerate() {
            let is_doubtful = place < doubtful;
            // The last block taken may be the unreadable one.
            if seen == Seen::Silent && is_doubtful && window.silent.contains(&spare.block) {
                survey.unread.push(self.params.page(spare.block, 0));
            }
            match seen {
                Seen::Written => survey.touched.push(spare.block),
                // An erase that is cut, too, would leave more than the one page that this cut tore, and in front of
                // blocks that were written to it would look like a loss.
                Seen::Silent if is_doubtful => late.push(spare),
                Seen::Old if place < window.last => late.push(Spare { erased: false, ..spare }),
                _ if place >= tail => survey.roots.push(spare),
                Seen::Silent => survey.untouched.push(spare),
                Seen::Old => survey.untouched.push(Spare { erased: spare.erased && !is_doubtful, ..spare }),
            }
        }
        survey.untouched.append(&mut late);
        Ok(())
    }

    /// Looks at a block of the window, by its header.
    fn survey_block(
        &mut self,
        (spare, header): (Spare, Header),
        survey: &mut Survey,
        window: &mut Window,
    ) -> Result<()> {
        let block = spare.block;
        if self.pages.holds_copies(block) {
            survey.copies.push(block);
            window.last = window.seen.len();
            return Ok(());
        }
        let seen = match header {
            Header::Known(_, seq) if seq >= self.fence.seq => Seen::Written,
            Header::None | Header::Known(..) => Seen::Old,
            // Garbage is left by a torn page, on a block known to be erased.
            Header::Unknown(_) if spare.erased => Seen::Written,
            Header::Unknown(_) => Seen::Silent,
        };
        let new = seen == Seen::Written;
        match header {
            // Everything was copied anew since.
            Header::Known(COPIES, _) | Header::None => {}
            Header::Known(kind, _) if new => {
                let log = LogKind::from_bits(kind);
                if log.is_some_and(LogKind::is_scanned) {
                    self.scan(block, 0, survey)?;
                } else {
                    self.skim(block, 0, survey)?;
                }
                // Blocks are taken in order; mounts after the cut begin with others than it spoilt.
                if log.is_some_and(|log| !log.is_aside()) {
                    for silent in window.silent.drain(..) {
                        self.add_silent(silent, survey)?;
                    }
                }
            }
            Header::Known(..) => {}
            Header::Unknown(_) => {
                window.silent.push(block);
                if new {
                    survey.unread.push(self.params.page(block, 0));
                }
            }
        }
        window.seen.push((spare, seen));
        if new {
            window.last = window.seen.len();
        }
        Ok(())
    }

    /// Finds the copies of parity that were made since the checkpoint; returns the highest sequence number of their
    /// blocks. The last of many blocks have the needed copies: everything was copied anew there, or in those before.
    fn find_copies(&mut self, headers: &[(Spare, Header)]) -> Result<u64> {
        let (mut found, mut copies) = (Vec::new(), Vec::new());
        if self.params.copy_blocks == 0 {
            return Ok(0);
        }
        for (spare, header) in headers {
            match header {
                Header::Known(COPIES, seq) if *seq >= self.fence.seq => found.push((*seq, spare.block)),
                // The first page of such a block may not be readable; a block of other pages brings nothing back. One whose
                // erase failed is none.
                Header::Unknown(_)
                    if self.pages.next_programmed(spare.block, 1)?.is_some()
                        && !self.pages.is_bad(spare.block)? =>
                {
                    copies.push(spare.block);
                }
                _ => {}
            }
        }
        found.sort_unstable();
        let most = 2 * self.params.copy_blocks as usize + 1;
        copies.extend(found.iter().skip(found.len().saturating_sub(most)).map(|(_, block)| *block));
        let open = self.fence.heads.iter().flatten().map(|(block, _)| *block);
        self.pages.guard_for_now(&copies, open.chain(self.fence.window.iter().map(|spare| spare.block)));
        Ok(found.last().map_or(0, |(seq, _)| *seq))
    }

    /// The header of a block none of whose pages tells, if its parity or a copy of that brings the first one back. A copy may
    /// be older than the block, and bring back what it held before `since`.
    fn by_parity(&mut self, block: u32, header: Header, since: u64) -> Result<Header> {
        if !matches!(header, Header::Unknown(_)) || self.params.shape.parity() == 0 {
            return Ok(header);
        }
        let first = self.params.page(block, 0);
        let found = self.pages.medium_mut().read_proved(first).map_err(device)?;
        let found = found.filter(|found| found.tag.seq >= since);
        Ok(found.map_or(header, |found| Header::Known(found.tag.kind, found.tag.seq)))
    }

    /// Kind and sequence number of the first telling page of a block: the first of all may not be readable.
    fn header_of(&mut self, block: u32) -> Result<Header> {
        let (mut silent, mut next) = (0, 0);
        while let Some((index, mut found)) = self.pages.next_programmed(block, next)? {
            if index > 0 && self.params.copy_blocks > 0 {
                // Copies of parity have no tag, and a chance likeness of one must not be believed.
                let page = self.params.page(block, index);
                found = self.pages.medium_mut().look_proved(page).map_err(device)?;
            }
            if let Some((kind, seq)) = found {
                return Ok(Header::Known(kind, seq));
            }
            (silent, next) = (silent + 1, index + 1);
        }
        Ok(if silent == 0 { Header::None } else { Header::Unknown(silent) })
    }

    fn log_of_open(&mut self, block: u32, index: u32) -> Result<Option<LogKind>> {
        let before = self.params.page(block, index.saturating_sub(1));
        match self.pages.peek(before)? {
            Peek::Programmed(header) => Ok(header.and_then(|(kind, _)| LogKind::from_bits(kind))),
            Peek::Erased => Ok(None),
        }
    }

    /// Reads the pages of a block from `index` on that were written since the checkpoint.
    fn scan(&mut self, block: u32, index: u32, survey: &mut Survey) -> Result<()> {
        let mut next = index;
        let (mut unread, mut is_aside) = (Vec::new(), None);
        while let Some((index, _)) = self.pages.next_programmed(block, next)? {
            next = index + 1;
            let page = self.params.page(block, index);
            let Ok(found) = self.pages.read_page(page) else {
                survey.unread.push(page);
                unread.push(index);
                continue;
            };
            is_aside = Some(is_aside.unwrap_or(true) && found.tag.log.is_aside());
            survey.seq = survey.seq.max(found.tag.seq);
            if found.tag.seq < self.fence.seq {
                continue;
            }
            survey.last = survey.last.max((found.tag.seq, block));
            if found.tag.log.is_counted() {
                if found.tag.commit.is_some()
                    && survey.newest.as_ref().is_none_or(|(_, newest)| newest.tag.seq < found.tag.seq)
                {
                    survey.newest = Some((page, Arc::clone(&found.page)));
                }
                let names = names_in(&found.tag, found.payload()).map(|(names, _)| names);
                let lengths = lengths_in(&found.tag, found.payload(), self.params);
                survey.records.push(Record { page, tag: found.tag, lengths, names });
            } else if !found.tag.log.is_aside() {
                survey.ends.push(found.tag);
            }
        }
        // Pages that a mount wrote after a cut are needed by nobody.
        if is_aside != Some(true) {
            survey.dead.extend(self.dead_of(block, &unread, next));
        }
        Ok(())
    }

    /// Pages of a block, programmed up to `end`, that are unreadable for no cut: it hits the last, or one behind it
    /// that looks erased, and pages that share cells with that.
    fn dead_of(&self, block: u32, unread: &[u32], end: u32) -> Vec<u32> {
        let shape = &self.params.shape;
        let Some(last) = end.checked_sub(1) else { return Vec::new() };
        let may_be_torn = |index: u32| {
            let mut cut = last..(end + shape.reach()).min(self.params.pages_per_block);
            index == last || cut.any(|by| shape.may_destroy(by, index))
        };
        let spared = unread.iter().filter(|index| !may_be_torn(**index));
        spared.map(|index| self.params.page(block, *index)).collect()
    }

    /// Adds a block without a page that tells anything, though a later one of the window was written to: it was, too.
    fn add_silent(&mut self, block: u32, survey: &mut Survey) -> Result<()> {
        if self.pages.is_bad(block)? {
            return Ok(());
        }
        let mut unread = Vec::new();
        while let Some((index, _)) =
            self.pages.next_programmed(block, unread.last().map_or(0, |at| at + 1))?
        {
            unread.push(index);
        }
        let end = unread.last().map_or(0, |last| last + 1);
        survey.dead.extend(self.dead_of(block, &unread, end));
        Ok(())
    }

    /// Learns the highest sequence number of a block that needs no replay: that of its last page.
    fn skim(&mut self, block: u32, index: u32, survey: &mut Survey) -> Result<()> {
        let since = self.fence.seq;
        let (mut low, mut high) = (index, self.params.pages_per_block);
        while low < high {
            let middle = u32::midpoint(low, high);
            match self.pages.next_programmed(block, middle)? {
                None => high = middle,
                Some((found, _)) => low = found + 1,
            }
        }
        for index in (index..low).rev() {
            let page = self.params.page(block, index);
            match self.pages.medium_mut().read(page) {
                Ok(found) => {
                    survey.seq = survey.seq.max(found.tag.seq.max(since));
                    if found.tag.seq >= since {
                        survey.last = survey.last.max((found.tag.seq, block));
                    }
                    let tells = |tag: &Tag| tag.seq >= since && !tag.log.is_aside();
                    survey.ends.extend(Tag::of(&found, &self.params.tags).filter(tells));
                    break;
                }
                Err(Fault::Chip(error)) => return Err(device(error)),
                // Passed over.
                Err(Fault::Erased(_)) => {}
                Err(Fault::Unreadable(_) | Fault::Unproved(_)) => survey.unread.push(page),
            }
        }
        Ok(())
    }
}

/// Lengths of the compressed blocks that begin on a page, each with its place; a senseless one is left out.
pub(crate) fn lengths_in(tag: &Tag, payload: &[u8], params: &Params) -> Vec<(u16, usize)> {
    let packed = tag.chunks().filter(|(_, desc)| desc.kind == ChunkKind::Packed);
    let length = |offset: u16| pack::length(payload.get(offset.into()..)?, params.block as usize);
    packed.filter_map(|(offset, _)| Some((offset, length(offset)?))).collect()
}
