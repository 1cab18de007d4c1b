//! Pages written since the checkpoint, found by the headers of segments and the tags of pages; all pages, if there is
//! no checkpoint.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use pumice_cleaning::placement::MAX_CLASSES;

use crate::error::{Missing, Result};
use crate::flash::Found;
use crate::gaps::{Doubted, Gaps, Lost, Told};
use crate::head::Head;
use crate::layout::{Kind, NO_BLOCK, TRIM_BLOCK, UNSURE_MOST, count32};
use crate::log::Log;
use crate::newest::Newest;
use crate::segments::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::summary::Contents;
use crate::survey::{Held, Known, Surveyed, Surveyor};
use crate::tag::Entry;
use crate::trims::Trims;
use crate::{tails, trims};

/// Segments begun last that are remembered: heads are not begun in the order in which they are opened.
const BEGUN_MOST: usize = 6;

/// A segment that was begun since the checkpoint, and its contents.
pub(crate) struct Begun {
    pub(crate) block: u32,
    pub(crate) contents: Contents,
}

/// The range of the replay.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    /// Pages with this sequence number or a higher one.
    pub(crate) since: u64,
    /// A segment that counts as free.
    pub(crate) without: Option<u32>,
    pub(crate) trust: Trust,
}

/// The pages that count as any other, though a power cut may have stopped their programs so that they fade.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sure {
    /// None of them; summaries do until those are noted that may fade.
    Nothing,
    /// A page that is written twice, without its copy.
    Alone,
    /// The newest page, too; otherwise its blocks are kept in memory.
    Newest,
    /// Those that the checkpoint names, too.
    Named,
}

/// The trust in the newest page.
#[derive(Clone, Copy)]
pub(crate) struct Trust {
    /// If it cannot be read, and its tag names its blocks, it counts as lost; otherwise as torn.
    pub(crate) doubting: bool,
    pub(crate) sure: Sure,
}

impl Trust {
    /// The trust for serving a disk.
    pub(crate) const SERVE: Trust = Trust { doubting: true, sure: Sure::Nothing };
    /// The trust for a look at it.
    pub(crate) const LOOK: Trust = Trust { doubting: true, sure: Sure::Named };
    /// The trust for serving it, with an unreadable page given up.
    pub(crate) const GIVE_UP: Trust = Trust { doubting: false, sure: Sure::Nothing };

    /// The same trust, with so much sure at the least.
    pub(crate) fn with(self, sure: Sure) -> Trust {
        Trust { sure: self.sure.max(sure), ..self }
    }

    /// True if the newest page counts as any other.
    pub(crate) fn is_newest_sure(self) -> bool {
        self.sure >= Sure::Newest
    }
}

/// The findings of a replay.
#[derive(Default)]
pub(crate) struct Replayed {
    /// The first sequence number that was replayed.
    pub(crate) since: u64,
    /// The segments that were begun last, the newest first.
    pub(crate) begun: Vec<Begun>,
    /// Unreadable pages that no other names, or that the power cut may have destroyed.
    pub(crate) unnamed: Vec<Place>,
    /// The newest page, if it cannot be read and its tag names its blocks. The power cut tore it, or it was lost since:
    /// nobody can tell.
    pub(crate) doubted: Option<Doubted>,
    /// Blocks of pages that were taken for sure: they may fade all the same.
    pub(crate) trusted: Vec<u32>,
    /// Segments with tags that tell which blocks are lost with other pages.
    pub(crate) tellers: Vec<u32>,
    /// Segments that the newest summary or record lists: the next start looks for what it names there.
    pub(crate) listed: Vec<u32>,
    /// Unreadable pages that were complete, and that nothing names: they may hold newer copies than the table knows.
    pub(crate) missing: Vec<Place>,
}

impl Replayed {
    /// The missing pages, as users are told of them.
    pub(crate) fn missing(&self) -> Option<Missing> {
        let block = self.missing.iter().map(|place| place.block).min()?;
        Some(Missing { block, pages: count32(self.missing.len()) })
    }
}

/// A page of trimmed ranges: its sequence number, and first and end of each.
type Trimmed = (u64, Vec<(u32, u32)>);

/// The state of a replay.
struct Gathered {
    since: u64,
    newest: Newest,
    trimmed: Vec<Trimmed>,
    /// Pages of trims that a summary names and that cannot be read, with their sequence numbers.
    unread_trims: Vec<(u64, Place)>,
    gaps: Gaps,
    begun: Vec<Begun>,
    /// Segments that were written since the checkpoint, with their last sequence numbers.
    touched: Vec<(u64, u32)>,
    /// The segment of the newest page, if that is the first of two pages of trims and was left out.
    alone: Option<u32>,
    /// The newest page, if it is not sure.
    unsure: Option<Held>,
    /// Blocks of the newest page and of those that the checkpoint names, if they count as sure.
    trusted: Vec<u32>,
    /// Places of pages that the checkpoint names, and that cannot be read.
    unread_named: Vec<Place>,
}

impl Gathered {
    /// Unreadable pages of trims of which the copy cannot be read, either: two of them follow each other.
    fn lost_trims(&self) -> Vec<Place> {
        let read = self.trimmed.iter().map(|(sequence, _)| (*sequence, None));
        let unread = self.unread_trims.iter().map(|(sequence, place)| (*sequence, Some(*place)));
        let mut pages: Vec<_> = read.chain(unread).collect();
        pages.sort_unstable_by_key(|(sequence, _)| *sequence);
        let pairs = pages.windows(2).filter(|pair| pair.iter().all(|(_, place)| place.is_some()));
        pairs.flatten().filter_map(|(_, place)| *place).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// Pages of a segment up to a place, with it.
fn pages_through(place: Place) -> u16 {
    debug_assert!(place.index < u16::MAX.into(), "a segment has more pages than its count can say");
    u16::try_from(place.index + 1).unwrap_or(u16::MAX)
}

impl Server<'_> {
    /// Takes in the pages of a range. Nothing is written.
    pub(crate) fn recover(&mut self, range: Range) -> Result<Replayed> {
        let heads = self.log.heads.take_all(|_| true);
        let mut gathered = Gathered {
            since: range.since,
            newest: Newest::new(self.map.table.len(), range.since),
            trimmed: Vec::new(),
            unread_trims: Vec::new(),
            gaps: Gaps::default(),
            begun: Vec::new(),
            touched: heads.iter().map(|head| (0, head.block)).collect(),
            alone: None,
            unsure: None,
            trusted: Vec::new(),
            unread_named: Vec::new(),
        };
        let mut latest: Option<Surveyed> = None;
        for block in self.log.may_be_written(&heads) {
            let head = heads.iter().find(|head| head.block == block);
            let Some(found) = self.survey_for(range, block, head, &mut gathered.gaps)? else { continue };
            let is_older = latest.as_ref().is_some_and(|latest| latest.last > found.last);
            let older = if is_older { Some(found) } else { latest.replace(found) };
            older.map_or(Ok(()), |older| self.take_segment(older, None, &mut gathered))?;
        }
        latest.map_or(Ok(()), |latest| self.take_latest(range, latest, &mut gathered))?;
        if range.trust.sure < Sure::Alone {
            let alone = self.find_alone(&gathered)?;
            self.log.aftermath.unsure.note_alone(alone);
        }
        self.take_gaps(range, gathered)
    }

    /// True if the last summary of a segment does not count, for it may fade.
    fn leaves_out_last(&self, range: Range, block: u32) -> bool {
        range.trust.sure < Sure::Alone && self.log.aftermath.unsure.alone().contains(&block)
    }

    /// The segments of which the last page is written twice and may fade: it has no copy, and nothing proves that it was
    /// complete when the power went.
    fn find_alone(&mut self, gathered: &Gathered) -> Result<Vec<u32>> {
        let mut alone: Vec<u32> = gathered.alone.into_iter().collect();
        for summary in tails::unproved(&self.log.shape, &gathered.gaps.tails, &self.log.recorded.record) {
            if !self.log.surveyor().is_second(summary)? {
                alone.push(summary.block);
            }
        }
        Ok(alone)
    }

    /// The contents of a segment written since the checkpoint; `head` if it was one. The state of others is set.
    fn survey_for(
        &mut self,
        range: Range,
        block: u32,
        head: Option<&Head>,
        gaps: &mut Gaps,
    ) -> Result<Option<Surveyed>> {
        let segment = self.log.segments.get(block);
        let is_of_log = !matches!(segment.state, State::Bad | State::Anchor | State::Checkpoint);
        let mut own_gaps = Gaps::default();
        let is_left_out = range.without == Some(block);
        let may_be_gone =
            self.log.recorded.record.opened.as_ref().is_none_or(|opened| opened.contains(&block));
        let known = head.map(|head| Known { contents: &head.contents, may_be_gone });
        let found = match is_of_log && !is_left_out {
            true => {
                let leaves_out_last = self.leaves_out_last(range, block);
                let mut surveyor = Surveyor { leaves_out_last, ..self.log.surveyor() };
                surveyor.survey(block, &segment, range.since, known, &mut own_gaps)?
            }
            false => None,
        };
        let void = self.log.recorded.identity.void;
        let is_void = |found: &Surveyed| void.block == block && found.last < void.sequence;
        if is_left_out || found.as_ref().is_some_and(is_void) {
            self.log.segments.change(block, |segment| segment.state = State::Free);
            return Ok(None);
        }
        gaps.places.append(&mut own_gaps.places);
        for mut tail in own_gaps.tails {
            // It may have been erased since the checkpoint, and opened again.
            let is_same = |head: &&Head| !may_be_gone || tail.first == head.contents.first();
            tail.know(head.filter(is_same).map_or(0, |head| head.index));
            gaps.tails.push(tail);
        }
        if found.is_none() && is_of_log {
            // Closed, because the page behind the last may have been touched.
            self.log.close_head(block, head.map(|head| head.index));
        }
        Ok(found)
    }

    /// Takes in the segment that was written last, without the newest page of all if it is not sure.
    fn take_latest(&mut self, range: Range, mut latest: Surveyed, gathered: &mut Gathered) -> Result<()> {
        if latest.is_ended {
            self.log.surveyor().leave_out_endangered(&mut latest, &mut gathered.gaps)?;
        }
        // A record with a higher number may be one that a start after the cut wrote. A move that was undone wrote pages behind it.
        let is_last = latest.last >= self.log.recorded.identity.void.sequence;
        let newest = latest.newest.take().filter(|_| is_last);
        let left_out = match newest {
            Some(newest) if newest.tag.kind == Kind::Data && !range.trust.is_newest_sure() => {
                Some(gathered.unsure.insert(newest).place.index)
            }
            // Nothing would name it, should the power go again, but its blocks are elsewhere, too: it may fade.
            Some(newest)
                if newest.tag.kind == Kind::Data
                    && range.since == 0
                    && range.trust.sure == Sure::Newest
                    && self.is_there_twice(&newest)? =>
            {
                Some(newest.place.index)
            }
            Some(newest) if newest.tag.kind == Kind::Data => {
                gathered.trusted.extend(newest.tag.entries.iter().map(|entry| entry.lba));
                None
            }
            Some(newest)
                if newest.tag.kind == Kind::Trim
                    && range.trust.sure < Sure::Alone
                    && self.log.surveyor().is_first_trim(&newest)? =>
            {
                gathered.alone = Some(latest.block);
                Some(newest.place.index)
            }
            _ => None,
        };
        self.take_segment(latest, left_out, gathered)
    }

    /// True if all blocks of the newest page were copied from where the table has them.
    fn is_there_twice(&mut self, newest: &Held) -> Result<bool> {
        for entry in newest.tag.entries.iter().filter(|entry| **entry != Entry::NONE) {
            if !self.map.is_stored(&mut self.log, *entry)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes in the newest page and those that the checkpoint names, or keeps their blocks in memory. The newest is
    /// sure if there is a `newer` one that cannot be read.
    fn take_unsure(&mut self, range: Range, newer: bool, gathered: &mut Gathered) -> Result<()> {
        let mut held = Vec::new();
        let (named, unread) = self.log.named_unsure()?;
        gathered.unread_named = unread;
        for named in named {
            let Some(named) = self.without_newer(named, gathered) else { continue };
            if range.trust.sure >= Sure::Named {
                gathered.trusted.extend(named.tag.entries.iter().map(|entry| entry.lba));
                self.take_page(&named, gathered);
            } else if self.has_lost_originals(&named, gathered)? {
                self.take_page(&named, gathered);
            } else {
                held.push(named);
            }
        }
        if let Some(newest) = gathered.unsure.take() {
            // It was being written in place of the others.
            let is_again = held.iter().any(|held| newest.is_copy_of(held));
            let is_sure = newer || (!is_again && held.len() >= UNSURE_MOST);
            if is_sure || self.has_lost_originals(&newest, gathered)? {
                self.take_page(&newest, gathered);
            } else if !is_again {
                held.push(newest);
            }
        }
        self.log.keep_unsure(held);
        Ok(())
    }

    /// A page without the entries that a later page holds or takes back; `None` if nothing is left.
    fn without_newer(&mut self, mut page: Held, gathered: &Gathered) -> Option<Held> {
        let sequence = page.tag.sequence;
        let later = || gathered.trimmed.iter().filter(|(trimmed, _)| *trimmed > sequence);
        let is_trimmed = |lba: u32| {
            later().flat_map(|(_, ranges)| ranges).any(|(first, end)| (*first..*end).contains(&lba))
        };
        for entry in &mut page.tag.entries {
            let is_older = entry.lba >= self.map.table.len()
                || is_trimmed(entry.lba)
                || self.newest(&gathered.newest, entry.lba) > sequence;
            if is_older {
                *entry = Entry::NONE;
            }
        }
        page.tag.entries.iter().any(|entry| *entry != Entry::NONE).then_some(page)
    }

    /// True if the blocks that a page replaces are not at their old places: these were erased once the page was
    /// promised, and the power went later.
    fn has_lost_originals(&mut self, page: &Held, gathered: &Gathered) -> Result<bool> {
        for entry in &page.tag.entries {
            let addr = if entry.lba < self.map.table.len() {
                self.map.addr(&mut self.log, entry.lba)?
            } else {
                Addr::NONE
            };
            if addr.is_none() || addr == Addr::LOST {
                continue;
            }
            let original = self.newest(&gathered.newest, entry.lba);
            let mut later = gathered.trimmed.iter().filter(|(sequence, _)| *sequence > original);
            if later.any(|(_, ranges)| ranges.iter().any(|(first, end)| (*first..*end).contains(&entry.lba)))
            {
                // Trimmed in between: nothing kept it from being erased.
                continue;
            }
            if self.log.entry_at(addr)?.is_none_or(|original| original.lba != entry.lba) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes in a page on its own.
    fn take_page(&mut self, page: &Held, gathered: &mut Gathered) {
        let (place, sequence) = (page.place, page.tag.sequence);
        gathered.newest.add_lost(place, sequence);
        for (slot, entry) in (0..).zip(&page.tag.entries) {
            if entry.lba < self.map.table.len() && self.newest(&gathered.newest, entry.lba) <= sequence {
                gathered.newest.meet(entry.lba);
                let addr = self.log.shape.addr(place, slot);
                self.map.repoint(&mut self.log, entry.lba, addr);
            }
        }
    }

    /// Takes in a segment, the contents of one of its pages left out.
    fn take_segment(
        &mut self,
        found: Surveyed,
        left_out: Option<u32>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let Surveyed { block, contents, last, .. } = found;
        self.log.flash.sequence = self.log.flash.sequence.max(last + 1);
        gathered.newest.see(last);
        gathered.newest.add_segment(block, &contents.sequences);
        gathered.touched.push((last, block));
        self.take_in(block, &contents, left_out, gathered)?;
        gathered.begun.push(Begun { block, contents });
        gathered.begun.sort_by_key(|begun| core::cmp::Reverse(begun.contents.first()));
        gathered.begun.truncate(BEGUN_MOST);
        Ok(())
    }

    /// Takes in the known contents of unreadable pages, and the trims.
    fn take_gaps(&mut self, range: Range, mut gathered: Gathered) -> Result<Replayed> {
        let mut gaps = core::mem::take(&mut gathered.gaps);
        let mut tails = core::mem::take(&mut gaps.tails);
        let Told { lost, mut unnamed, cut } =
            gaps.named(&mut self.log.flash, &self.log.shape, &gathered.newest)?;
        let found = if range.trust.doubting { self.doubted(&unnamed)? } else { None };
        unnamed.retain(|place| found.as_ref().is_none_or(|found| found.place != *place));
        let (mut missing, lost_trims) = (unnamed.clone(), gathered.lost_trims());
        unnamed.extend(cut);
        for lost in lost.iter().chain(&found) {
            self.take_lost(lost, &mut gathered.newest);
        }
        self.take_unsure(range, found.is_some(), &mut gathered)?;
        let Gathered { since, mut newest, trimmed, begun, touched, trusted, unread_named, .. } = gathered;
        unnamed.extend(unread_named);
        self.apply_trims(&mut newest, trimmed);
        let told = lost.iter().chain(&found).filter(|lost| self.is_still_lost(lost));
        let tellers = told.map(|lost| lost.told_by).collect();
        missing.retain(|place| self.is_missing(*place, &lost, found.as_ref(), &newest));
        missing.extend(lost_trims);
        for place in lost.iter().chain(&found).map(|lost| lost.place) {
            for tail in &mut tails {
                tail.tell(place);
            }
        }
        let (shape, record) = (self.log.shape, self.log.recorded.record.clone());
        let judged = tails::judge(&shape, &tails, &record, &mut |block| self.is_needed(block))?;
        for (all, more) in [(&mut missing, judged.missing), (&mut unnamed, judged.unnamed)] {
            all.extend(more);
            all.sort_unstable();
            all.dedup();
        }
        self.log.mark_without_parity(touched)?;
        let doubted = found.map(|Lost { place, sequence, lbas, .. }| {
            self.log.flash.sequence = self.log.flash.sequence.max(sequence + 1);
            Doubted { place, lbas }
        });
        let listed = judged.listed;
        Ok(Replayed { since, begun, unnamed, doubted, trusted, tellers, listed, missing })
    }

    /// True if an unreadable page that none names was complete when the power went: one behind it in its segment was
    /// programmed. Nothing lives in a segment of which the erase was cut, and none with trims is erased before a
    /// checkpoint.
    fn is_missing(&self, place: Place, lost: &[Lost], found: Option<&Lost>, newest: &Newest) -> bool {
        let mut told = lost.iter().chain(found).filter(|lost| lost.place.block == place.block);
        let holds_trims = told.clone().any(|lost| lost.lbas.first() == Some(&TRIM_BLOCK));
        (holds_trims || self.log.segments.get(place.block).valid > 0)
            && (newest.has_behind(place) || told.any(|lost| lost.place.index > place.index))
    }

    /// True if something in a segment is needed; everything was replayed.
    fn is_needed(&mut self, block: u32) -> Result<bool> {
        if self.log.segments.get(block).valid > 0 {
            self.map.count_off_all(&mut self.log)?;
        }
        Ok(self.log.segments.get(block).is_needed())
    }

    /// The newest page of all, if it is one of these and its spare area can be read.
    fn doubted(&mut self, unnamed: &[Place]) -> Result<Option<Lost>> {
        let newest = self.log.flash.sequence;
        for place in unnamed {
            let Some(tag) = self.log.flash.tag_of_lost(*place)? else { continue };
            let is_lba = |entry: &Entry| entry.lba < self.map.table.len() || entry.lba == NO_BLOCK;
            if tag.kind == Kind::Data && tag.sequence >= newest && tag.entries.iter().all(is_lba) {
                let lbas = tag.entries.iter().map(|entry| entry.lba).collect();
                let (place, sequence) = (*place, tag.sequence);
                return Ok(Some(Lost { place, sequence, lbas, told_by: place.block }));
            }
        }
        Ok(None)
    }

    /// Takes in the blocks of an unreadable page: the table points there all the same, so that readers are told, unless
    /// newer copies are known. A cut erase leaves such pages.
    fn take_lost(&mut self, lost: &Lost, newest: &mut Newest) {
        let Lost { place, sequence, ref lbas, .. } = *lost;
        let mut is_lost = false;
        newest.add_lost(place, sequence);
        for (slot, lba) in (0..).zip(lbas.iter().copied()) {
            if lba >= self.map.table.len() || self.newest(newest, lba) >= sequence {
                continue;
            }
            newest.meet(lba);
            let addr = self.log.shape.addr(place, slot);
            self.map.repoint(&mut self.log, lba, addr);
            is_lost = true;
        }
        let (now, used) = (self.log.clock, pages_through(place));
        self.log.segments.change(place.block, |segment| {
            if is_lost && segment.state == State::Free {
                (segment.opened, segment.sealed, segment.changed) = (now, now, now);
            }
            if is_lost {
                (segment.state, segment.used) = (State::Sealed, segment.used.max(used));
            }
        });
    }

    /// True if the table still points blocks of a page there that cannot be read: they were not trimmed since.
    fn is_still_lost(&mut self, lost: &Lost) -> bool {
        let is_there = |addr: Addr| !addr.is_none() && self.log.shape.place(addr).0 == lost.place;
        lost.lbas.iter().any(|lba| self.map.table.find(*lba).is_some_and(is_there))
    }

    /// The sequence number of the copy that the table points to; 0 if the checkpoint knew it.
    fn newest(&mut self, newest: &Newest, lba: u32) -> u64 {
        // A block that was met is among the changes.
        self.map.table.find(lba).map_or(0, |addr| newest.sequence(lba, self.log.shape.place(addr).0))
    }

    /// Points the table at the contents of a segment, where nothing newer is known.
    fn take_in(
        &mut self,
        block: u32,
        found: &Contents,
        left_out: Option<u32>,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let Gathered { since, newest, trimmed, unread_trims, .. } = gathered;
        let shape = self.log.shape;
        let mut trims = false;
        for (index, (sequence, entries)) in (0..).zip(found.pages(&shape)) {
            self.log.flash.sequence = self.log.flash.sequence.max(sequence + 1);
            if sequence < *since {
                continue;
            }
            let place = Place { block, index };
            if entries.first().is_some_and(|entry| entry.lba == TRIM_BLOCK) {
                trims = true;
                if left_out == Some(index) {
                    continue;
                }
                match self.log.flash.read(place)?.of_kind(Kind::Trim) {
                    Some((_, page)) => {
                        trimmed.push((sequence, trims::decode(&page.payload, self.map.table.len())));
                    }
                    None => unread_trims.push((sequence, place)),
                }
                continue;
            }
            for (slot, entry) in (0..).zip(entries) {
                if entry.lba >= self.map.table.len() {
                    continue;
                }
                if left_out != Some(index) && self.newest(newest, entry.lba) <= sequence {
                    newest.meet(entry.lba);
                    self.map.repoint(&mut self.log, entry.lba, shape.addr(place, slot));
                }
                if entry.written.wrapping_sub(self.log.clock) < 1 << 31 {
                    self.log.clock = entry.written;
                }
            }
        }
        let (now, pages) = (self.log.clock, u32::try_from(found.sequences.len()).unwrap_or(u32::MAX));
        // With the summary that told it, if one did.
        let used = u16::try_from((pages + shape.summaries.min(1)).min(shape.pages)).unwrap_or(u16::MAX);
        self.log.segments.change(block, |segment| {
            let class = found.class.min(MAX_CLASSES - 1);
            (segment.state, segment.class, segment.used) = (State::Sealed, class, used);
            (segment.erases, segment.trims) = (found.erases, trims);
            (segment.opened, segment.sealed, segment.changed) = (found.opened, now, now);
        });
        Ok(())
    }

    /// Takes blocks off the table if their trim is newer than their newest copy. Each block is looked at once: the
    /// newest ranges come first, and blocks in them are skipped later.
    fn apply_trims(&mut self, newest: &mut Newest, mut trimmed: Vec<Trimmed>) {
        trimmed.sort_unstable_by_key(|(sequence, _)| core::cmp::Reverse(*sequence));
        let mut seen = Trims::default();
        for (sequence, ranges) in trimmed {
            for (first, end) in ranges {
                for lba in seen.add_range(first, end).into_iter().flat_map(|(first, end)| first..end) {
                    if self.newest(newest, lba) < sequence {
                        self.map.repoint(&mut self.log, lba, Addr::NONE);
                    }
                }
            }
        }
    }
}

impl<'c> Log<'c> {
    fn surveyor(&mut self) -> Surveyor<'_, 'c> {
        let (surveys, flash) = (&mut self.aftermath.surveys, &mut self.flash);
        Surveyor { surveys, flash, shape: self.shape, leaves_out_last: false }
    }

    /// Closes a head that nothing was written to since.
    fn close_head(&mut self, block: u32, index: Option<u32>) {
        let Some(used) = index.and_then(|index| u16::try_from(index).ok()) else { return };
        let now = self.clock;
        self.segments.change(block, |segment| {
            (segment.state, segment.used) = (State::Sealed, used);
            (segment.sealed, segment.changed) = (now, now);
        });
    }

    /// Marks segments to be emptied if a power cut may have prevented or corrupted their parity. `touched` has the
    /// segments written since the checkpoint, with their last sequence numbers. Those with room left are marked, and
    /// the one written last: a torn page may read as if it were sound.
    fn mark_without_parity(&mut self, touched: Vec<(u64, u32)>) -> Result<()> {
        if !self.shape.has_parity() {
            return Ok(());
        }
        let last = touched.iter().max().copied();
        for (sequence, block) in touched {
            let segment = self.segments.get(block);
            let has_room = self.shape.has_room(segment.used.into(), segment.used.into());
            let is_doubted = has_room || last == Some((sequence, block));
            let is_written = matches!(segment.state, State::Sealed | State::Stuck);
            if is_written && (is_doubted || !self.flash.medium.has_parity(block)?) {
                self.segments.change(block, |segment| segment.weak = true);
            }
        }
        Ok(())
    }

    /// Closes the heads of a clean checkpoint where segments have parity: that over their pages was in memory alone. There are
    /// some only if the cleaner had to make room while the checkpoint was made.
    pub(crate) fn end_without_parity(&mut self) {
        if !self.shape.has_parity() {
            return;
        }
        for Head { block, index, .. } in self.heads.take_all(|_| true) {
            self.close_head(block, Some(index));
            self.segments.change(block, |segment| segment.weak = true);
        }
    }

    /// Keeps these from here on, the newest last, and leaves their segments alone.
    fn keep_unsure(&mut self, mut held: Vec<Held>) {
        for at in 1..held.len() {
            let (older, newer) = held.split_at_mut(at);
            let newer = newer.iter().take(1).flat_map(|held| &held.tag.entries);
            let newer: Vec<u32> = newer.map(|entry| entry.lba).collect();
            let older = older.iter_mut().flat_map(|held| &mut held.tag.entries);
            older.filter(|entry| newer.contains(&entry.lba)).for_each(|entry| *entry = Entry::NONE);
        }
        for Held { place, page, .. } in &held {
            // Should the start begin anew.
            self.flash.medium.pin(self.shape.page(*place), page.clone());
            let used = pages_through(*place);
            self.segments.change(place.block, |segment| {
                if segment.state != State::Bad {
                    (segment.state, segment.used) = (State::Stuck, segment.used.max(used));
                }
            });
        }
        self.aftermath.unsure.keep(held);
    }

    /// The pages that the checkpoint names, and the places of those that cannot be read: they faded, or died.
    fn named_unsure(&mut self) -> Result<(Vec<Held>, Vec<Place>)> {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        for (place, sequence) in self.aftermath.unsure.named() {
            // It was left alone until now.
            self.segments.change(place.block, |segment| {
                if segment.state == State::Stuck {
                    segment.state = State::Sealed;
                }
            });
            if let Some(held) = self.aftermath.unsure.known(place, sequence) {
                found.push(held);
                continue;
            }
            match self.flash.read_twice(place)? {
                Found::Page(tag, page) if tag.kind == Kind::Data && tag.sequence == sequence => {
                    let held = Held { place, tag, page };
                    self.aftermath.unsure.remember(held.clone());
                    found.push(held);
                }
                Found::Unproved => unread.push(place),
                // Its segment was erased since.
                Found::Page(..) | Found::Erased => {}
            }
        }
        Ok((found, unread))
    }
}
