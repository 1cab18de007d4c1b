//! Repairs of what can be derived from the nodes: SIT, SSA, logs, orphans, the numbers of the checkpoint.

use super::{
    bench::Bench,
    field,
    pack::{BLOCKS, DATA_LOGS, WARM_DATA},
};
use crate::{
    check::{Code, Cure, Finding, Object},
    error::Result,
    layout::{Nid, SegNo, SitEntry, SummaryBlock},
};

/// Kinds of segments.
const KINDS: u8 = 6;

/// Mends one finding.
pub(super) fn mend(bench: &mut Bench, finding: &Finding) -> Result<()> {
    match (finding.code, finding.object, finding.cure) {
        (Code::SitCount, Object::Segment(segno), _) => recount(bench, segno),
        (Code::SitKind, Object::Segment(segno), cure) => set_kind(bench, segno, cure),
        (Code::SitMissing, Object::Block(addr), _) => bench.mark(addr, true),
        (Code::SitExtra, Object::Block(addr), _) => bench.mark(addr, false),
        // A log that writes to the wrong segment goes on elsewhere.
        (Code::SsaKind, Object::Segment(segno), _) if bench.pack.log_of(segno).is_some() => Ok(()),
        (Code::SsaKind, Object::Segment(segno), Cure::Number(of_nodes)) => {
            bench.set_kind(segno, of_nodes != 0)
        }
        (Code::SsaOwner, Object::Block(addr), Cure::Owner(owner)) => {
            let Some((segno, offset)) = bench.volume.segment_of(addr) else { return Ok(()) };
            bench.edit_summary(segno, |summary| summary.set_entry(offset, owner))
        }
        (Code::LogSegmentKind, Object::Log(log), _) => mend_kind(bench, log),
        (Code::LogSegment | Code::LogNextBlock | Code::LogAllocation, Object::Log(log), _) => {
            turn(bench, log)
        }
        (Code::OrphanInode | Code::OrphanNamed, Object::Inode(ino), _) => {
            drop_orphan(bench, ino);
            Ok(())
        }
        (Code::CheckpointNumbers, ..) => {
            reserve(bench);
            Ok(())
        }
        (code, _, Cure::Number(count)) => {
            count_anew(bench, code, count)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn recount(bench: &Bench, segno: SegNo) -> Result<()> {
    let entry = bench.sit(segno)?;
    let valid_blocks = field(entry.bits().into())?;
    bench.set_sit(segno, &SitEntry { valid_blocks, ..entry })
}

/// A kind that does not exist is first taken for data; the next look tells if nodes are there. The segment of a log is of
/// the log's kind, unless it holds something else.
fn set_kind(bench: &Bench, segno: SegNo, cure: Cure) -> Result<()> {
    let entry = bench.sit(segno)?;
    let log = bench.pack.log_of(segno).and_then(|log| u8::try_from(log).ok());
    let kind = match cure {
        Cure::Number(kind) => {
            let kind = field(kind)?;
            log.filter(|log| is_node(*log) == is_node(kind)).unwrap_or(kind)
        }
        _ => log.unwrap_or(WARM_DATA),
    };
    bench.set_sit(segno, &SitEntry { kind, ..entry })
}

fn is_node(kind: u8) -> bool {
    usize::from(kind) >= DATA_LOGS
}

/// The kind of a log's segment is the log's, unless the segment holds something else.
fn mend_kind(bench: &mut Bench, log: usize) -> Result<()> {
    let segno = bench.pack.raw.segment(log);
    let entry = bench.sit(segno)?;
    let kind = field(log as u64)?;
    if entry.bits() == 0 || entry.kind >= KINDS || is_node(entry.kind) == is_node(kind) {
        return bench.set_sit(segno, &SitEntry { kind, ..entry });
    }
    turn(bench, log)
}

/// Lets a log go on in a free segment, or in the holes of one of its kind. The summary of the one that it leaves goes
/// to the SSA, where the next look compares it.
pub(super) fn turn(bench: &mut Bench, log: usize) -> Result<()> {
    let segments = bench.volume.super_block().main_segments();
    let kind = field(log as u64)?;
    let mut found = None;
    for segno in (0..segments).map(SegNo).filter(|segno| bench.pack.log_of(*segno).is_none()) {
        let entry = bench.sit(segno)?;
        if entry.bits() == 0 {
            found = Some((segno, 0, entry));
            break;
        }
        let hole = (0..BLOCKS).find(|offset| !entry.is_valid(*offset));
        if let Some(hole) = hole.filter(|_| is_node(entry.kind) == is_node(kind) && found.is_none()) {
            found = Some((segno, hole, entry));
        }
    }
    let Some((segno, offset, entry)) = found else { return Ok(()) };
    let layout = bench.volume.summary_layout();
    let old = bench.pack.raw.segment(log);
    let empty = SummaryBlock::empty(layout, log >= DATA_LOGS);
    let mut new = empty.clone();
    if entry.bits() > 0 {
        bench.edit_summary(segno, |stored| new = stored.clone())?;
    }
    let left = bench.pack.summaries.get_mut(log).map(|summary| std::mem::replace(summary, new));
    bench.pack.raw.set_log(log, segno, field(offset.into())?, entry.bits() > 0);
    if let Some(left) = left.filter(|_| old.0 < segments && bench.pack.log_of(old).is_none()) {
        bench.edit_summary(old, |summary| {
            let mut kept = empty;
            (0..BLOCKS).for_each(|offset| kept.set_entry(offset, left.entry(offset)));
            *summary = kept;
        })?;
    }
    bench.set_sit(segno, &SitEntry { kind, ..entry })?;
    Ok(())
}

fn drop_orphan(bench: &mut Bench, ino: Nid) {
    // One that stands there twice stays once.
    let is_twice = bench.pack.orphans.iter().filter(|orphan| **orphan == ino).count() > 1;
    let mut seen = false;
    bench.pack.orphans.retain(|orphan| *orphan != ino || (is_twice && !std::mem::replace(&mut seen, true)));
}

/// Writes a counted number.
fn count_anew(bench: &mut Bench, code: Code, count: u64) -> Result<()> {
    let raw = &mut bench.pack.raw;
    match code {
        Code::CheckpointValidBlocks => raw.set_valid_blocks(count),
        Code::CheckpointValidNodes => raw.set_valid_nodes(field(count)?),
        Code::CheckpointValidInodes => raw.set_valid_inodes(field(count)?),
        Code::CheckpointFreeSegments => raw.set_free_segments(field(count)?),
        _ => {}
    }
    Ok(())
}

/// Takes the reserve, and the users' share, from the other pack.
fn reserve(bench: &mut Bench) {
    let other = bench.volume.packs().iter().flatten().find(|pack| pack.pack() != bench.pack.number);
    if let Some(other) = other {
        bench.pack.raw.take_reserve(other.raw());
    }
}
