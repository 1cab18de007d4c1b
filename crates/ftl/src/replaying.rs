//! A replay: pages are taken in segment by segment, and the map points to the newest copy of each block.

use alloc::vec::Vec;

use pumice_cleaning::placement::MAX_CLASSES;

use crate::error::{Missing, Result};
use crate::gaps::{Doubted, Gaps};
use crate::layout::{Kind, TRIM_BLOCK, count32};
use crate::log::Log;
use crate::map::Map;
use crate::newest::Newest;
use crate::segment::State;
use crate::shape::{Addr, Place};
use crate::summary::Contents;
use crate::survey::{Held, Surveyed};
use crate::trims::{self, Trims};
use crate::trust::Range;

/// Segments begun last that are remembered: heads are not begun in the order in which they are opened.
const BEGUN_MOST: usize = 6;

/// A segment that was begun since the checkpoint, and its contents.
pub(crate) struct Begun {
    pub(crate) block: u32,
    pub(crate) contents: Contents,
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
pub(crate) type Trimmed = (u64, Vec<(u32, u32)>);

/// A replay under way: the log and the map that it fills, and what it has gathered so far.
pub(crate) struct Replay<'a, 'c> {
    pub(crate) log: &'a mut Log<'c>,
    pub(crate) map: &'a mut Map,
    pub(crate) range: Range,
    pub(crate) newest: Newest,
    pub(crate) trimmed: Vec<Trimmed>,
    /// Pages of trims that a summary names and that cannot be read, with their sequence numbers.
    pub(crate) unread_trims: Vec<(u64, Place)>,
    pub(crate) gaps: Gaps,
    pub(crate) begun: Vec<Begun>,
    /// Segments that were written since the checkpoint, with their last sequence numbers.
    pub(crate) touched: Vec<(u64, u32)>,
    /// The segment of the newest page, if that is the first of two pages of trims and was left out.
    pub(crate) alone: Option<u32>,
    /// The newest page, if it is not sure.
    pub(crate) unsure: Option<Held>,
    /// Blocks of the newest page and of those that the checkpoint names, if they count as sure.
    pub(crate) trusted: Vec<u32>,
}

impl<'a, 'c> Replay<'a, 'c> {
    pub(crate) fn new(log: &'a mut Log<'c>, map: &'a mut Map, range: Range) -> Replay<'a, 'c> {
        let newest = Newest::new(map.table.len(), range.since);
        Replay {
            log,
            map,
            range,
            newest,
            trimmed: Vec::new(),
            unread_trims: Vec::new(),
            gaps: Gaps::default(),
            begun: Vec::new(),
            touched: Vec::new(),
            alone: None,
            unsure: None,
            trusted: Vec::new(),
        }
    }

    /// Takes in a segment, the contents of one of its pages left out.
    pub(crate) fn take_segment(&mut self, found: Surveyed, left_out: Option<u32>) -> Result<()> {
        let Surveyed { block, contents, last, .. } = found;
        self.log.flash.medium.number_from(last + 1, 0);
        self.newest.see(last);
        self.newest.add_segment(block, &contents.sequences);
        self.touched.push((last, block));
        self.take_in(block, &contents, left_out)?;
        self.begun.push(Begun { block, contents });
        self.begun.sort_by_key(|begun| core::cmp::Reverse(begun.contents.first()));
        self.begun.truncate(BEGUN_MOST);
        Ok(())
    }

    /// Points the table at the contents of a segment, where nothing newer is known.
    fn take_in(&mut self, block: u32, found: &Contents, left_out: Option<u32>) -> Result<()> {
        let shape = self.log.shape;
        let mut trims = false;
        for (index, (sequence, entries)) in (0..).zip(found.pages(&shape)) {
            self.log.flash.medium.number_from(sequence + 1, 0);
            if sequence < self.range.since {
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
                        self.trimmed.push((sequence, trims::decode(&page.payload, self.map.table.len())));
                    }
                    None => self.unread_trims.push((sequence, place)),
                }
                continue;
            }
            for (slot, entry) in (0..).zip(entries) {
                if entry.lba >= self.map.table.len() {
                    continue;
                }
                if left_out != Some(index) && self.sequence(entry.lba) <= sequence {
                    self.newest.meet(entry.lba);
                    self.map.repoint(self.log, entry.lba, shape.addr(place, slot));
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

    /// Takes in a page on its own.
    pub(crate) fn take_page(&mut self, page: &Held) {
        let (place, sequence) = (page.place, page.tag.sequence);
        self.newest.add_lost(place, sequence);
        for (slot, entry) in (0..).zip(&page.tag.entries) {
            if entry.lba < self.map.table.len() && self.sequence(entry.lba) <= sequence {
                self.newest.meet(entry.lba);
                let addr = self.log.shape.addr(place, slot);
                self.map.repoint(self.log, entry.lba, addr);
            }
        }
    }

    /// Takes blocks off the table if their trim is newer than their newest copy. Each block is looked at once: the
    /// newest ranges come first, and blocks in them are skipped later.
    pub(crate) fn apply_trims(&mut self) {
        let mut trimmed = core::mem::take(&mut self.trimmed);
        trimmed.sort_unstable_by_key(|(sequence, _)| core::cmp::Reverse(*sequence));
        let mut seen = Trims::default();
        for (sequence, ranges) in trimmed {
            for (first, end) in ranges {
                for lba in seen.add_range(first, end).into_iter().flat_map(|(first, end)| first..end) {
                    if self.sequence(lba) < sequence {
                        self.map.repoint(self.log, lba, Addr::NONE);
                    }
                }
            }
        }
    }

    /// The sequence number of the copy that the table points to; 0 if the checkpoint knew it.
    pub(crate) fn sequence(&mut self, lba: u32) -> u64 {
        // A block that was met is among the changes.
        let addr = self.map.table.find(lba);
        addr.map_or(0, |addr| self.newest.sequence(lba, self.log.shape.place(addr).0))
    }
}
