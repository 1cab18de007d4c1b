//! Leaves of the translation table on flash: read when a block in them is asked for, written in groups with a page of
//! parity over each, a few with each change.

use alloc::{boxed::Box, vec, vec::Vec};

use pumice_media::NandError;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{FtlError, Result};
use crate::flash::Found;
use crate::layout::{Kind, LEAF_MAGIC, LEAF_PARITY_MAGIC, RawLeaf, count32};
use crate::segments::State;
use crate::server::Server;
use crate::shape::{Addr, Place};
use crate::stream::{GROUP, changes_most};
use crate::tag::Tag;

/// A group of leaves, as pages.
struct Group {
    leaves: Vec<u32>,
    payloads: Vec<Vec<u8>>,
}

/// Pages of a segment that a group goes to: those of leaves, and behind them the one of their parity.
struct GroupPlace {
    block: u32,
    first: u32,
    own: Vec<u32>,
    parity: u32,
}

impl Server<'_> {
    /// The place of a block; nowhere if it lies outside the disk. May read a page.
    pub(crate) fn addr(&mut self, lba: u32) -> Result<Addr> {
        if let Some(addr) = self.map.table.find(lba) {
            return Ok(addr);
        }
        let (leaf, slot) = self.map.table.slot(lba);
        let words = self.read_leaf(leaf)?;
        let addr = words.get(usize::from(slot)).copied().ok_or(FtlError::Unreadable(lba))?;
        self.map.table.insert(leaf, words);
        Ok(Addr(addr))
    }

    /// Stores a block's new place, or none; returns the old one. Counts the live blocks in each segment.
    pub(crate) fn set_addr(&mut self, lba: u32, addr: Addr) -> Result<Addr> {
        let old = self.addr(lba)?;
        self.map.table.set(lba, addr);
        self.count(lba, old, addr);
        let was_in = self.log.shape.place(old).0;
        if let Some(doubted) = self.log.aftermath.doubted.as_mut().filter(|doubted| doubted.place == was_in) {
            doubted.lbas.retain(|other| *other != lba);
        }
        Ok(old)
    }

    /// Counts a block that was in one place and is in another.
    pub(crate) fn count(&mut self, lba: u32, was: Addr, is: Addr) {
        self.map.table.count(lba, was, is);
        if let Some(block) = self.segment_of(was) {
            // Counts of a damaged checkpoint may be too low, or too high.
            self.log.segments.change(block, |segment| segment.valid = segment.valid.saturating_sub(1));
        }
        if let Some(block) = self.segment_of(is) {
            self.log.segments.change(block, |segment| segment.valid = segment.valid.saturating_add(1));
        }
    }

    /// The segment of an address, if it has one.
    pub(crate) fn segment_of(&self, addr: Addr) -> Option<u32> {
        let block = self.log.shape.place(addr).0.block;
        (!addr.is_none() && addr != Addr::LOST).then_some(block)
    }

    /// Shows each block that is stored, with its place. Reads the leaves that are not in memory.
    pub(crate) fn each_stored(&mut self, mut show: impl FnMut(u32, Addr)) -> Result<()> {
        for leaf in 0..self.map.table.leaves() {
            let words = self.whole_leaf(leaf)?;
            for (lba, addr) in (self.map.table.first(leaf)..).zip(words.iter().copied().map(Addr)) {
                if !addr.is_none() {
                    show(lba, addr);
                }
            }
        }
        Ok(())
    }

    /// All entries of a leaf as they are now.
    fn whole_leaf(&mut self, leaf: u32) -> Result<Box<[u32]>> {
        if let Some(words) = self.map.table.content(leaf) {
            return Ok(words);
        }
        let mut words = self.read_leaf(leaf)?;
        self.map.table.put_over(leaf, &mut words);
        Ok(words)
    }

    fn place_of(&self, page: u32) -> Place {
        let medium = &self.log.shape.medium;
        Place { block: medium.block_of(page), index: medium.index_of(page) }
    }

    /// The entries of a leaf as they are on flash. If neither its page nor the others of its group can be read, the
    /// places of its blocks are lost.
    pub(crate) fn read_leaf(&mut self, leaf: u32) -> Result<Box<[u32]>> {
        let words = match self.map.table.page(leaf) {
            Some(page) => self.leaf_in(leaf, page)?,
            None => vec![Addr::NONE.0; self.map.table.entries(leaf)].into(),
        };
        self.count_off_leaf(leaf, &words);
        Ok(words)
    }

    fn leaf_in(&mut self, leaf: u32, page: u32) -> Result<Box<[u32]>> {
        let entries = self.map.table.entries(leaf);
        let place = self.place_of(page);
        let own =
            self.map_page(place)?.filter(|(raw, _)| raw.magic.get() == LEAF_MAGIC && raw.leaf.get() == leaf);
        let bytes = match own {
            Some((_, bytes)) => Some(bytes),
            None => self.made_again(place)?,
        };
        let Some(bytes) = bytes else { return Ok(vec![Addr::LOST.0; entries].into()) };
        let word = |bytes: &[u8; 4]| {
            let addr = Addr(u32::from_le_bytes(*bytes));
            let is_sound = self.segment_of(addr).is_none_or(|block| block < self.log.shape.blocks);
            if is_sound { addr.0 } else { Addr::LOST.0 }
        };
        Ok(bytes.as_chunks().0.iter().take(entries).map(word).collect())
    }

    /// A page of a leaf or of parity over some: its head and the bytes behind it.
    fn map_page(&mut self, place: Place) -> Result<Option<(RawLeaf, Vec<u8>)>> {
        let found = self.log.flash.read(place)?.of_kind(Kind::Map);
        Ok(found.and_then(|(_, page)| {
            let (raw, bytes) = RawLeaf::read_from_prefix(&page.payload).ok()?;
            Some((raw, bytes.to_vec()))
        }))
    }

    /// The bytes of a leaf's page, made from the others of its group; `None` if another is gone, too.
    fn made_again(&mut self, place: Place) -> Result<Option<Vec<u8>>> {
        let block = place.block;
        for index in place.index + 1..self.log.shape.pages {
            let Some((raw, mut sum)) = self.map_page(Place { block, index })? else { continue };
            if raw.magic.get() != LEAF_PARITY_MAGIC {
                continue;
            }
            let mut others = 0;
            for other in (raw.first.get()..index).filter(|other| *other != place.index) {
                if let Some((_, bytes)) = self.map_page(Place { block, index: other })? {
                    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
                    others += 1;
                }
            }
            let is_whole = raw.first.get() <= place.index && others + 1 == raw.leaf.get();
            return Ok(is_whole.then_some(sum));
        }
        Ok(None)
    }

    /// Pages of leaves and parity that cannot be read, in the segments that hold leaves.
    pub(crate) fn bad_map_pages(&mut self) -> Result<Vec<Place>> {
        let mut bad = Vec::new();
        for block in self.map.log.blocks().collect::<Vec<_>>() {
            for index in 0..self.log.shape.pages {
                let place = Place { block, index };
                if matches!(self.log.flash.read(place)?, Found::Unproved) {
                    bad.push(place);
                }
            }
        }
        Ok(bad)
    }

    /// Bytes of changes that a checkpoint holds at the most.
    fn changes_most(&self) -> usize {
        usize::try_from(changes_most(&self.log.shape, self.map.table.len())).unwrap_or(usize::MAX)
    }

    /// Writes leaves if many have changed, or a segment of them is to be emptied. A group is written with each change,
    /// more only if a checkpoint would hardly have room for the changes.
    pub(crate) fn pace_map(&mut self) -> Result<()> {
        let most = self.changes_most();
        while self.map.log.is_used()
            && (self.map.table.changes_bytes() > most / 8 * 3 || self.map.log.has_weak())
        {
            if self.map.log.untaken() == 0 && self.map.log.has_idle() && self.has_room_for_checkpoint() {
                return self.checkpoint();
            }
            if !self.has_map_room() {
                break;
            }
            self.write_group()?;
            if self.map.table.changes_bytes() <= most / 16 * 15 {
                break;
            }
        }
        Ok(())
    }

    /// Writes leaves before a checkpoint, until their changes fit it.
    pub(crate) fn write_leaves_to_fit(&mut self) -> Result<()> {
        while self.map.log.is_used()
            && self.map.table.changes_bytes() > self.changes_most()
            && self.has_map_room()
        {
            let leaves = self.map.table.pick(GROUP as usize);
            self.write_leaves(&leaves)?;
        }
        Ok(())
    }

    /// Writes leaves out of weak segments.
    pub(crate) fn empty_weak_map(&mut self) -> Result<()> {
        while self.map.log.has_weak() && self.has_map_room() {
            self.write_group()?;
        }
        Ok(())
    }

    /// True if leaves can be written: into the segment that is being filled, or into one of those set apart.
    fn has_map_room(&self) -> bool {
        let head = self.map.log.next(&self.log.shape, 2);
        head.is_some_and(|(_, pages)| pages.len() == 2) || self.map.log.untaken() > 0
    }

    /// Writes some leaves: of the segment that is to be emptied, and of those that changed.
    fn write_group(&mut self) -> Result<()> {
        let count = GROUP as usize;
        let mut leaves: Vec<u32> = match self.map.log.victim(count) {
            None => Vec::new(),
            Some((block, most)) => {
                let is_here = |page: Option<u32>| page.is_some_and(|page| self.place_of(page).block == block);
                let here = (0..).zip(self.map.table.pages()).filter(|(_, page)| is_here(*page));
                here.map(|(leaf, _)| leaf).take(most).collect()
            }
        };
        let changed = self.map.table.pick(count - leaves.len());
        let more: Vec<u32> = changed.into_iter().filter(|leaf| !leaves.contains(leaf)).collect();
        leaves.extend(more);
        self.write_leaves(&leaves)
    }

    /// Writes these leaves.
    fn write_leaves(&mut self, leaves: &[u32]) -> Result<()> {
        let mut group = Group { leaves: Vec::new(), payloads: Vec::new() };
        for leaf in leaves.iter().copied() {
            let words = self.whole_leaf(leaf)?;
            if words.iter().all(|word| *word == Addr::NONE.0) {
                self.leaf_written(leaf, None);
                continue;
            }
            group.leaves.push(leaf);
            group.payloads.push(words.iter().flat_map(|word| word.to_le_bytes()).collect());
        }
        while !group.leaves.is_empty() {
            let place = self.place_for(group.leaves.len())?;
            let block = place.block;
            match self.program_group(&place, &group) {
                Ok(()) => {}
                Err(FtlError::Chip(NandError::ProgramFailed(_))) => {
                    self.map.log.fail(block);
                    continue;
                }
                Err(FtlError::Chip(error)) => return self.log.status.fail(error),
                Err(error) => return Err(error),
            }
            let medium = self.log.shape.medium;
            self.map.log.advance(place.parity + 1);
            for (index, leaf) in place.own.iter().zip(&group.leaves) {
                self.leaf_written(*leaf, Some(medium.page(block, *index)));
            }
            group.leaves.drain(..place.own.len());
            group.payloads.drain(..place.own.len());
        }
        Ok(())
    }

    /// A leaf was written to a page, or holds nothing.
    fn leaf_written(&mut self, leaf: u32, page: Option<u32>) {
        if let Some(page) = self.map.table.page(leaf) {
            self.map.log.remove(self.place_of(page).block);
        }
        if let Some(page) = page {
            self.map.log.add(self.place_of(page).block);
        }
        self.map.table.written(leaf, page);
    }

    /// The next place for so many leaves, or for as many of them as there is room for.
    fn place_for(&mut self, leaves: usize) -> Result<GroupPlace> {
        loop {
            if let Some((block, mut own)) = self.map.log.next(&self.log.shape, leaves + 1)
                && let Some(parity) = own.pop()
                && let Some(first) = own.first().copied()
            {
                return Ok(GroupPlace { block, first, own, parity });
            }
            self.end_map()?;
            let block = self.take_free(0)?.ok_or(FtlError::WornOut)?;
            self.log.segments.change(block, |segment| segment.state = State::Checkpoint);
            self.map.log.open(block);
        }
    }

    /// Ends the segment that leaves are written to.
    pub(crate) fn end_map(&mut self) -> Result<()> {
        let Some(block) = self.map.log.close() else { return Ok(()) };
        match self.log.flash.medium.program_parity(block) {
            Ok(()) => Ok(()),
            Err(NandError::ProgramFailed(_)) => {
                self.map.log.fail(block);
                Ok(())
            }
            Err(error) => self.log.status.fail(error),
        }
    }

    /// Programs as many leaves as there are pages but one, and their parity.
    fn program_group(&mut self, place: &GroupPlace, group: &Group) -> Result<()> {
        let GroupPlace { block, first, own, parity } = place;
        let raw = |magic: u32, leaf: u32| RawLeaf {
            magic: magic.into(),
            leaf: leaf.into(),
            first: (*first).into(),
            reserved: [0; 4],
        };
        let tag = Tag::plain(Kind::Map, self.log.flash.sequence);
        let mut sum = vec![0; self.log.shape.payload() - size_of::<RawLeaf>()];
        let mut put = |index: u32, raw: RawLeaf, bytes: &[u8]| {
            let mut payload = raw.as_bytes().to_vec();
            payload.extend_from_slice(bytes);
            payload.resize(self.log.shape.payload(), 0);
            self.log.flash.program(Place { block: *block, index }, &tag, &payload)
        };
        for ((index, leaf), bytes) in own.iter().zip(&group.leaves).zip(&group.payloads) {
            sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
            put(*index, raw(LEAF_MAGIC, *leaf), bytes)?;
        }
        put(*parity, raw(LEAF_PARITY_MAGIC, count32(own.len())), &sum)?;
        Ok(())
    }

    /// Frees segments of leaves that nothing needs any more, after a checkpoint.
    pub(crate) fn release_map(&mut self) -> Result<()> {
        for (block, is_bad) in self.map.log.checkpointed() {
            if is_bad {
                self.log.waiting.doom(block);
            } else {
                self.log.segments.change(block, |segment| segment.state = State::Free);
                self.hand_back(block);
            }
        }
        self.bury()
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use super::*;
    use crate::check::check;
    use crate::open::{CreateOptions, OpenOptions, create};
    use crate::repair::{RepairOptions, repair};
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
        assert!(disk.map.table.changes_bytes() <= disk.changes_most());
        let valid = disk.valid_by_table().unwrap();
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
        let addr = disk.addr(3).unwrap();
        let block = disk.segment_of(addr).unwrap();
        disk.log.segments.change(block, |segment| segment.valid = u32::MAX);
        disk.count(3, Addr::NONE, addr);
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
            if disk.addr(u32::try_from(lba).unwrap()).unwrap() == Addr::LOST {
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
