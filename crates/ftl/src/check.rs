//! Checks a disk: everything is read and compared with everything else; nothing is written.
//!
//! The disk is found and replayed in memory as a start does it, if need be without anchors or records. Then every page
//! of every segment is read, and the proof in the tags is held against the tables. Traces of a power cut are sound.

mod evidence;
mod segment;
#[cfg(test)]
mod tests;

use alloc::{collections::BTreeMap, format, string::ToString, vec, vec::Vec};

use pumice_media::{AnyChip, Nand};

use crate::check::evidence::Trimmed;
use crate::counters::Start;
use crate::error::Result;
use crate::findings::{Finding, Findings, told};
use crate::layout::Kind;
use crate::record::Record;
use crate::replaying::Replayed;
use crate::seek::{Sought, seek};
use crate::segment::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::status::Mode;
use crate::trust::Trust;

/// The result of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckReport {
    /// Faults; none on a sound disk.
    pub findings: Vec<Finding>,
    /// Harmless irregularities: a power cut may have left them.
    pub notes: Vec<Finding>,
    /// The kind of the next start.
    pub start: Start,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Blocks of the disk.
    pub logical_blocks: u32,
    /// Stored blocks among these.
    pub stored_blocks: u64,
    /// Logical blocks that cannot be read, ascending.
    pub lost: Vec<u32>,
    /// Those of them that the newest page held before a power cut: it was torn, or is lost.
    pub possibly_lost: Vec<u32>,
}

/// The changes that would put things right.
#[derive(Default)]
pub(crate) struct Fixes {
    /// The places of blocks by the tags; nowhere if no tag tells.
    pub(crate) table: BTreeMap<u32, Addr>,
    /// Blocks with an unreadable newest copy.
    pub(crate) lost: Vec<u32>,
    /// Those of them that the newest page held.
    pub(crate) possibly_lost: Vec<u32>,
    /// The erases of segments, by their tags.
    pub(crate) erases: BTreeMap<u32, u32>,
    /// Segments with a head that does not fit them.
    pub(crate) heads: Vec<u32>,
    /// Segments that must be emptied.
    pub(crate) empty: Vec<u32>,
    /// Segments that are marked bad.
    pub(crate) bad: Vec<u32>,
    /// Segments with leaves of the translation table that have to be written anew.
    pub(crate) map: Vec<u32>,
}

/// A disk that was looked at.
pub(crate) struct Checked<'c> {
    pub(crate) ftl: Server<'c>,
    pub(crate) replayed: Replayed,
    pub(crate) fixes: Fixes,
    pub(crate) found: Findings,
    pub(crate) notes: Findings,
    /// Roots may have higher sequence numbers than any known one.
    pub(crate) is_adrift: bool,
    /// [`Sought::named`].
    pub(crate) named: Vec<u32>,
}

/// Checks the disk on a chip; `progress` is told segments done and all. Fails only if there is no disk, if it is of another
/// version, or if the chip fails. Costs a read of every programmed page, and memory for the tables twice.
pub fn check(nand: impl Nand + Send, progress: &mut dyn FnMut(u32, u32)) -> Result<CheckReport> {
    let checked = examine(AnyChip::lend(nand), [0; 16], progress)?;
    let ftl = &checked.ftl;
    Ok(CheckReport {
        start: ftl.log.status.start,
        block_bytes: ftl.log.shape.block_bytes,
        logical_blocks: ftl.map.table.len(),
        stored_blocks: ftl.map.table.live(),
        lost: checked.fixes.lost,
        possibly_lost: checked.fixes.possibly_lost,
        findings: told(checked.found),
        notes: told(checked.notes),
    })
}

/// Finds a disk and looks at all of it; `uuid` names it if nothing on the chip does.
pub(crate) fn examine<'c>(
    nand: AnyChip<'c>,
    uuid: [u8; 16],
    progress: &mut dyn FnMut(u32, u32),
) -> Result<Checked<'c>> {
    let Sought { mut ftl, mut found, record, is_adrift, named, .. } = seek(nand, uuid)?;
    debug_assert!(ftl.log.status.mode() == Mode::ReadOnly, "a check writes nothing");
    let is_recorded = record.is_some();
    let known = record.clone();
    let replayed = ftl.replay_since(record, false, Trust::LOOK)?;
    ftl.map.count_off_all(&mut ftl.log)?;
    ftl.log.ask_for_bad((0..ftl.log.shape.blocks).collect())?;
    if is_recorded && ftl.log.status.start == Start::Headers {
        let text = "it cannot be read, or makes no sense: trimmed blocks may hold what they held before";
        found.add("checkpoint", text.into());
    }
    let mut check = Check::new(&mut ftl, &mut found);
    check.replayed(&replayed);
    if let Some(record) = known.filter(|_| check.ftl.log.status.start != Start::Headers) {
        check.checkpoint(&record)?;
    }
    let blocks = check.ftl.log.shape.blocks;
    for block in 0..blocks {
        check.segment(block)?;
        progress(block + 1, blocks);
    }
    check.counts()?;
    let doubted = replayed.doubted.iter().flat_map(|doubted| &doubted.lbas).chain(&replayed.trusted);
    check.table(&doubted.copied().collect::<Vec<u32>>())?;
    check.trims(replayed.since);
    if !is_adrift {
        check.roots()?;
    }
    let (fixes, notes) = (check.fixes, check.notes);
    Ok(Checked { ftl, replayed, fixes, found, notes, is_adrift, named })
}

struct Check<'a, 'c> {
    ftl: &'a mut Server<'c>,
    found: &'a mut Findings,
    notes: Findings,
    fixes: Fixes,
    /// The newest proved copy of each block, with its sequence number.
    newest: Vec<(u64, Addr)>,
    /// Readable blocks at the places in the table.
    confirmed: Vec<bool>,
    /// Segments with pages that no readable header names, each with the first such page.
    unnamed: BTreeMap<u32, u32>,
    trimmed: Vec<Trimmed>,
    /// The highest sequence number of all pages but roots.
    last: u64,
}

impl<'a, 'c> Check<'a, 'c> {
    fn new(ftl: &'a mut Server<'c>, found: &'a mut Findings) -> Check<'a, 'c> {
        let blocks = ftl.map.table.len() as usize;
        Check {
            ftl,
            found,
            notes: Findings::default(),
            fixes: Fixes::default(),
            newest: vec![(0, Addr::NONE); blocks],
            confirmed: vec![false; blocks],
            unnamed: BTreeMap::new(),
            trimmed: Vec::new(),
            last: 0,
        }
    }

    /// Takes in the irregularities of the replay.
    fn replayed(&mut self, replayed: &Replayed) {
        if let Some(missing) = replayed.missing() {
            self.found.add("missing", missing.to_string());
        }
        for place in &replayed.unnamed {
            let text = format!(
                "page {} of segment {} cannot be read, and no other names its contents: torn by a power cut, or lost",
                place.index, place.block
            );
            self.notes.add("page", text);
        }
    }

    /// Every page of the checkpoint, any one of which the others make again.
    fn checkpoint(&mut self, record: &Record) -> Result<()> {
        for part in self.ftl.log.bad_parts(record)? {
            self.found.add(
                "checkpoint",
                match part {
                    Some(part) => format!("page {part} of it cannot be read; the others name its contents"),
                    None => "its parity does not fit its other pages".into(),
                },
            );
        }
        for Place { block, index } in self.ftl.map.bad_map_pages(&mut self.ftl.log)? {
            let text = format!(
                "page {index} of segment {block}, of the translation table, cannot be read; the others of its group \
                 restore it"
            );
            self.found.add("checkpoint", text);
            self.fixes.map.push(block);
        }
        let bad = self.ftl.log.segments.iter().filter(|(_, segment)| segment.state == State::Bad).count();
        if self.ftl.log.segments.failures() as usize > bad {
            let text =
                format!("{} segments failed by its count, {bad} are bad", self.ftl.log.segments.failures());
            self.found.add("checkpoint", text);
        }
        Ok(())
    }

    /// Compares the table's places of blocks with the proof in the pages.
    fn table(&mut self, doubted: &[u32]) -> Result<()> {
        let mut stored = Vec::new();
        self.ftl.map.each_stored(&mut self.ftl.log, |lba, addr| stored.push((lba, addr)))?;
        for (lba, addr) in stored {
            let (place, slot) = self.ftl.log.shape.place(addr);
            let at = lba as usize;
            let is_confirmed = self.confirmed.get(at) == Some(&true);
            let (_, newest) = self.newest.get(at).copied().unwrap_or((0, Addr::NONE));
            if is_confirmed && newest == addr {
                continue;
            }
            if addr == Addr::LOST {
                let text = format!("the place of block {lba} cannot be read, but its own tag may tell it");
                self.found.add("table", text);
                self.fixes.table.insert(lba, newest);
                continue;
            }
            let holds = self.holds(lba, place, slot)?;
            if holds == Some(true) && (!is_confirmed || self.is_copy(addr, newest)?) {
                continue;
            }
            let shown = format!("slot {slot} of page {} of segment {}", place.index, place.block);
            if is_confirmed {
                let text = format!("block {lba} is in {shown}, but a newer copy of it is elsewhere");
                self.found.add("table", text);
                self.fixes.table.insert(lba, newest);
            } else if holds == Some(false) {
                self.found.add("table", format!("block {lba} is not in {shown}"));
                self.fixes.table.insert(lba, newest);
            } else if doubted.contains(&lba) {
                let text =
                    format!("block {lba}: the newest page held it, which a power cut tore or which is lost");
                self.found.add("possibly-lost", text);
                self.fixes.possibly_lost.push(lba);
                self.fixes.lost.push(lba);
            } else {
                self.found.add("lost", format!("block {lba} in {shown} cannot be read"));
                self.fixes.lost.push(lba);
            }
        }
        Ok(())
    }

    /// Compares the counts of live blocks in each segment.
    fn counts(&mut self) -> Result<()> {
        for (block, valid) in (0..).zip(self.ftl.map.valid_by_table(&mut self.ftl.log)?) {
            let counted = self.ftl.log.segments.get(block).valid;
            if counted != valid {
                let text =
                    format!("{counted} blocks live in segment {block} by its line, {valid} by the table");
                self.found.add("segment", text);
            }
        }
        Ok(())
    }

    /// Whether a slot holds a block; `None` if its page cannot be read.
    fn holds(&mut self, lba: u32, place: Place, slot: u32) -> Result<Option<bool>> {
        let found = self.ftl.log.flash.read(place)?.of_kind(Kind::Data);
        Ok(found.map(|(tag, _)| match self.ftl.log.shape.tagged {
            true => tag.entries.get(slot as usize).is_some_and(|entry| entry.lba == lba),
            false => self.unnamed.get(&place.block).is_some_and(|from| place.index >= *from),
        }))
    }

    /// True if two places hold a block as the same write left it: a copy is not newer than its original.
    fn is_copy(&mut self, one: Addr, other: Addr) -> Result<bool> {
        let one = self.ftl.log.entry_at(one)?;
        Ok(one.is_some() && one == self.ftl.log.entry_at(other)?)
    }

    /// Every page of trimmed ranges since the checkpoint has a copy, unless a power cut came between, or a segment failed.
    fn trims(&mut self, since: u64) {
        if self.ftl.log.status.start != Start::Recovered || self.ftl.log.segments.failures() > 0 {
            return;
        }
        // One without a range has no copy.
        self.trimmed.retain(|(sequence, ranges)| *sequence >= since && !ranges.is_empty());
        let last = self.last;
        let has_copy = |(at, (sequence, ranges)): (usize, &Trimmed)| {
            let mut others = self.trimmed.iter().enumerate().filter(|(other, _)| *other != at);
            *sequence >= last || others.any(|(_, (_, theirs))| theirs == ranges)
        };
        let alone: Vec<u64> = self
            .trimmed
            .iter()
            .enumerate()
            .filter(|trimmed| !has_copy(*trimmed))
            .map(|(_, (sequence, _))| *sequence)
            .collect();
        for sequence in alone {
            self.found.add("trims", format!("the copy of the page with sequence number {sequence} is gone"));
        }
    }

    /// Both copies of anchor and record.
    fn roots(&mut self) -> Result<()> {
        let roots = self.ftl.log.recorded.roots.clone();
        for (flaw, is_damage) in roots.flaws(&mut self.ftl.log.flash.medium, self.last)? {
            let list = if is_damage { &mut *self.found } else { &mut self.notes };
            list.add(if flaw.is_of_anchors() { "anchors" } else { "records" }, flaw.to_string());
        }
        Ok(())
    }
}
