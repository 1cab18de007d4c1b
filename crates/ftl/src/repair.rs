//! Repair: a disk is put in order by the proof in its tags, and lost blocks are given up by number.
//!
//! Everything happens in memory, and is written to segments that hold nothing needed: until the record of the new
//! checkpoint is there, a power cut leaves the disk as the repair found it.

use alloc::format;
use alloc::vec::Vec;

use pumice_media::{AnyChip, Nand};

use crate::check::{Checked, Fixes, examine};
use crate::counters::Start;
use crate::error::{FtlError, Result};
use crate::findings::{Finding, told};
use crate::head::Head;
use crate::replaying::Replayed;
use crate::segment::State;
use crate::server::Server;
use crate::shape::Addr;
use crate::survey::Surveys;
use crate::trust::{Sure, Trust};

/// The options of a repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepairOptions {
    /// Nothing is written.
    pub dry_run: bool,
    /// The disk's identity from now on, if neither anchor nor record has the old one.
    pub uuid: [u8; 16],
}

/// Sequence numbers that roots may have taken behind the last page that can be read.
const SEQ_GAP: u64 = 1 << 20;
/// Segments wanted free beyond those of a checkpoint: two for its record, one that the cleaner copies to.
const FREE_WANTED: u32 = 3;

/// Repairs the disk on a chip; returns the faults that were, or would be, put right. Lost blocks read as zeros
/// afterwards; those that the newest page held before a power cut are as they were before it. `progress` is told
/// segments looked at and all.
pub fn repair<N: Nand + Send + 'static>(
    nand: N,
    options: RepairOptions,
    progress: &mut dyn FnMut(u32, u32),
) -> Result<(N, Vec<Finding>)> {
    let Checked { mut ftl, replayed, mut fixes, mut found, is_adrift, named, .. } =
        examine(AnyChip::own(nand), options.uuid, progress)?;
    if !fixes.possibly_lost.is_empty() {
        // Taken for torn, as the caller accepts.
        let accepted = core::mem::take(&mut fixes.possibly_lost);
        fixes.lost.retain(|lba| !accepted.contains(lba));
        ftl.log.aftermath.doubted = None;
    }
    for lba in &fixes.lost {
        found.add("given-up", format!("block {lba} reads as zeros"));
    }
    if !options.dry_run {
        // Without a checkpoint nothing names the newest page, should the power go.
        let mut trust = Trust::GIVE_UP.with(if ftl.log.status.start == Start::Headers {
            Sure::Newest
        } else {
            Sure::Nothing
        });
        let freed = ftl.replay_to_serve(&mut trust)?;
        let undone = ftl.undo_or_trust(&replayed, trust)?;
        ftl.log.aftermath.surveys = Surveys::default();
        ftl.hold_freed(freed);
        ftl.hold_freed(replayed.listed);
        ftl.hold_freed(named);
        let mut lost = Vec::new();
        for lba in &fixes.lost {
            let addr = ftl.map.addr(&mut ftl.log, *lba)?;
            lost.extend(ftl.log.shape.segment_of(addr));
        }
        ftl.log.segments.hold(lost.into_iter().chain(replayed.tellers));
        ftl.apply(&fixes)?;
        if is_adrift {
            ftl.log.flash.medium.number_from(0, SEQ_GAP);
        }
        ftl.write_repair(undone, &fixes)?;
    }
    let chip = ftl.log.flash.medium.into_chip().take().ok_or(FtlError::Foreign)?;
    Ok((chip, told(found)))
}

impl Server<'_> {
    /// Keeps the newest page in memory from here on until it is written once more. If it cannot be read, it counts as
    /// torn: its blocks are as they were before. Returns the segments of [`Server::take_in_alone`].
    fn replay_to_serve(&mut self, trust: &mut Trust) -> Result<Vec<u32>> {
        if self.log.status.start == Start::Checkpoint {
            return Ok(Vec::new());
        }
        let sequence = self.log.flash.medium.seq();
        self.replay(None, *trust)?;
        self.log.flash.medium.number_from(sequence, 0);
        let freed = self.take_in_alone(trust, &mut Replayed::default())?;
        self.map.count_off_all(&mut self.log)?;
        Ok(freed)
    }

    /// Puts the tables right, and counts the live blocks of segments anew.
    fn apply(&mut self, fixes: &Fixes) -> Result<()> {
        let lost = fixes.lost.iter().map(|lba| (lba, &Addr::NONE));
        for (lba, addr) in fixes.table.iter().chain(lost) {
            self.map.set_addr(&mut self.log, *lba, *addr)?;
        }
        for (block, erases) in &fixes.erases {
            self.log.segments.change(*block, |segment| segment.erases = *erases);
        }
        let is_wrong = |head: &Head| fixes.heads.contains(&head.block) || fixes.bad.contains(&head.block);
        for head in self.log.heads.take_all(is_wrong) {
            let used = u16::try_from(self.log.shape.pages).unwrap_or(u16::MAX);
            self.log
                .segments
                .change(head.block, |segment| (segment.state, segment.used) = (State::Sealed, used));
        }
        self.map.count_valid(&mut self.log)?;
        for block in 0..self.log.shape.blocks {
            if self.log.aftermath.unsure.is_in(block) {
                // It is left alone until its blocks are written once more, though the table does not point there.
                continue;
            }
            self.log.segments.change(block, |segment| match segment.state {
                State::Free if fixes.bad.contains(&block) => segment.state = State::Bad,
                State::Sealed | State::Stuck if segment.valid == 0 => segment.state = State::Free,
                // Unreadable blocks are given up.
                State::Stuck => segment.state = State::Sealed,
                _ => {}
            });
        }
        let bad = self.log.segments.iter().filter(|(_, segment)| segment.state == State::Bad).count();
        let failures = self.log.segments.failures().min(u32::try_from(bad).unwrap_or(u32::MAX));
        self.log.segments.set_failures(failures);
        fixes.map.iter().for_each(|block| self.map.log.call_weak(*block));
        Ok(())
    }

    /// Writes a checkpoint with new roots, and moves blocks out of segments with wrong headers.
    fn write_repair(&mut self, undone: bool, fixes: &Fixes) -> Result<()> {
        self.log.status.begin_changes();
        self.log.hand_out();
        if undone {
            self.write_void()?;
        }
        if self.log.status.start == Start::Headers {
            // Copies are told by their tags alone, as everything is until there is a checkpoint.
            self.make_room(self.wanted() + FREE_WANTED)?;
        }
        if !self.is_covered() {
            return Err(FtlError::WornOut);
        }
        self.log.recorded.roots.find_ends(&mut self.log.flash.medium)?;
        self.log.recorded.roots.turn_over();
        match self.log.status.start {
            // Nothing may follow a record that says that nothing does.
            Start::Checkpoint => self.write_record(false)?,
            Start::Recovered | Start::Headers => self.checkpoint_unsure(false)?,
        }
        for block in &fixes.empty {
            if self.log.take_sealed(*block) {
                self.clean_victim(*block)?;
            }
        }
        for block in &fixes.bad {
            if self.log.take_sealed(*block) {
                self.move_out(*block)?;
                self.commit()?;
            }
            self.log.segments.change(*block, |segment| segment.state = State::Bad);
        }
        self.map.empty_weak_map(&mut self.log)?;
        // The roots and the newest page may have taken what was kept for it.
        self.make_room(self.wanted())?;
        self.write_checkpoint(true)?;
        Ok(self.log.flash.medium.flush()?)
    }
}
