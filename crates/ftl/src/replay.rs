//! The state of a disk at its start: by its checkpoint and the pages written since, or by the headers of all segments.

use alloc::vec::Vec;

use crate::counters::Start;
use crate::error::{FtlError, Result};
use crate::head::HEADS;
use crate::record::Record;
use crate::replaying::Replayed;
use crate::segment::State;
use crate::server::Server;
use crate::shape::Shape;
use crate::trust::{Range, Sure, Trust};

/// Free segments that a start after a power cut asks for their bad marks, if there are no more.
const ASKED: usize = 64;

/// Sequence numbers that a start leaves out: pages that it cannot read may have them, and be read by the next. These are a
/// few or, where pages have no tags of their own, all that the summary of each head would have named.
fn left_out(shape: &Shape) -> u64 {
    let unnamed = if shape.tagged { 0 } else { HEADS as u64 * u64::from(shape.pages) };
    64 + unnamed
}

impl Server<'_> {
    /// Loads the checkpoint of a record and all pages written since. Without a record, or if it is not wanted, goes by
    /// the headers of all segments. Nothing is written.
    pub(crate) fn replay_since(
        &mut self,
        record: Option<Record>,
        rebuild: bool,
        trust: Trust,
    ) -> Result<Replayed> {
        let mut replayed = Replayed::default();
        self.log.status.start = if !self.load_unless(rebuild, record)? {
            replayed = self.rebuild(None, trust)?;
            Start::Headers
        } else if self.log.recorded.record.clean {
            self.log.end_without_parity();
            Start::Checkpoint
        } else {
            replayed = self.recover(Range { since: self.log.flash.medium.seq(), without: None, trust })?;
            Start::Recovered
        };
        let newest = self.log.recorded.roots.newest_seq();
        self.log.flash.medium.number_from(newest + 1, left_out(&self.log.shape));
        self.find_free()?;
        Ok(replayed)
    }

    /// Starts over, as the start did.
    pub(crate) fn replay(&mut self, without: Option<u32>, trust: Trust) -> Result<Replayed> {
        let mut replayed = Replayed::default();
        if self.log.status.start == Start::Headers {
            replayed = self.rebuild(without, trust)?;
        } else if !self.load(self.log.recorded.record.clone())? {
            return Err(FtlError::Checkpoint);
        } else if self.log.status.start == Start::Recovered {
            replayed = self.recover(Range { since: self.log.flash.medium.seq(), without, trust })?;
        }
        self.find_free()?;
        Ok(replayed)
    }

    /// Finds the segments in which nothing lives because of a page that may fade, for its copy is missing: trims or, with
    /// short tags, a summary. It counts.
    pub(crate) fn take_in_alone(&mut self, trust: &mut Trust, replayed: &mut Replayed) -> Result<Vec<u32>> {
        let without = *trust;
        *trust = trust.with(Sure::Alone);
        if self.log.aftermath.unsure.alone().is_empty() {
            return Ok(Vec::new());
        }
        let is_free = |ftl: &Server<'_>| -> Vec<bool> {
            ftl.log.segments.iter().map(|(_, segment)| segment.state == State::Free).collect()
        };
        let sequence = self.log.flash.medium.seq();
        let mut left_out = 0;
        // A summary counts until it is known that it may fade; one may be read that could not be read before.
        while !self.log.shape.tagged && self.log.aftermath.unsure.alone().len() > left_out {
            left_out = self.log.aftermath.unsure.alone().len();
            self.replay(None, without)?;
        }
        let before = is_free(self);
        *replayed = self.replay(None, *trust)?;
        self.log.flash.medium.number_from(sequence, 0);
        let freed = (0..).zip(is_free(self)).zip(before).filter(|((_, now), before)| *now && !before);
        Ok(freed.map(|((block, _), _)| block).collect())
    }

    /// Leaves free segments alone until a checkpoint tells of their contents, too, as many as are not needed for that.
    pub(crate) fn hold_freed(&mut self, mut freed: Vec<u32>) {
        let is_free = |block: u32| {
            let segment = self.log.segments.get(block);
            segment.state == State::Free && !segment.trims
        };
        let free = (0..self.log.shape.blocks).filter(|block| is_free(*block)).count();
        freed.retain(|block| is_free(*block));
        // A record that has one segment takes another.
        let for_record = 2usize.saturating_sub(self.log.recorded.roots.blocks().count());
        freed.truncate(free.saturating_sub(self.wanted() as usize + for_record));
        self.log.segments.hold(freed);
    }

    /// Loads the checkpoint of a record, unless it is not wanted; false if nothing was loaded.
    fn load_unless(&mut self, unwanted: bool, record: Option<Record>) -> Result<bool> {
        let Some(record) = record else { return Ok(false) };
        // Numbers go on from there in any case.
        self.log.recorded.record.number = record.number;
        if unwanted { Ok(false) } else { self.load(record) }
    }

    /// Makes the tables from the headers of all segments.
    pub(crate) fn rebuild(&mut self, without: Option<u32>, trust: Trust) -> Result<Replayed> {
        self.map.table.clear();
        self.map.log.clear();
        self.log.aftermath.unsure.name(&self.log.shape, &[]);
        self.log.segments.clear();
        self.log.heads.take_all(|_| true);
        self.log.flash.medium.set_seq(1);
        self.log.clock = 0;
        for block in 0..self.log.shape.blocks {
            self.log.prepare(block, true)?;
        }
        self.log.segments.set_failures(0);
        self.place_roots();
        let replayed = self.recover(Range { since: 0, without, trust })?;
        // Free segments have no known wear: they count as worn as the others.
        let known: Vec<u64> =
            self.log.segments.iter().map(|(_, s)| u64::from(s.erases)).filter(|erases| *erases > 0).collect();
        let mean = known.iter().sum::<u64>().checked_div(known.len() as u64).unwrap_or(0);
        for block in 0..self.log.shape.blocks {
            self.log.segments.change(block, |segment| {
                if segment.erases == 0 {
                    segment.erases = u32::try_from(mean).unwrap_or(u32::MAX);
                }
            });
        }
        Ok(replayed)
    }

    /// Finds the segments without live blocks. If too few are free for a checkpoint, old places are counted off first.
    fn find_free(&mut self) -> Result<()> {
        self.find_empty()?;
        if self.log.segments.free() < self.wanted() as usize && self.map.table.is_unsettled() {
            self.map.count_off_all(&mut self.log)?;
            self.find_empty()?;
        }
        Ok(())
    }

    /// Finds the segments without live blocks. After a power cut it asks those that heads may have opened, or all if
    /// they are few, whether they went bad since the checkpoint; others are asked before they are erased.
    fn find_empty(&mut self) -> Result<()> {
        let is_unasked = self.log.status.start == Start::Recovered;
        let unsure = self.log.aftermath.unsure.blocks();
        for block in 0..self.log.shape.blocks {
            self.log.segments.change(block, |line| {
                let is_empty = matches!(line.state, State::Sealed | State::Stuck)
                    && line.valid == 0
                    && !unsure.contains(&block);
                if is_empty || line.state == State::Free {
                    (line.state, line.is_unasked) = (State::Free, is_unasked);
                }
            });
        }
        let free = self.log.segments.iter().filter(|(_, segment)| segment.is_unasked);
        let free: Vec<u32> = free.map(|(block, _)| block).collect();
        // Where few are left each one counts.
        self.log.ask_for_bad(if free.len() <= ASKED { free } else { self.log.may_be_written(&[]) })
    }
}
