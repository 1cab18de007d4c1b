//! Old places of blocks that a start after a power cut did not count off, since only leaves on flash know them. Until
//! they are counted off, segments seem to hold more live blocks than they do, and none is cleaned.

use crate::error::Result;
use crate::segments::State;
use crate::server::Server;
use crate::shape::Addr;
use crate::status::Mode;

/// Leaves that one change reads for this.
const LEAVES: u32 = 8;

impl Server<'_> {
    /// Counts off the blocks that the changes of a leaf replaced, now that it was read.
    pub(crate) fn count_off_leaf(&mut self, leaf: u32, words: &[u32]) {
        for slot in self.map.table.take_unsettled(leaf) {
            let was = words.get(usize::from(slot)).copied().map(Addr);
            debug_assert!(was.is_some(), "leaf {leaf} has no entry {slot}");
            let Some(was) = was else { continue };
            self.count(self.map.table.first(leaf) + u32::from(slot), was, Addr::NONE);
            let Some(block) = self.segment_of(was) else { continue };
            self.log.policies.selector.invalidated(block, self.log.clock);
            let segment = self.log.segments.get(block);
            if self.log.status.mode == Mode::Dirty && segment.state == State::Stuck && segment.valid == 0 {
                self.free(block);
            }
        }
    }

    /// Counts off all that is left. Reads each leaf that it needs.
    pub(crate) fn count_off_all(&mut self) -> Result<()> {
        while let Some(leaf) = self.map.table.next_unsettled() {
            self.read_leaf(leaf)?;
        }
        Ok(())
    }

    /// Counts off some, with each change.
    pub(crate) fn count_off_some(&mut self) -> Result<()> {
        for _ in 0..LEAVES {
            let Some(leaf) = self.map.table.next_unsettled() else { break };
            self.read_leaf(leaf)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use super::*;
    use crate::open::{CreateOptions, create};
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
        let valid = disk.valid_by_table().unwrap();
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
        let mut is_stored =
            |lba: &u32| disk.map.table.find(*lba).is_none() && !other.addr(*lba).unwrap().is_none();
        let lba = (0..blocks).find(|lba| is_stored(lba)).unwrap();
        let old = other.addr(lba).unwrap();
        let block = other.log.shape.place(old).0.block;
        let elsewhere = disk.log.shape.addr(Place { block: block + 1, index: 0 }, 0);
        disk.map.table.set_unsettled(lba, elsewhere);
        disk.count(lba, Addr::NONE, elsewhere);
        assert!(disk.erase(block).unwrap());
        let addr = disk.log.shape.addr(Place { block, index: 0 }, 0);
        disk.map.table.set(lba, addr);
        disk.count(lba, elsewhere, addr);
        disk.count_off_all().unwrap();
        assert_eq!(disk.log.segments.get(block).valid, 1);
    }
}
