//! Segments that hold what the newest checkpoint does not know, as every summary lists them where pages have no tags of
//! their own. A start holds against that what it finds.
//!
//! A segment is listed from when a head opens it until the summary that ends a commit behind which nothing in it is
//! needed. So one that a summary lists is not erased before there is a later summary.
//!
//! Its own summaries die with it. Before a commit counts, each segment is told elsewhere: by a summary of another one, or by
//! the record of the checkpoint. So the segment of the newest summary waits for a later one or a checkpoint, though nothing
//! lives in it.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::shape::Place;

/// The place other than itself where a start finds a segment listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Nowhere,
    /// The newest record.
    Record,
    /// A summary of another segment since the checkpoint; the later ones list it, too.
    Summary,
}

/// Segments that a record lists at the most: heads, and some that were sealed just now.
pub(crate) const RECORDED_MOST: u32 = 32;

/// A listed segment.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its place in the order of opening.
    turn: u64,
    /// Pages that its summaries name.
    named: u32,
    /// The checkpoint that is being written knows it, too.
    is_settled: bool,
    told: Told,
}

/// The segments.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    lines: BTreeMap<u32, Line>,
    turn: u64,
    /// The segment of the newest summary.
    newest: Option<u32>,
}

impl Listed {
    /// A head has this segment, of which summaries name so many pages.
    pub(crate) fn add(&mut self, block: u32, named: u32) {
        self.turn += 1;
        self.lines.insert(block, Line { turn: self.turn, named, is_settled: false, told: Told::Nowhere });
    }

    /// A summary was written twice that names so many of its pages.
    pub(crate) fn name(&mut self, block: u32, named: u32) {
        if let Some(line) = self.lines.get_mut(&block) {
            (line.named, line.is_settled) = (named, false);
        }
    }

    /// The tables of a checkpoint are about to be written.
    pub(crate) fn begin_checkpoint(&mut self) {
        for line in self.lines.values_mut() {
            // Older summaries do not count behind it.
            (line.is_settled, line.told) = (true, Told::Nowhere);
        }
    }

    /// Summaries or a record were written that list these.
    pub(crate) fn tell(&mut self, blocks: impl Iterator<Item = u32>, by: Told) {
        for block in blocks {
            if let Some(line) = self.lines.get_mut(&block).filter(|line| line.told != Told::Summary) {
                line.told = by;
            }
        }
    }

    /// True if a segment has summaries, and nothing elsewhere tells of it.
    pub(crate) fn is_untold(&self) -> bool {
        self.lines.values().any(|line| line.named > 0 && line.told == Told::Nowhere)
    }

    /// The segments that the next record lists, with their named pages: those that no summary tells.
    pub(crate) fn for_record(&self, is_open: impl Fn(u32) -> bool) -> Vec<Place> {
        let is_told =
            |block: u32, line: &Line| line.told == Told::Summary || (line.is_settled && !is_open(block));
        newest(self.lines.iter().filter(|(block, line)| !is_told(**block, line)), RECORDED_MOST)
    }

    /// The checkpoint counts: it knows all that it told, but what heads write from now on.
    pub(crate) fn checkpointed(&mut self, is_open: impl Fn(u32) -> bool) {
        self.lines.retain(|block, line| !line.is_settled || is_open(*block));
    }

    /// True if a segment holds the newest summary.
    pub(crate) fn is_newest(&self, block: u32) -> bool {
        self.newest == Some(block)
    }

    /// Takes a segment out that is erased; true if the newest summary lists it, or lay there.
    pub(crate) fn erase(&mut self, block: u32) -> bool {
        self.newest = self.newest.filter(|newest| *newest != block);
        self.lines.remove(&block).is_some()
    }

    /// Takes out those that are not needed.
    pub(crate) fn keep(&mut self, is_needed: impl Fn(u32) -> bool) {
        self.lines.retain(|block, _| is_needed(*block));
    }

    /// The segments but one, which gets a summary: `most` of those opened last, with their named pages.
    pub(crate) fn others(&mut self, own: u32, most: u32) -> Vec<Place> {
        self.newest = Some(own);
        newest(self.lines.iter().filter(|(block, _)| **block != own), most)
    }
}

/// The places of so many of these lines, those opened last first.
fn newest<'a>(lines: impl Iterator<Item = (&'a u32, &'a Line)>, most: u32) -> Vec<Place> {
    let mut places: Vec<(u64, Place)> =
        lines.map(|(block, line)| (line.turn, Place { block: *block, index: line.named })).collect();
    places.sort_unstable_by_key(|(turn, _)| core::cmp::Reverse(*turn));
    places.truncate(most as usize);
    places.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use pumice_cleaning::Class;
    use pumice_media::{BlockDevice, Lba};

    use super::*;
    use crate::segment::State;
    use crate::server::Server;
    use crate::tag::Entry;
    use crate::testing::{chip_of, served, without_heads};

    /// A disk of which a flush wrote to two segments: the first is told by the summary of the second alone, and in the
    /// second nothing lives. Returns both.
    fn told_by_a_dead_one() -> (Server<'static>, u32, u32) {
        let mut disk = without_heads();
        // So many that a summary behind them ends the segment.
        let pages = disk.log.shape.data_pages() - 1;
        for class in [1, 0] {
            for lba in 0..pages {
                let at = disk.head_for_cleaner(class).unwrap();
                disk.append(at, Entry { lba, written: disk.log.clock }, &[2; 4096]).unwrap();
            }
        }
        disk.commit().unwrap();
        let (addr, teller) =
            (disk.map.addr(&mut disk.log, 0).unwrap(), disk.log.recorded.listed.newest.unwrap());
        let told = disk.log.shape.segment_of(addr).unwrap();
        let dead = disk.log.segments.get(teller);
        assert!(
            told != teller && dead.state == State::Sealed && dead.valid == 0,
            "{told}, {teller}: {dead:?}"
        );
        (disk, told, teller)
    }

    /// The first byte of block 0, as a start reads it with a segment dead; `None` if the disk tells that something is missing.
    fn read_without(disk: &Server<'static>, dead: u32) -> Option<u8> {
        let (mut chip, shape) = (chip_of(disk), disk.log.shape);
        for index in 0..shape.pages {
            let page = shape.page(Place { block: dead, index });
            chip.faults_mut().unreadable.insert(shape.medium.chip_page(page, 0));
        }
        let mut disk = served(chip);
        let mut bytes = [0; 4096];
        (disk.log.aftermath.missing.is_none() && disk.read(Lba(0), &mut bytes).is_ok()).then_some(bytes[0])
    }

    /// The summary that alone tells of a segment lies where nothing lives. It is not erased before something else tells.
    #[test]
    fn the_newest_summary_outlives_all_that_lay_before_it() {
        let (mut disk, told, teller) = told_by_a_dead_one();
        assert_eq!(read_without(&disk, told), None);
        assert!(disk.log.policies.selector.remove(teller));
        disk.clean_victim(teller).unwrap();
        assert_eq!(disk.log.segments.get(teller).state, State::Free);
        while let Some(free) = disk.log.policies.wear.allocate(Class(0), &disk.log.segments) {
            assert!(disk.log.erase(&mut disk.map, free).unwrap());
        }
        assert_eq!(read_without(&disk, told), None, "older in silence");
    }

    /// The cleaner may take a segment of a checkpoint's for copies, for the victim comes back with the next commit.
    #[test]
    fn the_segment_of_the_newest_summary_is_free_once_its_copies_are_told() {
        let mut disk = without_heads();
        for page in 0..disk.log.shape.data_pages() {
            // Half of them are garbage.
            let (at, lba) = (disk.head_for_cleaner(0).unwrap(), page / 2);
            disk.append(at, Entry { lba, written: disk.log.clock }, &[2; 4096]).unwrap();
        }
        disk.commit().unwrap();
        let newest = disk.log.recorded.listed.newest.unwrap();
        assert!(disk.log.segments.get(newest).valid > 0 && disk.log.policies.selector.remove(newest));
        disk.clean_victim(newest).unwrap();
        assert_eq!(disk.log.waiting.for_commit(&disk.log.segments), 1);
        let free = disk.log.policies.wear.free();
        disk.commit().unwrap();
        assert_eq!((disk.log.policies.wear.free(), disk.log.waiting.held()), (free + 1, 0));
    }

    #[test]
    fn what_a_checkpoint_knows_is_listed_until_it_counts() {
        let mut listed = Listed::default();
        let places = |listed: &mut Listed, most| -> Vec<(u32, u32)> {
            listed.others(9, most).into_iter().map(|place| (place.block, place.index)).collect()
        };
        listed.add(4, 0);
        listed.add(9, 0);
        listed.add(3, 2);
        listed.name(4, 7);
        assert_eq!(places(&mut listed, 5), [(3, 2), (4, 7)]);
        listed.begin_checkpoint();
        listed.add(5, 0);
        assert_eq!(places(&mut listed, 2), [(5, 0), (3, 2)]);
        listed.checkpointed(|block| block == 3);
        assert_eq!(places(&mut listed, 5), [(5, 0), (3, 2)]);
        assert!(listed.erase(3) && !listed.erase(3) && !listed.erase(4));
        listed.add(9, 1);
        assert!(listed.is_newest(9) && listed.erase(9) && !listed.is_newest(9));
        listed.keep(|block| block != 5);
        assert_eq!(places(&mut listed, 5), []);
    }

    #[test]
    fn a_record_lists_what_no_summary_of_another_segment_does() {
        let mut listed = Listed::default();
        let recorded = |listed: &Listed| -> Vec<u32> {
            listed.for_record(|block| block == 4).into_iter().map(|place| place.block).collect()
        };
        listed.add(4, 0);
        assert!(!listed.is_untold(), "it has no summary");
        listed.name(4, 2);
        assert!(listed.is_untold());
        listed.tell([4].into_iter(), Told::Record);
        assert_eq!((listed.is_untold(), recorded(&listed)), (false, [4].into()));
        listed.tell([4].into_iter(), Told::Summary);
        listed.tell([4].into_iter(), Told::Record);
        assert!(recorded(&listed).is_empty());
        listed.add(5, 3);
        listed.begin_checkpoint();
        listed.add(6, 0);
        assert_eq!(recorded(&listed), [6, 4], "the checkpoint knows what was sealed");
    }
}
