//! The SIT as a writer keeps it: the blocks in use, and those that may be written.
//!
//! A block may be written if nothing has needed it since the last checkpoint began to count: neither that checkpoint
//! nor a write since, even if it was given up.

use std::{collections::BTreeMap, ops::Range};

use pumice_cleaning::SegmentView;

use super::{medium::Medium, table::Table};
use crate::{
    error::{Place, Result, corrupt},
    layout::{BlockAddr, SegNo, SitEntry, SitJournalEntry, SuperBlock},
    volume::{Volume, sit_entry_in},
};

/// Blocks of a segment.
const BLOCKS: u16 = 512;
/// Kinds from this one on are of nodes.
const NODES: u8 = 3;
/// Blocks in a row, at least, of which a device is told on their own; Linux's `discard_granularity`.
const HOLE: u32 = 16;
/// Kinds that there are.
const KINDS: u8 = 6;

/// The use of each segment, and changed entries.
pub(crate) struct Sit {
    table: Table,
    main_start: BlockAddr,
    segments: Vec<Segment>,
    /// Segments that logs stay out of.
    barred: Range<u32>,
    known: BTreeMap<SegNo, Known>,
    /// Nothing was ever written to the table.
    is_fresh: bool,
    valid_blocks: u64,
    free: u32,
    /// Blocks of data, and of nodes, that may be written in segments that are not free.
    holes: [u64; 2],
    now: u64,
    /// Blocks that the call under way gave back, with the time and the newness of their segment's entry before.
    cleared: Option<Vec<(BlockAddr, u64, bool)>>,
}

/// The facts about every segment.
#[derive(Clone, Copy, Default)]
struct Segment {
    valid: u16,
    /// Blocks that may not be written.
    blocked: u16,
    kind: u8,
    /// A log writes to it.
    is_open: bool,
    /// It is free as a whole.
    is_free: bool,
    /// It is being cleaned: no log fills its holes.
    is_victim: bool,
    /// The time of its last change.
    mtime: u64,
}

/// The cleaner's view of some segments.
#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) view: SegmentView,
    /// A log writes to one of them, which is left out.
    pub(crate) is_open: bool,
}

/// A segment that was looked at.
struct Known {
    entry: SitEntry,
    /// Blocks that may not be written.
    blocked: [u8; 64],
    /// The entry is newer than the table's.
    newer: bool,
}

impl Sit {
    /// The SIT of an empty volume.
    pub(crate) fn fresh(sb: &SuperBlock) -> Sit {
        let free = Segment { is_free: true, ..Segment::default() };
        Sit {
            table: Table::sit(sb),
            main_start: sb.main_start(),
            segments: vec![free; sb.main_segments() as usize],
            barred: 0..0,
            known: BTreeMap::new(),
            is_fresh: true,
            valid_blocks: 0,
            free: sb.main_segments(),
            holes: [0; 2],
            now: 0,
            cleared: None,
        }
    }

    /// As the checkpoint of a volume left it. `open` are the segments of its logs.
    pub(crate) fn load(volume: &Volume, medium: &Medium, open: &[SegNo]) -> Result<Sit> {
        let mut sit = Sit::fresh(volume.super_block());
        let (versions, _) = volume.versions();
        sit.is_fresh = false;
        sit.table = sit.table.with_versions(versions);
        let per_block = sit.table.per_block() as usize;
        // The journal's entries are newer than the table.
        let mut segnos = (0..).map(SegNo);
        for (index, part) in (0..).zip(sit.segments.chunks_mut(per_block)) {
            let block = medium.read(sit.table.place(index))?;
            for ((at, segment), segno) in (0..).zip(part).zip(&mut segnos) {
                if !volume.sit_journal().contains_key(&segno) {
                    *segment = Segment::of(segno, &sit_entry_in(&block, at))?;
                }
            }
        }
        for (segno, entry) in volume.sit_journal() {
            if let Some(segment) = sit.segments.get_mut(segno.0 as usize) {
                *segment = Segment::of(*segno, entry)?;
                sit.known.insert(*segno, Known { entry: *entry, blocked: entry.valid_map, newer: true });
            }
        }
        for segno in open {
            if let Some(segment) = sit.segments.get_mut(segno.0 as usize) {
                segment.is_open = true;
            }
            sit.look(medium, *segno)?;
        }
        sit.valid_blocks = sit.segments.iter().map(|segment| u64::from(segment.valid)).sum();
        sit.count();
        Ok(sit)
    }

    /// The first block in use where a log wants to go on in an open segment: at `offset`, or anywhere behind it if it does not
    /// fill holes.
    pub(crate) fn first_used(&self, segno: SegNo, offset: u32, fills_holes: bool) -> Option<u32> {
        let known = self.known.get(&segno);
        debug_assert!(known.is_some(), "segment {segno} was not looked at");
        let end = if fills_holes { offset + 1 } else { u32::from(BLOCKS) };
        (offset..end.min(BLOCKS.into()))
            .find(|offset| known.is_some_and(|known| known.entry.is_valid(*offset)))
    }

    /// Sets the volume's own time, in seconds: it is the time of later changes.
    pub(crate) fn set_time(&mut self, now: u64) {
        self.now = now;
    }

    /// Counts the blocks that can be written: due when blocks may have become free.
    pub(crate) fn count(&mut self) {
        (self.free, self.holes) = (0, [0; 2]);
        for (segno, segment) in (0..).zip(&mut self.segments) {
            let (is_empty, is_barred) =
                (segment.blocked == 0 && !segment.is_open, self.barred.contains(&segno));
            segment.is_free = is_empty && !is_barred;
            segment.is_victim &= !is_empty;
            if segment.is_free {
                self.free += 1;
            } else if segment.lends_holes()
                && !is_barred
                && let Some(holes) = self.holes.get_mut(usize::from(segment.kind >= NODES))
            {
                *holes += u64::from(BLOCKS - segment.blocked);
            }
        }
    }

    /// The entry of a segment, from the table if it was not looked at before.
    fn look(&mut self, medium: &Medium, segno: SegNo) -> Result<&mut Known> {
        if !self.known.contains_key(&segno) {
            let mut entry = SitEntry::EMPTY;
            if !self.is_fresh {
                let per_block = self.table.per_block();
                let block = medium.read(self.table.place(segno.0 / per_block))?;
                entry = sit_entry_in(&block, segno.0 % per_block);
            }
            self.known.insert(segno, Known { entry, blocked: entry.valid_map, newer: false });
        }
        Ok(self.known.entry(segno).or_insert_with(Known::empty))
    }

    /// A log goes on in a segment: it gets the log's kind.
    pub(crate) fn open(&mut self, medium: &Medium, segno: SegNo, kind: u8) -> Result<()> {
        let known = self.look(medium, segno)?;
        known.entry.kind = kind;
        known.newer = true;
        if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
            if segment.is_free {
                self.free -= 1;
            } else if let Some(holes) = self.holes.get_mut(usize::from(segment.kind >= NODES)) {
                *holes -= u64::from(BLOCKS - segment.blocked);
            }
            (segment.kind, segment.is_open, segment.is_free) = (kind, true, false);
        }
        Ok(())
    }

    /// A log has left a segment.
    pub(crate) fn leave(&mut self, segno: SegNo) {
        let is_barred = self.barred.contains(&segno.0);
        if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
            segment.is_open = false;
            if let Some(holes) = self.holes.get_mut(usize::from(segment.kind >= NODES))
                && !is_barred
            {
                *holes += u64::from(BLOCKS - segment.blocked);
            }
        }
    }

    /// No log goes on in these segments from now on, though they are free. Those that write to one must leave it.
    pub(crate) fn bar(&mut self, segments: &Range<u32>) {
        self.barred = segments.clone();
        self.count();
    }

    /// Blocks in use in these segments.
    pub(crate) fn held(&self, segments: &Range<u32>) -> u64 {
        let held = (0..).zip(&self.segments).filter(|(segno, _)| segments.contains(segno));
        held.map(|(_, segment)| u64::from(segment.valid)).sum()
    }

    /// `count` blocks from `offset` on of an open segment are in use.
    pub(crate) fn fill(&mut self, segno: SegNo, offset: u32, count: u32) {
        let known = self.known.get_mut(&segno);
        debug_assert!(known.is_some(), "segment {segno} is not open");
        let Some(known) = known else { return };
        for offset in offset..offset + count {
            known.entry.set_valid(offset, true);
            known.block(offset);
        }
        (known.entry.mtime, known.newer) = (self.now, true);
        let (valid, blocked) = (known.entry.valid_blocks, known.blocked_count());
        self.valid_blocks += u64::from(count);
        if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
            (segment.valid, segment.blocked, segment.mtime) = (valid, blocked, self.now);
        }
    }

    /// A block is no longer in use. It may be written after the next checkpoint.
    pub(crate) fn clear(&mut self, medium: &Medium, addr: BlockAddr) -> Result<()> {
        let (segno, offset) = self.place(addr);
        let now = self.now;
        let known = self.look(medium, segno)?;
        if !known.entry.is_valid(offset) {
            return Err(corrupt(Place::Block(addr), "the SIT's bit of a block in use is", 0_u32, 1_u32));
        }
        let was = (addr, known.entry.mtime, known.newer);
        known.entry.set_valid(offset, false);
        (known.entry.mtime, known.newer) = (now, true);
        let valid = known.entry.valid_blocks;
        if let Some(cleared) = &mut self.cleared {
            cleared.push(was);
        }
        self.valid_blocks -= 1;
        if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
            (segment.valid, segment.mtime) = (valid, now);
        }
        Ok(())
    }

    /// A call begins, which may be taken back: it gives blocks back, and writes none.
    pub(crate) fn begin(&mut self) {
        self.cleared = Some(Vec::new());
    }

    /// Keeps the changes of the call.
    pub(crate) fn keep(&mut self) {
        self.cleared = None;
    }

    /// Undoes the changes of the call.
    pub(crate) fn take_back(&mut self) {
        debug_assert!(self.cleared.is_some(), "nothing was begun");
        for (addr, mtime, newer) in self.cleared.take().unwrap_or_default().into_iter().rev() {
            let (segno, offset) = self.place(addr);
            let known = self.known.get_mut(&segno);
            debug_assert!(known.is_some(), "segment {segno} was not looked at");
            let Some(known) = known else { continue };
            known.entry.set_valid(offset, true);
            (known.entry.mtime, known.newer) = (mtime, newer);
            self.valid_blocks += 1;
            if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
                (segment.valid, segment.mtime) = (known.entry.valid_blocks, mtime);
            }
        }
    }

    /// A block that no checkpoint counts yet, and that stands where it is to stay, is in use. A segment that held nothing gets
    /// kind `kind`.
    pub(crate) fn adopt(&mut self, medium: &Medium, addr: BlockAddr, kind: u8) -> Result<()> {
        let ((segno, offset), now) = (self.place(addr), self.now);
        let open = self.segments.get(segno.0 as usize).is_some_and(|segment| segment.is_open);
        let known = self.look(medium, segno)?;
        let wrong = |what, found: u32, wanted: u32| Err(corrupt(Place::Block(addr), what, found, wanted));
        if known.entry.is_valid(offset) {
            return wrong("a block that fsync promised is in use already; the SIT's bit is", 1, 0);
        }
        if known.entry.valid_blocks == 0 && !open {
            known.entry.kind = kind;
        } else if (known.entry.kind >= NODES) != (kind >= NODES) {
            return wrong(
                "a block that fsync promised is in a segment of kind",
                known.entry.kind.into(),
                kind.into(),
            );
        }
        known.entry.set_valid(offset, true);
        (known.entry.mtime, known.newer) = (now, true);
        known.keep(offset);
        let (valid, blocked, kind) = (known.entry.valid_blocks, known.blocked_count(), known.entry.kind);
        self.valid_blocks += 1;
        if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
            (segment.valid, segment.blocked, segment.kind) = (valid, blocked, kind);
        }
        Ok(())
    }

    /// A block that is not in use may not be written before the next checkpoint.
    pub(crate) fn withhold(&mut self, medium: &Medium, addr: BlockAddr) -> Result<()> {
        let (segno, offset) = self.place(addr);
        let known = self.look(medium, segno)?;
        known.keep(offset);
        let blocked = known.blocked_count();
        if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
            segment.blocked = blocked;
        }
        Ok(())
    }

    /// The block behind the last of an open segment that may not be written.
    pub(crate) fn behind_last(&self, segno: SegNo) -> u32 {
        let known = self.known.get(&segno);
        debug_assert!(known.is_some(), "segment {segno} is not open");
        let last =
            known.and_then(|known| (0..u32::from(BLOCKS)).rev().find(|offset| known.is_blocked(*offset)));
        last.map_or(0, |last| last + 1)
    }

    /// The first block of an open segment at or behind `offset` that may be written.
    pub(crate) fn next_hole(&self, segno: SegNo, offset: u32) -> Option<u32> {
        let known = self.known.get(&segno)?;
        (offset..u32::from(BLOCKS)).find(|offset| !known.is_blocked(*offset))
    }

    /// The number of blocks in a row from `offset` on of an open segment that may be written.
    pub(crate) fn run(&self, segno: SegNo, offset: u32) -> u32 {
        let free = |known: &Known| {
            (offset..u32::from(BLOCKS)).take_while(|offset| !known.is_blocked(*offset)).count()
        };
        crate::word::word(self.known.get(&segno).map_or(0, free))
    }

    /// The segment with the most blocks that may be written, among those of the same sort that are not free as a whole; of
    /// the same kind if there is one.
    pub(crate) fn roomiest(&self, kind: u8) -> Option<SegNo> {
        let same_sort = |segment: &Segment| (segment.kind >= NODES) == (kind >= NODES);
        let candidates = (0..)
            .zip(&self.segments)
            .filter(|(_, segment)| segment.lends_holes() && segment.blocked < BLOCKS && same_sort(segment))
            .filter(|(segno, _)| !self.barred.contains(segno));
        let best = candidates.min_by_key(|(_, segment)| (segment.kind != kind, segment.blocked));
        best.map(|(segno, _)| SegNo(segno))
    }

    /// The number of blocks from `offset` on of an open segment that may be written.
    pub(crate) fn places(&self, segno: SegNo, offset: u32) -> u32 {
        let known = self.known.get(&segno);
        debug_assert!(known.is_some(), "segment {segno} is not open");
        let free = |known: &Known| (offset..u32::from(BLOCKS)).filter(|at| !known.is_blocked(*at)).count();
        crate::word::word(known.map_or(0, free))
    }

    /// The cleaner's view of the segments from `first` on, `count` of them: their contents, but for those that are
    /// free. `None` if nothing can be gained: all are empty, or one of them is being cleaned.
    pub(crate) fn view(&self, first: u32, count: u32) -> Option<Usage> {
        let (mut usage, mut newest) = (Usage::default(), 0);
        for segment in self.segments.iter().skip(first as usize).take(count as usize) {
            if segment.is_victim {
                return None;
            }
            usage.is_open |= segment.is_open;
            if !segment.is_open && segment.valid > 0 {
                usage.view.valid += u32::from(segment.valid);
                usage.view.capacity += u32::from(BLOCKS);
                newest = newest.max(segment.mtime);
            }
        }
        let age = u32::try_from(self.now.saturating_sub(newest)).unwrap_or(u32::MAX);
        (usage.view.created, usage.view.written, usage.view.invalidated) = (age, age, age);
        (usage.view.valid > 0).then_some(usage)
    }

    /// A segment is cleaned from now on, until it is free: no log fills its holes.
    pub(crate) fn seize(&mut self, segno: SegNo) {
        self.lend(segno, true);
    }

    /// A segment that was being cleaned is left as it is.
    pub(crate) fn let_go(&mut self, segno: SegNo) {
        self.lend(segno, false);
    }

    fn lend(&mut self, segno: SegNo, is_victim: bool) {
        let segment = self.segments.get_mut(segno.0 as usize);
        debug_assert!(segment.is_some(), "there is no segment {segno}");
        let Some(segment) = segment else { return };
        debug_assert!(!segment.is_open, "segment {segno} is open");
        if segment.is_victim == is_victim || segment.is_free {
            return;
        }
        segment.is_victim = is_victim;
        if let Some(holes) = self.holes.get_mut(usize::from(segment.kind >= NODES))
            && !self.barred.contains(&segno.0)
        {
            let room = u64::from(BLOCKS - segment.blocked);
            *holes = if is_victim { *holes - room } else { *holes + room };
        }
    }

    /// Segments that are being cleaned, and are not free yet.
    pub(crate) fn victims(&self) -> u32 {
        crate::word::word(self.segments.iter().filter(|segment| segment.is_victim).count())
    }

    /// True if the segment of a block is being cleaned.
    pub(crate) fn is_victim(&self, addr: BlockAddr) -> bool {
        let (segno, _) = self.place(addr);
        self.segments.get(segno.0 as usize).is_some_and(|segment| segment.is_victim)
    }

    /// True if a log writes to a segment.
    pub(crate) fn is_open(&self, segno: SegNo) -> bool {
        self.segments.get(segno.0 as usize).is_some_and(|segment| segment.is_open)
    }

    /// The blocks of a segment that are in use, and whether they are nodes.
    pub(crate) fn in_use(&mut self, medium: &Medium, segno: SegNo) -> Result<(Vec<u32>, bool)> {
        let entry = self.look(medium, segno)?.entry;
        let offsets = (0..u32::from(BLOCKS)).filter(|offset| entry.is_valid(*offset)).collect();
        Ok((offsets, entry.kind >= NODES))
    }

    /// True if a block of the main area is in use.
    pub(crate) fn is_used(&mut self, medium: &Medium, addr: BlockAddr) -> Result<bool> {
        let (segno, offset) = self.place(addr);
        Ok(self.look(medium, segno)?.entry.is_valid(offset))
    }

    /// True if a segment holds nothing, held nothing at the last checkpoint, and no log writes to it.
    pub(crate) fn is_free(&self, segno: SegNo) -> bool {
        self.segments.get(segno.0 as usize).is_some_and(|segment| segment.is_free)
    }

    /// Segments of the main area.
    pub(crate) fn segments(&self) -> u32 {
        crate::word::word(self.segments.len())
    }

    /// Segments that are free as a whole, and the blocks of data and of nodes that may be written in others.
    pub(crate) fn room(&self) -> (u32, [u64; 2]) {
        (self.free, self.holes)
    }

    /// Segments that hold nothing and that no log writes to: free once this state is a checkpoint.
    pub(crate) fn free_segments(&self) -> u32 {
        let free = |segment: &&Segment| segment.valid == 0 && !segment.is_open;
        crate::word::word(self.segments.iter().filter(free).count())
    }

    /// Blocks in use.
    pub(crate) fn valid_blocks(&self) -> u64 {
        self.valid_blocks
    }

    /// The address of a block of a segment.
    pub(crate) fn addr(&self, segno: SegNo, offset: u32) -> BlockAddr {
        let inside = segno.0.saturating_mul(BLOCKS.into()).saturating_add(offset);
        BlockAddr(self.main_start.0.saturating_add(inside))
    }

    /// The segment of a block of the main area, and which of its blocks it is.
    fn place(&self, addr: BlockAddr) -> (SegNo, u32) {
        debug_assert!(addr >= self.main_start);
        let inside = addr.0.saturating_sub(self.main_start.0);
        (SegNo(inside / u32::from(BLOCKS)), inside % u32::from(BLOCKS))
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Brings newer entries to the medium; returns the journal, of at most `room` bytes.
    pub(crate) fn write(&mut self, medium: &mut Medium, room: usize) -> Result<Vec<u8>> {
        let newer = self.known.iter().filter(|(_, known)| known.newer);
        let entries: Vec<SitJournalEntry> = newer.map(|(segno, known)| (*segno, known.entry)).collect();
        self.table.write(medium, &entries, room, |_| false)
    }

    /// Takes note of a checkpoint: the table has everything, unless it stands in a journal. Returns what it has freed,
    /// with runs of blocks if they are wanted.
    pub(crate) fn committed(&mut self, in_journal: bool, wants_holes: bool) -> Freed {
        let was_free: Vec<bool> = self.segments.iter().map(|segment| segment.is_free).collect();
        let (mut holes, main_start) = (Vec::new(), self.main_start);
        for (segno, known) in &mut self.known {
            if wants_holes && known.entry.valid_blocks > 0 {
                let start = main_start.0.saturating_add(segno.0.saturating_mul(BLOCKS.into()));
                let freed = runs(|offset| known.is_blocked(offset) && !known.entry.is_valid(offset));
                let freed = freed.into_iter().filter(|(_, count)| *count >= HOLE);
                holes.extend(freed.map(|(offset, count)| (BlockAddr(start.saturating_add(offset)), count)));
            }
            known.newer &= in_journal;
            known.blocked = known.entry.valid_map;
            if let Some(segment) = self.segments.get_mut(segno.0 as usize) {
                segment.blocked = segment.valid;
            }
        }
        let segments = &self.segments;
        let is_open = |segno: &SegNo| segments.get(segno.0 as usize).is_some_and(|segment| segment.is_open);
        self.known.retain(|segno, known| known.newer || is_open(segno));
        self.is_fresh = false;
        self.count();
        let gained =
            self.segments.iter().zip(was_free).map(|(segment, was_free)| segment.is_free && !was_free);
        let segments = (0..).map(SegNo).zip(gained).filter(|(_, gained)| *gained).map(|(segno, _)| segno);
        Freed { segments: segments.collect(), holes }
    }

    /// Free segments in a row: the fewest that are `wanted` ones, or as many as there are. The first, and how many.
    pub(crate) fn free_row(&self, wanted: u32) -> (SegNo, u32) {
        let (mut best, mut row) = ((SegNo(0), 0), (SegNo(0), 0));
        for segno in (0..=self.segments()).map(SegNo) {
            if self.is_free(segno) {
                row = if row.1 == 0 { (segno, 1) } else { (row.0, row.1 + 1) };
                continue;
            }
            let is_better = if best.1 < wanted { row.1 > best.1 } else { (wanted..best.1).contains(&row.1) };
            if is_better {
                best = row;
            }
            row.1 = 0;
        }
        best
    }

    /// True if these segments are free.
    pub(crate) fn are_free(&self, first: u32, count: u32) -> bool {
        (first..first.saturating_add(count)).all(|segno| self.is_free(SegNo(segno)))
    }

    /// Hands out all blocks that may be written, but those that logs may write next: the first of each run and how many.
    pub(crate) fn each_free(&self, medium: &Medium, each: &mut dyn FnMut(BlockAddr, u32)) -> Result<()> {
        let mut run = (BlockAddr::NULL, 0);
        for (segno, segment) in (0..).map(SegNo).zip(&self.segments).filter(|(_, segment)| !segment.is_open) {
            if segment.blocked == BLOCKS {
                continue;
            }
            let stored = if self.known.contains_key(&segno) || segment.is_free {
                SitEntry::EMPTY
            } else {
                let per_block = self.table.per_block();
                let block = medium.read(self.table.place(segno.0 / per_block))?;
                sit_entry_in(&block, segno.0 % per_block)
            };
            let known = self.known.get(&segno);
            let is_free = |offset| !known.map_or(stored.is_valid(offset), |known| known.is_blocked(offset));
            for (offset, count) in runs(is_free) {
                let addr = self.addr(segno, offset);
                if run.0.plus(run.1) == Some(addr) {
                    run.1 += count;
                } else {
                    each(run.0, run.1);
                    run = (addr, count);
                }
            }
        }
        each(run.0, run.1);
        Ok(())
    }
}

/// What a checkpoint has freed.
pub(crate) struct Freed {
    /// Segments that are free as a whole, in their order.
    pub(crate) segments: Vec<SegNo>,
    /// Runs of blocks of others, long enough to tell a device of, if they were wanted.
    pub(crate) holes: Vec<(BlockAddr, u32)>,
}

/// The runs of a segment's blocks for which something holds: the first of each, and how many.
fn runs(holds: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for offset in (0..BLOCKS.into()).filter(|offset| holds(*offset)) {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == offset => *count += 1,
            _ => runs.push((offset, 1)),
        }
    }
    runs
}

impl Segment {
    fn of(segno: SegNo, entry: &SitEntry) -> Result<Segment> {
        let valid = entry.valid_blocks;
        if u32::from(valid) != entry.bits() {
            return Err(corrupt(
                Place::Segment(segno),
                "blocks in use by the SIT's count are",
                valid,
                entry.bits(),
            ));
        }
        if valid > 0 && entry.kind >= KINDS {
            return Err(corrupt(Place::Segment(segno), "the kind in the SIT is", entry.kind, KINDS));
        }
        Ok(Segment { valid, blocked: valid, kind: entry.kind, mtime: entry.mtime, ..Segment::default() })
    }

    /// True if logs may fill its holes.
    fn lends_holes(&self) -> bool {
        !self.is_open && !self.is_free && !self.is_victim
    }
}

impl Known {
    fn empty() -> Known {
        Known { entry: SitEntry::EMPTY, blocked: [0; 64], newer: false }
    }

    fn block(&mut self, offset: u32) {
        if let Some(byte) = self.blocked.get_mut((offset / 8) as usize) {
            debug_assert!(*byte & (0x80 >> (offset % 8)) == 0, "block {offset} is still needed");
            *byte |= 0x80 >> (offset % 8);
        }
    }

    /// The same, though it may be so already.
    fn keep(&mut self, offset: u32) {
        if let Some(byte) = self.blocked.get_mut((offset / 8) as usize) {
            *byte |= 0x80 >> (offset % 8);
        }
    }

    fn is_blocked(&self, offset: u32) -> bool {
        let byte = self.blocked.get((offset / 8) as usize).copied();
        byte.is_none_or(|byte| byte & (0x80 >> (offset % 8)) != 0)
    }

    fn blocked_count(&self) -> u16 {
        crate::word::half(self.blocked.iter().map(|byte| byte.count_ones()).sum::<u32>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::example::{medium, super_block};

    /// The holes of a segment are those of its sort, whichever log of that sort has left it.
    #[test]
    fn a_segment_that_a_log_leaves_lends_its_holes_to_its_sort() {
        let medium = medium();
        for kind in 0..KINDS {
            let mut sit = Sit::fresh(&super_block(0));
            sit.open(&medium, SegNo(7), kind).unwrap();
            sit.fill(SegNo(7), 0, 12);
            assert_eq!(sit.room(), (23, [0, 0]), "kind {kind}");
            sit.leave(SegNo(7));
            let wanted = if kind < NODES { [500, 0] } else { [0, 500] };
            assert_eq!(sit.room(), (23, wanted), "kind {kind}");
            sit.count();
            assert_eq!(sit.room(), (23, wanted), "kind {kind}, counted");
        }
    }

    #[test]
    fn the_shortest_row_that_is_long_enough_is_found() {
        let (medium, mut sit) = (medium(), Sit::fresh(&super_block(0)));
        // Segments 0 to 2, 4 to 10, and 12 to 23 are free.
        sit.open(&medium, SegNo(3), 0).unwrap();
        sit.open(&medium, SegNo(11), 0).unwrap();
        for (wanted, row) in [(1, (0, 3)), (3, (0, 3)), (4, (4, 7)), (8, (12, 12)), (13, (12, 12))] {
            assert_eq!(sit.free_row(wanted), (SegNo(row.0), row.1), "{wanted}");
        }
    }

    #[test]
    fn nothing_is_gained_where_nothing_stands() {
        let (medium, mut sit) = (medium(), Sit::fresh(&super_block(0)));
        assert!(sit.view(0, 2).is_none());
        sit.open(&medium, SegNo(1), 0).unwrap();
        sit.fill(SegNo(1), 0, 12);
        assert!(sit.view(0, 2).is_none(), "of an open segment");
        sit.leave(SegNo(1));
        let usage = sit.view(0, 2).map(|usage| (usage.view.valid, usage.view.capacity, usage.is_open));
        assert_eq!(usage, Some((12, 512, false)));
        sit.seize(SegNo(1));
        assert!(sit.view(0, 2).is_none(), "it is being cleaned");
    }
}
