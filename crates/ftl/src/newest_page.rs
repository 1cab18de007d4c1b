//! The newest page of a replay: it may have been read for the last time, so its blocks are kept apart.

use alloc::vec::Vec;

use crate::error::Result;
use crate::flash::Found;
use crate::layout::{Kind, UNSURE_MOST};
use crate::log::Log;
use crate::replaying::{Replay, Trimmed};
use crate::segment::State;
use crate::shape::{Addr, Place};
use crate::survey::{Held, Surveyed, Surveyor};
use crate::tag::Entry;
use crate::tails;
use crate::trust::Sure;
use crate::unsure::pages_through;

impl Replay<'_, '_> {
    /// True if the last summary of a segment does not count, for it may fade.
    pub(crate) fn leaves_out_last(&self, block: u32) -> bool {
        self.range.trust.sure < Sure::Alone && self.log.aftermath.unsure.alone().contains(&block)
    }

    /// The segments of which the last page is written twice and may fade: it has no copy, and nothing proves that it was
    /// complete when the power went.
    pub(crate) fn find_alone(&mut self) -> Result<Vec<u32>> {
        let mut alone: Vec<u32> = self.alone.into_iter().collect();
        for summary in tails::unproved(&self.log.shape, &self.gaps.tails, &self.log.recorded.record) {
            if !self.log.surveyor().is_second(summary)? {
                alone.push(summary.block);
            }
        }
        Ok(alone)
    }

    /// Takes in the segment that was written last, without the newest page of all if it is not sure.
    pub(crate) fn take_latest(&mut self, mut latest: Surveyed) -> Result<()> {
        if latest.is_ended {
            self.log.surveyor().leave_out_endangered(&mut latest, &mut self.gaps)?;
        }
        // A record with a higher number may be one that a start after the cut wrote. A move that was undone wrote pages behind it.
        let is_last = latest.last >= self.log.recorded.identity.void.sequence;
        let newest = latest.newest.take().filter(|_| is_last);
        let left_out = match newest {
            Some(newest) if newest.tag.kind == Kind::Data && !self.range.trust.is_newest_sure() => {
                Some(self.unsure.insert(newest).place.index)
            }
            // Nothing would name it, should the power go again, but its blocks are elsewhere, too: it may fade.
            Some(newest)
                if newest.tag.kind == Kind::Data
                    && self.range.since == 0
                    && self.range.trust.sure == Sure::Newest
                    && self.is_there_twice(&newest)? =>
            {
                Some(newest.place.index)
            }
            Some(newest) if newest.tag.kind == Kind::Data => {
                self.trusted.extend(newest.tag.entries.iter().map(|entry| entry.lba));
                None
            }
            Some(newest)
                if newest.tag.kind == Kind::Trim
                    && self.range.trust.sure < Sure::Alone
                    && self.log.surveyor().is_first_trim(&newest)? =>
            {
                self.alone = Some(latest.block);
                Some(newest.place.index)
            }
            _ => None,
        };
        self.take_segment(latest, left_out)
    }

    /// True if all blocks of the newest page were copied from where the table has them.
    fn is_there_twice(&mut self, newest: &Held) -> Result<bool> {
        for entry in newest.tag.entries.iter().filter(|entry| **entry != Entry::NONE) {
            if !self.map.is_stored(self.log, *entry)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes in the newest page and those that the checkpoint names, or keeps their blocks in memory. The newest is
    /// sure if there is a `newer` one that cannot be read. Returns the places of named ones that cannot be read.
    pub(crate) fn take_unsure(&mut self, newer: bool) -> Result<Vec<Place>> {
        let mut held = Vec::new();
        let (named, unread) = self.log.named_unsure()?;
        for named in named {
            let Some(named) = self.without_newer(named) else { continue };
            if self.range.trust.sure >= Sure::Named {
                self.trusted.extend(named.tag.entries.iter().map(|entry| entry.lba));
                self.take_page(&named);
            } else if self.has_lost_originals(&named)? {
                self.take_page(&named);
            } else {
                held.push(named);
            }
        }
        if let Some(newest) = self.unsure.take() {
            // It was being written in place of the others.
            let is_again = held.iter().any(|held| newest.is_copy_of(held));
            let is_sure = newer || (!is_again && held.len() >= UNSURE_MOST);
            if is_sure || self.has_lost_originals(&newest)? {
                self.take_page(&newest);
            } else if !is_again {
                held.push(newest);
            }
        }
        self.log.keep_unsure(held);
        Ok(unread)
    }

    /// A page without the entries that a later page holds or takes back; `None` if nothing is left.
    fn without_newer(&mut self, mut page: Held) -> Option<Held> {
        let sequence = page.tag.sequence;
        for entry in &mut page.tag.entries {
            let is_older = entry.lba >= self.map.table.len()
                || is_trimmed(&self.trimmed, entry.lba, sequence)
                || self.sequence(entry.lba) > sequence;
            if is_older {
                *entry = Entry::NONE;
            }
        }
        page.tag.entries.iter().any(|entry| *entry != Entry::NONE).then_some(page)
    }

    /// True if the blocks that a page replaces are not at their old places: these were erased once the page was
    /// promised, and the power went later.
    fn has_lost_originals(&mut self, page: &Held) -> Result<bool> {
        for entry in &page.tag.entries {
            if entry.lba >= self.map.table.len() {
                continue;
            }
            let addr = self.map.addr(self.log, entry.lba)?;
            if addr.is_none() || addr == Addr::LOST {
                continue;
            }
            let original = self.sequence(entry.lba);
            if is_trimmed(&self.trimmed, entry.lba, original) {
                // Trimmed in between: nothing kept it from being erased.
                continue;
            }
            if self.log.entry_at(addr)?.is_none_or(|original| original.lba != entry.lba) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// True if a block was trimmed after this page.
fn is_trimmed(trimmed: &[Trimmed], lba: u32, sequence: u64) -> bool {
    let later = trimmed.iter().filter(|(trimmed, _)| *trimmed > sequence);
    later.flat_map(|(_, ranges)| ranges).any(|(first, end)| (*first..*end).contains(&lba))
}

impl<'c> Log<'c> {
    pub(crate) fn surveyor(&mut self) -> Surveyor<'_, 'c> {
        let (surveys, flash) = (&mut self.aftermath.surveys, &mut self.flash);
        Surveyor { surveys, flash, shape: self.shape, leaves_out_last: false }
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
