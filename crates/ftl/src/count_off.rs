//! Old places of blocks that a start after a power cut did not count off, since only leaves on flash know them. Until
//! they are counted off, segments seem to hold more live blocks than they do, and none is cleaned.

use crate::error::Result;
use crate::segments::State;
use crate::server::{Mode, Server};
use crate::shape::Addr;

/// Leaves that one change reads for this.
const LEAVES: u32 = 8;

impl Server<'_> {
    /// Counts off the blocks that the changes of a leaf replaced, now that it was read.
    pub(crate) fn count_off_leaf(&mut self, leaf: u32, words: &[u32]) {
        for slot in self.table.take_unsettled(leaf) {
            let was = words.get(usize::from(slot)).copied().map(Addr);
            debug_assert!(was.is_some(), "leaf {leaf} has no entry {slot}");
            let Some(was) = was else { continue };
            self.count(self.table.first(leaf) + u32::from(slot), was, Addr::NONE);
            let Some(block) = self.segment_of(was) else { continue };
            self.policies.selector.invalidated(block, self.clock);
            let segment = self.segments.get(block);
            if self.mode == Mode::Dirty && segment.state == State::Stuck && segment.valid == 0 {
                self.free(block);
            }
        }
    }

    /// Counts off all that is left. Reads each leaf that it needs.
    pub(crate) fn count_off_all(&mut self) -> Result<()> {
        while let Some(leaf) = self.table.next_unsettled() {
            self.read_leaf(leaf)?;
        }
        Ok(())
    }

    /// Counts off some, with each change.
    pub(crate) fn count_off_some(&mut self) -> Result<()> {
        for _ in 0..LEAVES {
            let Some(leaf) = self.table.next_unsettled() else { break };
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
    use crate::testing::{chip_of, served};

    /// Writes so many blocks all over a disk of which the table lies in leaves.
    fn write(disk: &mut Server<'static>, count: u64) {
        let blocks = disk.blocks();
        (0..count).for_each(|number| disk.write(Lba(number * 7919 % blocks), &[8; 512]).unwrap());
    }

    #[test]
    fn what_a_start_did_not_count_is_counted_with_the_changes_that_follow() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("512+64:32:1500").unwrap());
        let options = CreateOptions { block_bytes: 512, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        write(&mut disk, 12_000);
        disk.flush().unwrap();
        let mut disk = served(chip_of(&disk));
        assert!(disk.table.is_unsettled());
        // The checkpoint of the first write keeps the uncounted changes.
        write(&mut disk, 1);
        disk.flush().unwrap();
        let mut disk = served(chip_of(&disk));
        assert!(disk.table.is_unsettled());
        write(&mut disk, 100);
        assert!(!disk.table.is_unsettled());
        let valid = disk.valid_by_table().unwrap();
        assert!(disk.segments.iter().zip(&valid).all(|((_, segment), valid)| segment.valid == *valid));
        assert_eq!(disk.table.live(), valid.iter().map(|valid| u64::from(*valid)).sum::<u64>());
    }
}
