//! Leaves of the translation table are written in groups, with a page of parity over each, a few with each change.

use alloc::vec::Vec;

use pumice_media::NandError;

use crate::error::{FtlError, Result};
use crate::flash::Found;
use crate::log::Log;
use crate::map::Map;
use crate::map_pages::{Group, GroupPlace};
use crate::segment::State;
use crate::shape::{Addr, Place};
use crate::stream::{GROUP, changes_most};

impl Map {
    /// Pages of leaves and parity that cannot be read, in the segments that hold leaves.
    pub(crate) fn bad_map_pages(&mut self, log: &mut Log<'_>) -> Result<Vec<Place>> {
        let mut bad = Vec::new();
        for block in self.log.blocks().collect::<Vec<_>>() {
            for index in 0..log.shape.pages {
                let place = Place { block, index };
                if matches!(log.flash.read(place)?, Found::Unproved) {
                    bad.push(place);
                }
            }
        }
        Ok(bad)
    }

    /// Bytes of changes that a checkpoint holds at the most.
    pub(crate) fn changes_most(&self, log: &mut Log<'_>) -> usize {
        usize::try_from(changes_most(&log.shape, self.table.len())).unwrap_or(usize::MAX)
    }

    /// Writes leaves before a checkpoint, until their changes fit it.
    pub(crate) fn write_leaves_to_fit(&mut self, log: &mut Log<'_>) -> Result<()> {
        while self.log.is_used()
            && self.table.changes_bytes() > self.changes_most(log)
            && self.has_map_room(log)
        {
            let leaves = self.table.pick(GROUP as usize);
            self.write_leaves(log, &leaves)?;
        }
        Ok(())
    }

    /// Writes leaves out of weak segments.
    pub(crate) fn empty_weak_map(&mut self, log: &mut Log<'_>) -> Result<()> {
        while self.log.has_weak() && self.has_map_room(log) {
            self.write_group(log)?;
        }
        Ok(())
    }

    /// True if leaves can be written: into the segment that is being filled, or into one of those set apart.
    pub(crate) fn has_map_room(&self, log: &mut Log<'_>) -> bool {
        let head = self.log.next(&log.shape, 2);
        head.is_some_and(|(_, pages)| pages.len() == 2) || self.log.untaken() > 0
    }

    /// Writes some leaves: of the segment that is to be emptied, and of those that changed.
    pub(crate) fn write_group(&mut self, log: &mut Log<'_>) -> Result<()> {
        let count = GROUP as usize;
        let mut leaves: Vec<u32> = match self.log.victim(count) {
            None => Vec::new(),
            Some((block, most)) => {
                let is_here =
                    |page: Option<u32>| page.is_some_and(|page| log.shape.place_of(page).block == block);
                let here = (0..).zip(self.table.pages()).filter(|(_, page)| is_here(*page));
                here.map(|(leaf, _)| leaf).take(most).collect()
            }
        };
        let changed = self.table.pick(count - leaves.len());
        let more: Vec<u32> = changed.into_iter().filter(|leaf| !leaves.contains(leaf)).collect();
        leaves.extend(more);
        self.write_leaves(log, &leaves)
    }

    /// Writes these leaves.
    fn write_leaves(&mut self, log: &mut Log<'_>, leaves: &[u32]) -> Result<()> {
        let mut group = Group { leaves: Vec::new(), payloads: Vec::new() };
        for leaf in leaves.iter().copied() {
            let words = self.whole_leaf(log, leaf)?;
            if words.iter().all(|word| *word == Addr::NONE.0) {
                self.leaf_written(log, leaf, None);
                continue;
            }
            group.leaves.push(leaf);
            group.payloads.push(words.iter().flat_map(|word| word.to_le_bytes()).collect());
        }
        while !group.leaves.is_empty() {
            let place = self.place_for(log, group.leaves.len())?;
            let block = place.block;
            match log.program_group(&place, &group) {
                Ok(()) => {}
                Err(FtlError::Chip(NandError::ProgramFailed(_))) => {
                    self.log.fail(block);
                    continue;
                }
                Err(FtlError::Chip(error)) => return log.status.fail(error),
                Err(error) => return Err(error),
            }
            let medium = log.shape.medium;
            self.log.advance(place.parity + 1);
            for (index, leaf) in place.own.iter().zip(&group.leaves) {
                self.leaf_written(log, *leaf, Some(medium.page(block, *index)));
            }
            group.leaves.drain(..place.own.len());
            group.payloads.drain(..place.own.len());
        }
        Ok(())
    }

    /// A leaf was written to a page, or holds nothing.
    fn leaf_written(&mut self, log: &mut Log<'_>, leaf: u32, page: Option<u32>) {
        if let Some(page) = self.table.page(leaf) {
            self.log.remove(log.shape.place_of(page).block);
        }
        if let Some(page) = page {
            self.log.add(log.shape.place_of(page).block);
        }
        self.table.written(leaf, page);
    }

    /// The next place for so many leaves, or for as many of them as there is room for.
    fn place_for(&mut self, log: &mut Log<'_>, leaves: usize) -> Result<GroupPlace> {
        loop {
            if let Some((block, mut own)) = self.log.next(&log.shape, leaves + 1)
                && let Some(parity) = own.pop()
                && let Some(first) = own.first().copied()
            {
                return Ok(GroupPlace { block, first, own, parity });
            }
            self.end_map(log)?;
            let block = log.take_free(self, 0)?.ok_or(FtlError::WornOut)?;
            log.segments.change(block, |segment| segment.state = State::Checkpoint);
            self.log.open(block);
        }
    }

    /// Ends the segment that leaves are written to.
    pub(crate) fn end_map(&mut self, log: &mut Log<'_>) -> Result<()> {
        let Some(block) = self.log.close() else { return Ok(()) };
        match log.flash.medium.program_parity(block) {
            Ok(()) => Ok(()),
            Err(NandError::ProgramFailed(_)) => {
                self.log.fail(block);
                Ok(())
            }
            Err(error) => log.status.fail(error),
        }
    }

    /// Frees segments of leaves that nothing needs any more, after a checkpoint.
    pub(crate) fn release_map(&mut self, log: &mut Log<'_>) -> Result<()> {
        for (block, is_bad) in self.log.checkpointed() {
            if is_bad {
                log.waiting.doom(block);
            } else {
                log.give_back([block]);
            }
        }
        log.bury()
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use super::*;
    use crate::check::check;
    use crate::open::{CreateOptions, OpenOptions, create};
    use crate::repair::{RepairOptions, repair};
    use crate::server::Server;
    use crate::testing::{served, served_with};

    /// A disk with its table in leaves, all blocks of it written, some of them twice; with memory for one leaf.
    fn used() -> Server<'static> {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("512+64:32:420").unwrap());
        let options = CreateOptions { block_bytes: 512, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served_with(chip, OpenOptions { cache_bytes: 1, ..OpenOptions::default() });
        let blocks = disk.blocks();
        for number in 0..blocks * 3 {
            write(&mut disk, number * 7919 % blocks);
        }
        disk.flush().unwrap();
        let written = disk.map.table.pages().flatten().count();
        assert!(
            written > 10,
            "{written} of {} leaves, {} bytes of changes",
            disk.map.table.leaves(),
            disk.map.table.changes_bytes()
        );
        disk
    }

    fn write(disk: &mut Server<'static>, lba: u64) {
        disk.write(Lba(lba), &[u8::try_from(lba % 251).unwrap() + 1; 512]).unwrap();
    }

    /// Counts blocks that cannot be read; the others hold their last bytes.
    fn unreadable(disk: &mut Server<'static>) -> u64 {
        let (mut bytes, blocks) = ([0; 512], u64::from(disk.map.table.len()));
        let is_gone = |lba: &u64| match disk.read(Lba(*lba), &mut bytes) {
            Ok(()) => {
                assert_eq!(bytes, [u8::try_from(lba % 251).unwrap() + 1; 512], "block {lba}");
                false
            }
            Err(_) => true,
        };
        (0..blocks).filter(is_gone).count() as u64
    }

    /// Chip pages of the first two leaves that lie side by side.
    fn neighbours(disk: &Server<'static>) -> Vec<pumice_media::PageId> {
        let mut pages: Vec<u32> = disk.map.table.pages().flatten().collect();
        pages.sort_unstable();
        let pair = pages.windows(2).find(|pair| pair[0] + 1 == pair[1]).unwrap();
        pair.iter().map(|page| disk.log.shape.medium.chip_page(*page, 0)).collect()
    }

    #[test]
    fn changes_are_counted_and_leaves_stay_within_the_cache() {
        let mut disk = used();
        let encoded: usize = disk.map.table.encode_changes().map(|bytes| bytes.len()).sum();
        assert_eq!(disk.map.table.changes_bytes(), encoded);
        assert_eq!(disk.map.table.changed() as usize, disk.map.table.encode_changes().count());
        assert!(disk.map.table.changes_bytes() <= disk.map.changes_most(&mut disk.log));
        let valid = disk.map.valid_by_table(&mut disk.log).unwrap();
        assert!(disk.log.segments.iter().zip(valid).all(|((_, segment), valid)| segment.valid == valid));
        assert!(disk.map.table.memory_bytes() < 40_000, "{}", disk.map.table.memory_bytes());
        assert_eq!(unreadable(&mut disk), 0);
    }

    #[test]
    fn a_leaf_that_cannot_be_read_is_made_again() {
        let disk = used();
        let page = neighbours(&disk)[1];
        let mut chip: SimChip = disk.close().unwrap().take().unwrap();
        chip.faults_mut().unreadable.insert(page);
        let mut disk = served(chip.clone());
        assert_eq!(unreadable(&mut disk), 0);
        let report = check(chip.clone(), &mut |_, _| {}).unwrap();
        assert!(report.findings.iter().any(|finding| finding.code == "checkpoint"), "{report:?}");
        let options = RepairOptions { dry_run: false, uuid: [1; 16] };
        let (chip, _) = repair(chip, options, &mut |_, _| {}).unwrap();
        let report = check(chip, &mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
    }

    #[test]
    fn a_count_of_live_blocks_that_is_too_high_stays_so() {
        let mut disk = used();
        let addr = disk.map.addr(&mut disk.log, 3).unwrap();
        let block = disk.log.shape.segment_of(addr).unwrap();
        disk.log.segments.change(block, |segment| segment.valid = u32::MAX);
        disk.map.count(&mut disk.log, 3, Addr::NONE, addr);
        assert_eq!(disk.log.segments.get(block).valid, u32::MAX);
    }

    #[test]
    fn two_leaves_that_are_lost_are_errors_and_a_repair_finds_their_blocks() {
        let disk = used();
        let pages = neighbours(&disk);
        let each = u64::from(disk.log.shape.leaf_entries());
        let mut chip: SimChip = disk.close().unwrap().take().unwrap();
        chip.faults_mut().unreadable.extend(pages);
        let mut disk = served(chip.clone());
        let lost = unreadable(&mut disk);
        assert!(lost > 0 && lost <= 2 * each, "{lost}");
        // The disk goes on, and rewritten blocks can be read.
        let mut disk = served(chip.clone());
        for lba in 0..u64::from(disk.map.table.len()) {
            if disk.map.addr(&mut disk.log, u32::try_from(lba).unwrap()).unwrap() == Addr::LOST {
                write(&mut disk, lba);
            }
        }
        assert_eq!(unreadable(&mut disk), 0);
        let options = RepairOptions { dry_run: false, uuid: [1; 16] };
        let (chip, found) = repair(chip, options, &mut |_, _| {}).unwrap();
        assert!(found.iter().any(|finding| finding.code == "table"), "{found:?}");
        let report = check(chip.clone(), &mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty(), "{report:?}");
        assert_eq!(unreadable(&mut served(chip)), 0);
    }
}
