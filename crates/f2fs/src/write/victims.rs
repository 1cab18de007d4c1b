//! Sections that are cleaned: the choice of the next, and its contents.

use std::ops::Range;

use pumice_cleaning::SegmentView;

use super::{Writer, head::Log};
use crate::{
    error::Result,
    layout::{BlockAddr, SegNo, Summary},
    word::word,
};

/// A block that is in use, and its owner from the SSA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lodger {
    pub(crate) addr: BlockAddr,
    pub(crate) owner: Summary,
    pub(crate) is_node: bool,
}

/// Takes one of sections, by number, if it is worth it. Ages are in seconds.
pub(crate) type Rule = fn(&mut dyn Iterator<Item = (u32, SegmentView)>) -> Option<u32>;

impl Writer {
    /// The section that `rule` takes of those that `may` be cleaned: one that no log writes to, if there is one.
    pub(crate) fn choose(&self, rule: Rule, may: impl Fn(u32, &SegmentView) -> bool) -> Option<u32> {
        let section = self.sb.segments_per_section();
        let count = self.sit.segments() / section;
        let all = || {
            let usage = |at: u32| self.sit.view(at * section, section).map(|usage| (at, usage));
            (0..count).filter_map(usage).filter(|(at, usage)| may(*at, &usage.view))
        };
        let of = |is_open: bool| {
            rule(&mut all().filter(|(_, usage)| usage.is_open == is_open).map(|(at, usage)| (at, usage.view)))
        };
        of(false).or_else(|| of(true))
    }

    /// No log fills holes of a section from now on, until it is free. Returns its segments, but for those that are open.
    pub(crate) fn seize(&mut self, section: u32) -> Vec<SegNo> {
        let size = self.sb.segments_per_section();
        let segments = (section * size..(section + 1) * size).map(SegNo);
        let closed: Vec<SegNo> = segments.filter(|segno| !self.sit.is_open(*segno)).collect();
        for segno in &closed {
            self.sit.seize(*segno);
        }
        closed
    }

    /// A section that was seized is left as it is.
    pub(crate) fn let_go(&mut self, segments: &[SegNo]) {
        for segno in segments {
            self.sit.let_go(*segno);
        }
    }

    /// True if fewer segments are free, or will be with the next checkpoint, than one in `share`.
    pub(crate) fn is_short(&self, share: u32) -> bool {
        let (free, _) = self.sit.room();
        free + self.sit.victims() < self.sit.segments() / share
    }

    /// True if segments were cleaned, or are, that are not free yet.
    pub(crate) fn is_cleaning(&self) -> bool {
        self.sit.victims() > 0
    }

    /// True if a block must not stay where it is, since its segment is being cleaned.
    pub(crate) fn must_move(&self, addr: BlockAddr) -> bool {
        self.sit.is_victim(addr)
    }

    /// Keeps logs out of sections from now on, though they are free. Those that write to one go on elsewhere: a
    /// checkpoint must follow, since promises are looked for where the last one left the logs.
    pub(crate) fn bar(&mut self, sections: &Range<u32>) -> Result<()> {
        let segments = self.segments_of(sections);
        self.sit.bar(&segments);
        for log in Log::ALL {
            let (segno, _) = self.heads.of(log).place();
            if segments.contains(&segno.0) {
                let ahead = self.elsewhere(log)?;
                self.advance(log, ahead)?;
            }
        }
        Ok(())
    }

    /// The most blocks of data that a log can write in a row: in its segment, or in free ones.
    pub(crate) fn row(&self, log: Log) -> u64 {
        let (_, free) = self.sit.free_row(u32::MAX);
        let (_, here) = self.next(self.stream(log));
        let segments = free.min(self.supply.ample(&self.sit));
        let free = u64::from(segments) * u64::from(self.sb.blocks_per_segment());
        if self.is_scarce() { 0 } else { free.max(here.into()) }
    }

    /// Has a log go on where so many blocks fit in a row.
    pub(crate) fn begin_row(&mut self, log: Log, blocks: u32) -> Result<()> {
        let log = self.stream(log);
        let (_, here) = self.next(log);
        if here >= blocks {
            return Ok(());
        }
        let (first, segments) = self.sit.free_row(blocks.div_ceil(self.sb.blocks_per_segment()));
        self.supply.aim(log, first.0..first.0 + segments);
        let ahead = self.elsewhere(log)?;
        self.advance(log, ahead)
    }

    /// Sections that are free, and all.
    pub(crate) fn sections(&self) -> (u32, u32) {
        let size = self.sb.segments_per_section();
        let all = self.sit.segments() / size;
        let is_free = |section: &u32| self.sit.are_free(section * size, size);
        (word((0..all).filter(is_free).count()), all)
    }

    /// Blocks in use in sections.
    pub(crate) fn held(&self, sections: &Range<u32>) -> u64 {
        self.sit.held(&self.segments_of(sections))
    }

    fn segments_of(&self, sections: &Range<u32>) -> Range<u32> {
        let size = self.sb.segments_per_section();
        sections.start.saturating_mul(size)..sections.end.saturating_mul(size)
    }

    /// True if a block is in use.
    pub(crate) fn is_used(&mut self, addr: BlockAddr) -> Result<bool> {
        self.sit.is_used(&self.medium, addr)
    }

    /// The blocks in use of a segment that no log writes to.
    pub(crate) fn lodgers(&mut self, segno: SegNo) -> Result<Vec<Lodger>> {
        let (offsets, is_node) = self.sit.in_use(&self.medium, segno)?;
        if offsets.is_empty() {
            return Ok(Vec::new());
        }
        let summary = self.summary(segno, if is_node { Log::ColdNode } else { Log::ColdData })?;
        let lodger = |offset| {
            let addr = self.sit.addr(segno, offset);
            Lodger { addr, owner: summary.entry(offset), is_node }
        };
        Ok(offsets.into_iter().map(lodger).collect())
    }
}
