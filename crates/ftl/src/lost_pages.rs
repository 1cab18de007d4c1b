//! Pages that a replay cannot read: the owners of some are known, and others may be missing.

use alloc::{collections::BTreeSet, vec::Vec};

use crate::error::Result;
use crate::gaps::{Doubted, Lost, Told};
use crate::layout::{Kind, NO_BLOCK, TRIM_BLOCK};
use crate::replaying::{Replay, Replayed};
use crate::segment::State;
use crate::shape::{Addr, Place};
use crate::tag::Entry;
use crate::tails;
use crate::unsure::pages_through;

impl Replay<'_, '_> {
    /// Unreadable pages of trims of which the copy cannot be read, either: two of them follow each other.
    fn lost_trims(&self) -> Vec<Place> {
        let read = self.trimmed.iter().map(|(sequence, _)| (*sequence, None));
        let unread = self.unread_trims.iter().map(|(sequence, place)| (*sequence, Some(*place)));
        let mut pages: Vec<_> = read.chain(unread).collect();
        pages.sort_unstable_by_key(|(sequence, _)| *sequence);
        let pairs = pages.windows(2).filter(|pair| pair.iter().all(|(_, place)| place.is_some()));
        pairs.flatten().filter_map(|(_, place)| *place).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Takes in the known contents of unreadable pages, and the trims.
    pub(crate) fn take_gaps(mut self) -> Result<Replayed> {
        let mut gaps = core::mem::take(&mut self.gaps);
        let mut tails = core::mem::take(&mut gaps.tails);
        let Told { lost, mut unnamed, cut } =
            gaps.named(&mut self.log.flash, &self.log.shape, &self.newest)?;
        let found = if self.range.trust.doubting { self.doubted(&unnamed)? } else { None };
        unnamed.retain(|place| found.as_ref().is_none_or(|found| found.place != *place));
        let (mut missing, lost_trims) = (unnamed.clone(), self.lost_trims());
        unnamed.extend(cut);
        for lost in lost.iter().chain(&found) {
            self.take_lost(lost);
        }
        unnamed.extend(self.take_unsure(found.is_some())?);
        self.apply_trims();
        let told = lost.iter().chain(&found).filter(|lost| self.is_still_lost(lost));
        let tellers = told.map(|lost| lost.told_by).collect();
        missing.retain(|place| self.is_missing(*place, &lost, found.as_ref()));
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
        self.log.mark_without_parity(core::mem::take(&mut self.touched))?;
        let doubted = found.map(|Lost { place, sequence, lbas, .. }| {
            self.log.flash.medium.number_from(sequence + 1, 0);
            Doubted { place, lbas }
        });
        let listed = judged.listed;
        let Replay { range, begun, trusted, .. } = self;
        Ok(Replayed { since: range.since, begun, unnamed, doubted, trusted, tellers, listed, missing })
    }

    /// True if an unreadable page that none names was complete when the power went: one behind it in its segment was
    /// programmed. Nothing lives in a segment of which the erase was cut, and none with trims is erased before a
    /// checkpoint.
    fn is_missing(&self, place: Place, lost: &[Lost], found: Option<&Lost>) -> bool {
        let mut told = lost.iter().chain(found).filter(|lost| lost.place.block == place.block);
        let holds_trims = told.clone().any(|lost| lost.lbas.first() == Some(&TRIM_BLOCK));
        (holds_trims || self.log.segments.get(place.block).valid > 0)
            && (self.newest.has_behind(place) || told.any(|lost| lost.place.index > place.index))
    }

    /// True if something in a segment is needed; everything was replayed.
    fn is_needed(&mut self, block: u32) -> Result<bool> {
        if self.log.segments.get(block).valid > 0 {
            self.map.count_off_all(self.log)?;
        }
        Ok(self.log.segments.get(block).is_needed())
    }

    /// The newest page of all, if it is one of these and its spare area can be read.
    fn doubted(&mut self, unnamed: &[Place]) -> Result<Option<Lost>> {
        let newest = self.log.flash.medium.seq();
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
    fn take_lost(&mut self, lost: &Lost) {
        let Lost { place, sequence, ref lbas, .. } = *lost;
        let mut is_lost = false;
        self.newest.add_lost(place, sequence);
        for (slot, lba) in (0..).zip(lbas.iter().copied()) {
            if lba >= self.map.table.len() || self.sequence(lba) >= sequence {
                continue;
            }
            self.newest.meet(lba);
            let addr = self.log.shape.addr(place, slot);
            self.map.repoint(self.log, lba, addr);
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
}
