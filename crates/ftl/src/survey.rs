//! The contents of segments written since the checkpoint: by their summaries or, without one, page by page.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use pumice_flashlog::{Page, Peek};

use crate::error::Result;
use crate::flash::{Flash, Found};
use crate::gaps::{End, Gap, Gaps, Risk};
use crate::layout::{Kind, NO_BLOCK, count32};
use crate::segment::{Segment, State};
use crate::shape::{Place, Shape};
use crate::summary::{Contents, Summary};
use crate::tag::{Entry, Tag};
use crate::tails::{Last, Tail};
use crate::trims;

/// A page that was read, and is kept in memory: it may have been read for the last time.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) place: Place,
    pub(crate) tag: Tag,
    pub(crate) page: Arc<Page>,
}

impl Held {
    /// The bytes of a block that it holds.
    pub(crate) fn block(&self, shape: &Shape, lba: u32) -> Option<&[u8]> {
        let slot = self.tag.entries.iter().position(|entry| entry.lba == lba)?;
        self.page.payload.get(shape.slot_range(u32::try_from(slot).ok()?))
    }

    /// True if all its blocks were copied from this page.
    pub(crate) fn is_copy_of(&self, other: &Held) -> bool {
        self.tag.entries.iter().all(|entry| *entry == Entry::NONE || other.tag.entries.contains(entry))
    }
}

/// A segment that was written since the checkpoint.
pub(crate) struct Surveyed {
    pub(crate) block: u32,
    pub(crate) contents: Contents,
    /// The sequence number of its newest page.
    pub(crate) last: u64,
    /// The page of `last` is the summary behind all others, and named their contents.
    pub(crate) is_ended: bool,
    /// The page of `last`, if pages name their own contents.
    pub(crate) newest: Option<Held>,
}

impl Surveyed {
    fn new(block: u32, contents: Contents) -> Surveyed {
        let last = contents.sequences.last().copied().unwrap_or(0);
        Surveyed { block, contents, last, is_ended: false, newest: None }
    }
}

/// True if the first page of a head may be of this kind. Segments that were named may have gone to records, parts of
/// checkpoints or leaves.
fn may_begin(kind: u8) -> bool {
    matches!(Kind::from_byte(kind), Some((Kind::Data | Kind::Trim, _)))
}

/// The pages of a head that the checkpoint knows.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) contents: &'a Contents,
    /// Its segment may have been erased since, and opened again.
    pub(crate) may_be_gone: bool,
}

/// The contents of segments by their summaries, and the ends: a start replays several times until it knows which pages may
/// fade, and without tags the end of a segment is found page by page.
#[derive(Default)]
pub(crate) struct Surveys(BTreeMap<(u32, bool), (Option<Contents>, Option<Tail>)>);

impl Surveys {
    /// True if nothing is remembered that a write could make wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads segments.
pub(crate) struct Surveyor<'a, 'c> {
    pub(crate) surveys: &'a mut Surveys,
    pub(crate) flash: &'a mut Flash<'c>,
    pub(crate) shape: Shape,
    /// The last summary does not count.
    pub(crate) leaves_out_last: bool,
}

impl Surveyor<'_, '_> {
    /// The contents of a segment, if something in it was written from `since` on; `known` if it was a head.
    pub(crate) fn survey(
        &mut self,
        block: u32,
        segment: &Segment,
        since: u64,
        known: Option<Known<'_>>,
        gaps: &mut Gaps,
    ) -> Result<Option<Surveyed>> {
        let found = if self.shape.tagged {
            self.survey_tags(block, since, known, gaps)?
        } else {
            let (contents, tail) = self.summaries(block, segment, since)?;
            gaps.tails.extend(tail);
            contents.map(|contents| Surveyed::new(block, contents))
        };
        let found = found.filter(|found| found.contents.sequences.last().is_some_and(|last| *last >= since));
        let is_old = found.is_none() && matches!(segment.state, State::Sealed | State::Stuck);
        for tail in gaps.tails.iter_mut().filter(|tail| tail.block == block) {
            tail.is_old = is_old;
        }
        Ok(found)
    }

    /// True if a page of trims is the first of two: the page before it is not the same once more. One without a range
    /// has no second.
    pub(crate) fn is_first_trim(&mut self, trim: &Held) -> Result<bool> {
        if trims::decode(&trim.page.payload, NO_BLOCK).is_empty() {
            return Ok(false);
        }
        let Some(before) = trim.tag.before.as_ref() else { return Ok(true) };
        let place = self.shape.place_of(before.page);
        if place.block >= self.shape.blocks {
            return Ok(true);
        }
        let before = self.flash.read(place)?.of_kind(Kind::Trim);
        Ok(before.is_none_or(|(_, page)| page.payload != trim.page.payload))
    }

    /// Leaves out pages destroyed with the summary of this segment, the newest page of all, if the power went during
    /// its program. They share cells with it, were not promised yet, and are gaps.
    pub(crate) fn leave_out_endangered(&mut self, found: &mut Surveyed, gaps: &mut Gaps) -> Result<()> {
        let (shape, block, last) = (self.shape, found.block, found.last);
        for index in (0..shape.pages - 1).filter(|index| shape.medium.may_destroy(shape.pages - 1, *index)) {
            let place = Place { block, index };
            if matches!(self.flash.read(place)?, Found::Unproved) {
                found.contents.blank(&shape, index);
                let earlier = found.contents.sequences.get(..index as usize).unwrap_or_default();
                let before = earlier.last().copied().unwrap_or(0);
                gaps.places.push(Gap { place, before, risk: Risk::Complete(last) });
            }
        }
        Ok(())
    }

    /// The survey by the summary or, without one, page by page, over those that cannot be read.
    fn survey_tags(
        &mut self,
        block: u32,
        since: u64,
        known: Option<Known<'_>>,
        gaps: &mut Gaps,
    ) -> Result<Option<Surveyed>> {
        let (shape, last) = (self.shape, Place { block, index: self.shape.pages - 1 });
        let known = match known {
            Some(known) if self.still_begins(block, known)? => Some(known.contents),
            // Erased since and perhaps written again.
            _ => None,
        };
        if known.is_none() && !self.may_begin_since(block, since)? {
            return Ok(None);
        }
        if shape.summaries > 0
            && let Some(Summary { contents, sequence, .. }) = self.flash.read_summary(last)?
        {
            return Ok(Some(Surveyed { last: sequence, is_ended: true, ..Surveyed::new(block, contents) }));
        }
        let mut contents = known.cloned().unwrap_or_default();
        let from = u32::try_from(contents.sequences.len()).unwrap_or(u32::MAX);
        let mut end = End { read: (from, 0), written: from };
        let (mut unread, mut newest) = (Vec::new(), None);
        for index in from..shape.pages {
            let before = contents.sequences.last().copied().unwrap_or(0);
            let (tag, page) = match self.flash.read_twice(Place { block, index })? {
                // Passed over, perhaps.
                Found::Erased if index + 1 < end.written + shape.reach => {
                    contents.push(&shape, before, &[]);
                    continue;
                }
                Found::Unproved => {
                    end.written = index + 1;
                    unread.push((index, before));
                    contents.push(&shape, before, &[]);
                    continue;
                }
                Found::Page(tag, page) if matches!(tag.kind, Kind::Data | Kind::Trim) => (tag, page),
                Found::Erased => break,
                Found::Page(tag, _) => {
                    end = End::behind(index, tag.sequence);
                    break;
                }
            };
            if tag.sequence <= before {
                break;
            }
            end = End::behind(index, tag.sequence);
            (contents.class, contents.erases, contents.opened) = (tag.class, tag.erases, tag.opened);
            contents.push(&shape, tag.sequence, &tag.entries);
            newest = Some(Held { place: Place { block, index }, tag, page });
        }
        contents.truncate(&shape, end.written);
        let (behind, newest_read) = end.read;
        if known.is_none() && (1..since).contains(&newest_read) {
            // It was not erased since the checkpoint, which knows the pages behind, too.
            return Ok(None);
        }
        let tail = unread.iter().map(|(index, _)| *index).filter(|index| *index >= behind).collect();
        let (first, written) = (contents.first(), end.written);
        gaps.tails.push(Tail { known: behind, first, unread: tail, written, ..Tail::blank(block) });
        gaps.places.extend(unread.into_iter().map(|(index, before)| Gap {
            place: Place { block, index },
            before,
            risk: end.risk(&shape, index),
        }));
        Ok(Some(Surveyed { newest, ..Surveyed::new(block, contents) }))
    }

    /// False if the first page shows that a segment was not begun since then.
    fn may_begin_since(&mut self, block: u32, since: u64) -> Result<bool> {
        Ok(match self.flash.peek(Place { block, index: 0 })? {
            Peek::Erased => false,
            Peek::Programmed(Some((kind, sequence))) => sequence >= since && may_begin(kind),
            Peek::Programmed(None) => true,
        })
    }

    /// True if the first readable page of a segment is the known one. If none can be read, all of them are gaps where
    /// others may lie in their places by now.
    fn still_begins(&mut self, block: u32, known: Known<'_>) -> Result<bool> {
        let Known { contents: Contents { sequences, .. }, may_be_gone } = known;
        for (index, sequence) in (0..).zip(sequences) {
            let place = Place { block, index };
            match self.flash.read(place)? {
                // Others may have been passed over.
                Found::Erased if index == 0 || !self.shape.is_paired() => return Ok(false),
                Found::Page(tag, _) => return Ok(tag.sequence == *sequence),
                Found::Erased => {}
                Found::Unproved => {
                    let header = self.flash.peek(place)?;
                    if matches!(header, Peek::Programmed(Some((_, found))) if found == *sequence) {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(!sequences.is_empty() && !may_be_gone)
    }

    /// The survey by summaries, from memory the second time. Without a checkpoint it would be the whole chip.
    fn summaries(
        &mut self,
        block: u32,
        segment: &Segment,
        since: u64,
    ) -> Result<(Option<Contents>, Option<Tail>)> {
        let key = (block, self.leaves_out_last);
        if let Some(known) = self.surveys.0.get(&key) {
            return Ok(known.clone());
        }
        let found = self.survey_summaries(block, segment, since)?;
        if since > 0 {
            self.surveys.0.insert(key, found.clone());
        }
        Ok(found)
    }

    /// The last summary of a segment, or the one before if that is left out, and the tail behind it.
    fn survey_summaries(
        &mut self,
        block: u32,
        segment: &Segment,
        since: u64,
    ) -> Result<(Option<Contents>, Option<Tail>)> {
        let (mut tail, last) = (Tail::blank(block), self.shape.pages - 1);
        let mut found = self.summary_at(last, &mut tail)?;
        if found.is_none() && self.flash.peek(Place { block, index: 0 })? == Peek::Erased {
            return Ok((None, Some(Tail::blank(block))));
        }
        let is_older = |contents: &Contents| contents.sequences.last().is_some_and(|last| *last < since);
        let was_sealed = matches!(segment.state, State::Sealed | State::Stuck);
        if let Some(index) = u32::from(segment.used).checked_sub(1)
            && was_sealed
            && found.is_none()
            && let Some(Summary { contents, .. }) = self.flash.read_summary(Place { block, index })?
            && is_older(&contents)
        {
            // Its last page is as it was at the checkpoint.
            return Ok((None, None));
        }
        if found.is_none() {
            found = self.last_summary(last, &mut tail)?;
        }
        if was_sealed && found.as_ref().is_some_and(|(_, summary)| is_older(&summary.contents)) {
            // It was not erased since the checkpoint, which knows the pages behind, too.
            return Ok((None, None));
        }
        if let Some((index, Summary { contents, sequence, listed })) = &found
            && !is_older(contents)
        {
            let filled = contents.filled(&self.shape);
            tail.summary = Some(Last { index: *index, filled, sequence: *sequence, listed: listed.clone() });
            if self.leaves_out_last {
                found = self.last_summary(*index, &mut Tail::blank(block))?;
            }
        }
        tail.known = found.as_ref().map_or(0, |(_, summary)| count32(summary.contents.sequences.len()));
        tail.first = found.as_ref().map_or(0, |(_, summary)| summary.contents.first());
        let found = match found {
            Some((index, Summary { mut contents, .. })) => {
                self.leave_out_cut(Place { block, index }, &mut contents, &mut tail)?;
                Some(contents)
            }
            None => None,
        };
        Ok((found, Some(tail)))
    }

    /// The last summary of a segment before page `end`, and its page; the pages behind it are its tail.
    fn last_summary(&mut self, end: u32, tail: &mut Tail) -> Result<Option<(u32, Summary)>> {
        for index in (0..end).rev() {
            let found = self.summary_at(index, tail)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The summary in a page of a segment, and that page; another page is part of its tail.
    fn summary_at(&mut self, index: u32, tail: &mut Tail) -> Result<Option<(u32, Summary)>> {
        let place = Place { block: tail.block, index };
        let found = self.flash.read_twice(place)?;
        if !matches!(found, Found::Erased) {
            tail.written = tail.written.max(index + 1);
        }
        match found {
            Found::Unproved => tail.unread.push(index),
            Found::Page(tag, page) if tag.kind == Kind::Summary => {
                let summary = Summary::decode(&self.shape, place, &page.payload);
                return Ok(summary.map(|summary| (index, summary)));
            }
            Found::Page(..) | Found::Erased => {}
        }
        Ok(None)
    }

    /// True if the summary in a page is the second of two.
    pub(crate) fn is_second(&mut self, summary: Place) -> Result<bool> {
        match self.flash.read_summary(summary)? {
            Some(Summary { contents, .. }) => self.is_copy(summary, &contents),
            None => Ok(false),
        }
    }

    /// The same of one with these contents.
    fn is_copy(&mut self, summary: Place, contents: &Contents) -> Result<bool> {
        let (shape, Place { block, index: last }) = (self.shape, summary);
        let from = contents.filled(&shape).max(last.saturating_sub(shape.reach));
        for index in from..last {
            if self.flash.read_summary(Place { block, index })?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the pages out of the last summary of a segment that were destroyed when the power went in the program of
    /// the summary or its copy: they were not promised yet. If more cannot be read than one cut explains, all were.
    fn leave_out_cut(&mut self, summary: Place, contents: &mut Contents, tail: &mut Tail) -> Result<()> {
        let (shape, Place { block, index: last }) = (self.shape, summary);
        if !shape.is_paired() {
            return Ok(());
        }
        let is_second = self.is_copy(summary, contents)?;
        if is_second && self.flash.medium.next_programmed(block, last + 1)?.is_some() {
            return Ok(());
        }
        let end = if is_second { last + 1 } else { shape.pages.min(last + 1 + shape.reach) };
        let is_hit = |index: u32| (last..end).any(|by| shape.medium.may_destroy(by, index));
        let mut near = Vec::new();
        for index in (0..last).filter(|index| is_hit(*index) || index + 2 * shape.reach >= last) {
            if matches!(self.flash.read(Place { block, index })?, Found::Unproved) {
                near.push(index);
            }
        }
        let unread = tail.unread.iter().chain(&near).copied().collect();
        if (Tail { unread, written: tail.written.max(last + 1), ..Tail::blank(block) }).is_cut(&shape) {
            for index in near.into_iter().filter(|index| is_hit(*index)) {
                contents.blank(&shape, index);
                tail.unread.push(index);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_media::{BlockDevice, ChipSpec, CutMode, Lba, Nand, Pairing, SimChip};

    use super::*;
    use crate::PolicyNames;
    use crate::open::{CreateOptions, OpenOptions, create};
    use crate::record::Record;
    use crate::server::Server;
    use crate::tails;
    use crate::testing::{chip_of, served};

    const BLOCKS: u64 = 70;

    /// Every block twice, the first time flushed; returns the number of the operation that programmed the last summary.
    fn play(disk: &mut Server<'static>) -> u64 {
        let mut summary = 0;
        let sealed =
            |disk: &Server<'_>| disk.log.segments.iter().filter(|(_, s)| s.state == State::Sealed).count();
        for value in [1, 2] {
            for lba in 0..BLOCKS {
                let before = sealed(disk);
                if disk.write(Lba(lba), &vec![value; 512]).is_err() {
                    return summary;
                }
                if sealed(disk) > before {
                    summary = chip_of(disk).operations();
                }
            }
            if value == 1 {
                disk.flush().unwrap();
            }
        }
        summary
    }

    /// The power goes while a summary is programmed, in every mode. Some of these summaries can be read while a page in
    /// the same cells cannot, which nobody promised.
    #[test]
    fn a_summary_that_was_cut_is_no_proof_of_the_pages_in_its_cells() {
        let spec = ChipSpec::parse_geometry("512+64:32:40").unwrap().with_pairing(Pairing::Dist3).unwrap();
        let mut fresh = SimChip::new(&spec);
        let policies = PolicyNames { placement: "m1".parse().unwrap(), ..PolicyNames::default() };
        let options = CreateOptions { block_bytes: 512, policies, ..CreateOptions::default() };
        create(&mut fresh, &options, &mut |_, _| {}).unwrap();
        let summary = play(&mut served(fresh.clone())) - fresh.operations();
        for seed in 0..100 {
            let mut chip = fresh.clone();
            chip.cut_after(summary - 1, CutMode::Torn { seed });
            let mut disk = served(chip);
            play(&mut disk);
            let mut chip = chip_of(&disk);
            assert!(!chip.is_powered(), "nothing was cut");
            chip.power_on();
            let mut disk = served(chip);
            let mut bytes = [0; 512];
            for lba in 0..BLOCKS {
                disk.read(Lba(lba), &mut bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert!(bytes == [1; 512] || bytes == [2; 512], "seed {seed}: block {lba}");
            }
        }
    }

    /// The first page of a sealed segment dies, and the last two, both copies of its summary among them. The checkpoint knows
    /// all that it holds.
    #[test]
    fn nothing_is_missing_in_a_segment_that_the_checkpoint_knows() {
        // Short tags; full ones, without summaries and with them.
        for geometry in ["2048+32:16:48", "512+64:16:48", "512+64:32:48"] {
            let (mut disk, block, segment) = with_known_segment(geometry);
            let (mut gaps, since, shape) = (Gaps::default(), disk.log.flash.medium.seq(), disk.log.shape);
            let mut surveyor = Surveyor {
                surveys: &mut disk.log.aftermath.surveys,
                flash: &mut disk.log.flash,
                shape,
                leaves_out_last: false,
            };
            let found = surveyor.survey(block, &segment, since, None, &mut gaps).unwrap();
            assert!(found.is_none(), "{geometry}");
            let judged = tails::judge(&shape, &gaps.tails, &Record::default(), &mut |_| Ok(true)).unwrap();
            assert_eq!((judged.missing, judged.unnamed), Default::default(), "{geometry}");
        }
    }

    /// A start after a power cut reads one summary of a full segment, if a later page proves that it was complete.
    #[test]
    fn a_full_segment_costs_a_start_one_page() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+32:16:400").unwrap());
        create(&mut chip, &CreateOptions { block_bytes: 2048, ..CreateOptions::default() }, &mut |_, _| {})
            .unwrap();
        let mut disk = served(chip);
        for lba in 0..900 {
            disk.write(Lba(lba), &[1; 2048]).unwrap();
        }
        disk.flush().unwrap();
        let (chip, opened) = (chip_of(&disk), u64::from(disk.log.recorded.opened.count()));
        assert!(opened > 40 && !disk.log.shape.tagged, "{opened} segments");
        let before = chip.stats().page_reads;
        let reads = served(chip).log.chip().stats().page_reads - before;
        let pages = u64::from(disk.info().gang_pages);
        // Of those that were not opened yet the last page is read, too.
        let named = disk.log.recorded.record.opened.as_ref().unwrap().len() as u64;
        assert!(reads < (named + opened / 2) * pages, "{reads} reads for {opened} of {named} segments");
    }

    /// The copy of the last summary cannot be read: what is found is replayed again, and not read again.
    #[test]
    fn a_summary_that_may_fade_costs_a_start_no_second_look_at_other_segments() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+32:64:48").unwrap());
        let policies = PolicyNames { placement: "m6".parse().unwrap(), ..PolicyNames::default() };
        let options = CreateOptions { block_bytes: 2048, policies, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        disk.admit_write().unwrap();
        for class in 0..6 {
            let at = disk.head_for_cleaner(class).unwrap();
            disk.append(at, Entry { lba: class.into(), written: disk.log.clock }, &[1; 2048]).unwrap();
        }
        disk.flush().unwrap();
        let (mut chip, shape) = (chip_of(&disk), disk.log.shape);
        let reads = |chip: &SimChip| {
            let disk = served(chip.clone());
            (
                disk.log.aftermath.unsure.alone().len(),
                disk.log.chip().stats().page_reads - chip.stats().page_reads,
            )
        };
        let (_, sound) = reads(&chip);
        let newest = disk.log.heads.iter().max_by_key(|head| head.contents.sequences.last()).unwrap();
        let copy = Place { block: newest.block, index: newest.index - 1 };
        chip.faults_mut().unreadable.insert(shape.medium.chip_page(shape.page(copy), 0));
        let (alone, faded) = reads(&chip);
        let more = u64::from(2 * shape.pages);
        assert!(alone == 1 && faded < sound + more, "{faded} reads, {sound} before, {alone} alone");
    }

    /// A closed disk, and a sealed segment of it with these pages dead.
    fn with_known_segment(geometry: &str) -> (Server<'static>, u32, Segment) {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry(geometry).unwrap());
        let options = CreateOptions { block_bytes: 512, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        for lba in 0..200 {
            disk.write(Lba(lba), &[1; 512]).unwrap();
            if lba % 8 == 7 {
                disk.flush().unwrap();
            }
        }
        let disk = Server::open(disk.close().unwrap(), OpenOptions::default()).unwrap();
        let is_sealed = |segment: &Segment| segment.state == State::Sealed && segment.valid > 0;
        let sealed = disk.log.segments.iter().find(|(_, segment)| is_sealed(segment));
        let (block, segment) = sealed.unwrap();
        let (mut chip, shape, used) = (chip_of(&disk), disk.log.shape, u32::from(segment.used));
        for index in [0, used - 2, used - 1] {
            let page = shape.page(Place { block, index });
            chip.faults_mut().unreadable.insert(shape.medium.chip_page(page, 0));
        }
        (served(chip), block, segment)
    }
}
