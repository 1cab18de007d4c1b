//! The map of logical blocks to places in the log, and the segments that hold its leaves.
//!
//! A start after a power cut does not count off the old places of blocks that only leaves on flash know. Until they are
//! counted off, segments seem to hold more live blocks than they do, and none is cleaned.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use pumice_cleaning::{Class, Old};

use crate::error::{FtlError, Result};
use crate::gaps::Doubted;
use crate::log::Log;
use crate::map_log::MapLog;
use crate::segment::State;
use crate::shape::{Addr, Shape};
use crate::status::Mode;
use crate::stream::map_segments;
use crate::table::Table;
use crate::tag::Entry;

/// Leaves that one change reads for this.
const LEAVES: u32 = 8;

/// The map.
pub(crate) struct Map {
    pub(crate) table: Table,
    /// The segments that hold it.
    pub(crate) log: MapLog,
}

impl Map {
    /// A map of a disk with nothing stored.
    pub(crate) fn new(shape: &Shape, logical_blocks: u32, cache_bytes: usize) -> Map {
        Map {
            table: Table::new(shape, logical_blocks, cache_bytes),
            log: MapLog::new(map_segments(shape, logical_blocks)),
        }
    }

    /// The place of a block; nowhere if it lies outside the disk. May read a page.
    pub(crate) fn addr(&mut self, log: &mut Log<'_>, lba: u32) -> Result<Addr> {
        if let Some(addr) = self.table.find(lba) {
            return Ok(addr);
        }
        let (leaf, slot) = self.table.slot(lba);
        let words = self.read_leaf(log, leaf)?;
        let addr = words.get(usize::from(slot)).copied().ok_or(FtlError::Unreadable(lba))?;
        self.table.insert(leaf, words);
        Ok(Addr(addr))
    }

    /// Stores a block's new place, or none; returns the old one. Counts the live blocks in each segment.
    pub(crate) fn set_addr(&mut self, log: &mut Log<'_>, lba: u32, addr: Addr) -> Result<Addr> {
        let old = self.addr(log, lba)?;
        self.table.set(lba, addr);
        self.count(log, lba, old, addr);
        let was_in = log.shape.place(old).0;
        if let Some(doubted) = log.aftermath.doubted.as_mut().filter(|doubted| doubted.place == was_in) {
            doubted.lbas.retain(|other| *other != lba);
        }
        Ok(old)
    }

    /// Counts a block that was in one place and is in another.
    pub(crate) fn count(&mut self, log: &mut Log<'_>, lba: u32, was: Addr, is: Addr) {
        self.table.count(lba, was, is);
        if let Some(block) = log.shape.segment_of(was) {
            // Counts of a damaged checkpoint may be too low, or too high.
            log.segments.change(block, |segment| segment.valid = segment.valid.saturating_sub(1));
        }
        if let Some(block) = log.shape.segment_of(is) {
            log.segments.change(block, |segment| segment.valid = segment.valid.saturating_add(1));
        }
    }

    /// Shows each block that is stored, with its place. Reads the leaves that are not in memory.
    pub(crate) fn each_stored(&mut self, log: &mut Log<'_>, mut show: impl FnMut(u32, Addr)) -> Result<()> {
        for leaf in 0..self.table.leaves() {
            let words = self.whole_leaf(log, leaf)?;
            for (lba, addr) in (self.table.first(leaf)..).zip(words.iter().copied().map(Addr)) {
                if !addr.is_none() {
                    show(lba, addr);
                }
            }
        }
        Ok(())
    }

    /// All entries of a leaf as they are now.
    pub(crate) fn whole_leaf(&mut self, log: &mut Log<'_>, leaf: u32) -> Result<Box<[u32]>> {
        if let Some(words) = self.table.content(leaf) {
            return Ok(words);
        }
        let mut words = self.read_leaf(log, leaf)?;
        self.table.put_over(leaf, &mut words);
        Ok(words)
    }

    /// The entries of a leaf as they are on flash. If neither its page nor the others of its group can be read, the
    /// places of its blocks are lost.
    fn read_leaf(&mut self, log: &mut Log<'_>, leaf: u32) -> Result<Box<[u32]>> {
        let words = match self.table.page(leaf) {
            Some(page) => log.leaf_in(leaf, page, self.table.entries(leaf))?,
            None => vec![Addr::NONE.0; self.table.entries(leaf)].into(),
        };
        self.count_off_leaf(log, leaf, &words);
        Ok(words)
    }

    /// Counts off the blocks that the changes of a leaf replaced, now that it was read.
    fn count_off_leaf(&mut self, log: &mut Log<'_>, leaf: u32, words: &[u32]) {
        for slot in self.table.take_unsettled(leaf) {
            let was = words.get(usize::from(slot)).copied().map(Addr);
            debug_assert!(was.is_some(), "leaf {leaf} has no entry {slot}");
            let Some(was) = was else { continue };
            self.count(log, self.table.first(leaf) + u32::from(slot), was, Addr::NONE);
            let Some(block) = log.shape.segment_of(was) else { continue };
            log.policies.selector.invalidated(block, log.clock);
            let segment = log.segments.get(block);
            if log.status.mode() == Mode::Dirty && segment.state == State::Stuck && segment.valid == 0 {
                log.free(block);
            }
        }
    }

    /// Counts off all that is left. Reads each leaf that it needs.
    pub(crate) fn count_off_all(&mut self, log: &mut Log<'_>) -> Result<()> {
        while let Some(leaf) = self.table.next_unsettled() {
            self.read_leaf(log, leaf)?;
        }
        Ok(())
    }

    /// Counts off some, with each change.
    pub(crate) fn count_off_some(&mut self, log: &mut Log<'_>) -> Result<()> {
        for _ in 0..LEAVES {
            let Some(leaf) = self.table.next_unsettled() else { break };
            self.read_leaf(log, leaf)?;
        }
        Ok(())
    }

    /// The copy that a write or trim of a block replaces, as placement sees it.
    pub(crate) fn old(&mut self, log: &mut Log<'_>, lba: u32) -> Result<Option<Old>> {
        let addr = self.addr(log, lba)?;
        Ok(log.shape.segment_of(addr).map(|block| {
            let segment = log.segments.get(block);
            Old { class: Class(segment.class), age: log.clock.wrapping_sub(segment.opened) }
        }))
    }

    /// A block has a new copy.
    pub(crate) fn point(&mut self, log: &mut Log<'_>, lba: u32, addr: Addr) -> Result<()> {
        let old = self.set_addr(log, lba, addr)?;
        log.leave_copy(old);
        Ok(())
    }

    /// The copy of a block is garbage from now on.
    pub(crate) fn forget_copy(&mut self, log: &mut Log<'_>, lba: u32) -> Result<()> {
        self.point(log, lba, Addr::NONE)
    }

    /// Points the table elsewhere. The old place is counted off at once if memory has it, and when its leaf is read
    /// otherwise.
    pub(crate) fn repoint(&mut self, log: &mut Log<'_>, lba: u32, addr: Addr) {
        let Some(old) = self.table.find(lba) else {
            self.table.set_unsettled(lba, addr);
            return self.count(log, lba, Addr::NONE, addr);
        };
        self.table.set(lba, addr);
        self.count(log, lba, old, addr);
    }

    /// True if a block can be read where the table has it, as the same write left it.
    pub(crate) fn is_stored(&mut self, log: &mut Log<'_>, entry: Entry) -> Result<bool> {
        let addr = if entry.lba < self.table.len() { self.addr(log, entry.lba)? } else { Addr::NONE };
        Ok(log.entry_at(addr)? == Some(entry))
    }

    /// The newest page, with those of its blocks that the table still finds there.
    pub(crate) fn still_doubted(
        &mut self,
        log: &mut Log<'_>,
        doubted: Option<Doubted>,
    ) -> Result<Option<Doubted>> {
        let Some(Doubted { place, lbas }) = doubted else { return Ok(None) };
        let mut still = Vec::new();
        for lba in lbas {
            let addr = self.addr(log, lba)?;
            if !addr.is_none() && log.shape.place(addr).0 == place {
                still.push(lba);
            }
        }
        Ok(Some(Doubted { place, lbas: still }))
    }

    /// The number of live blocks in each segment by the table.
    pub(crate) fn valid_by_table(&mut self, log: &mut Log<'_>) -> Result<Vec<u32>> {
        let (mut valid, shape) = (vec![0; log.shape.blocks as usize], log.shape);
        self.each_stored(log, |_, addr| {
            let block = shape.place(addr).0.block as usize;
            valid.iter_mut().skip(block).take(1).for_each(|valid| *valid += 1);
        })?;
        Ok(valid)
    }

    /// Counts the live blocks in each segment by the table.
    pub(crate) fn count_valid(&mut self, log: &mut Log<'_>) -> Result<()> {
        for (block, valid) in (0..).zip(self.valid_by_table(log)?) {
            log.segments.change(block, |segment| segment.valid = valid);
        }
        Ok(())
    }

    /// The blocks that live in a segment.
    pub(crate) fn held(&mut self, log: &mut Log<'_>, block: u32) -> Result<Vec<(u32, Addr)>> {
        let (mut held, shape) = (Vec::new(), log.shape);
        for newest in log.aftermath.unsure.held().iter().filter(|newest| newest.place.block == block) {
            let blocks = (0..).zip(&newest.tag.entries).filter(|(_, entry)| entry.lba < self.table.len());
            held.extend(blocks.map(|(slot, entry)| (entry.lba, shape.addr(newest.place, slot))));
        }
        self.each_stored(log, |lba, addr| {
            if shape.place(addr).0.block == block {
                held.push((lba, addr));
            }
        })?;
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use super::*;
    use crate::open::{CreateOptions, create};
    use crate::server::Server;
    use crate::shape::Place;
    use crate::testing::{chip_of, served};

    /// Writes so many blocks all over a disk of which the table lies in leaves.
    fn write(disk: &mut Server<'static>, count: u64) {
        let blocks = disk.blocks();
        (0..count).for_each(|number| disk.write(Lba(number * 7919 % blocks), &[8; 512]).unwrap());
    }

    /// A disk whose table lies in leaves, flushed.
    fn filled() -> Server<'static> {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("512+64:32:1500").unwrap());
        let options = CreateOptions { block_bytes: 512, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        write(&mut disk, 12_000);
        disk.flush().unwrap();
        disk
    }

    #[test]
    fn what_a_start_did_not_count_is_counted_with_the_changes_that_follow() {
        let disk = filled();
        let mut disk = served(chip_of(&disk));
        assert!(disk.map.table.is_unsettled());
        // The checkpoint of the first write keeps the uncounted changes.
        write(&mut disk, 1);
        disk.flush().unwrap();
        let mut disk = served(chip_of(&disk));
        assert!(disk.map.table.is_unsettled());
        write(&mut disk, 100);
        assert!(!disk.map.table.is_unsettled());
        let valid = disk.map.valid_by_table(&mut disk.log).unwrap();
        assert!(disk.log.segments.iter().zip(&valid).all(|((_, segment), valid)| segment.valid == *valid));
        assert_eq!(disk.map.table.live(), valid.iter().map(|valid| u64::from(*valid)).sum::<u64>());
    }

    /// A start takes a segment for fuller than it is. Once it is erased and filled again, nothing that it held before is
    /// counted off any more.
    #[test]
    fn old_blocks_of_an_erased_segment_are_counted_off_first() {
        let disk = filled();
        let chip = chip_of(&disk);
        let (mut disk, mut other) = (served(chip.clone()), served(chip));
        // As a start does with a block of which it does not read the leaf.
        let blocks = other.map.table.len();
        let mut is_stored = |lba: &u32| {
            disk.map.table.find(*lba).is_none() && !other.map.addr(&mut other.log, *lba).unwrap().is_none()
        };
        let lba = (0..blocks).find(|lba| is_stored(lba)).unwrap();
        let old = other.map.addr(&mut other.log, lba).unwrap();
        let block = other.log.shape.place(old).0.block;
        let elsewhere = disk.log.shape.addr(Place { block: block + 1, index: 0 }, 0);
        disk.map.table.set_unsettled(lba, elsewhere);
        disk.map.count(&mut disk.log, lba, Addr::NONE, elsewhere);
        assert!(disk.log.erase(&mut disk.map, block).unwrap());
        let addr = disk.log.shape.addr(Place { block, index: 0 }, 0);
        disk.map.table.set(lba, addr);
        disk.map.count(&mut disk.log, lba, elsewhere, addr);
        disk.map.count_off_all(&mut disk.log).unwrap();
        assert_eq!(disk.log.segments.get(block).valid, 1);
    }
}
