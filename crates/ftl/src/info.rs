//! A server's report about itself.

use alloc::vec::Vec;

use crate::counters::{Counters, Start};
use crate::error::Missing;
use crate::layout::VERSION;
use crate::log::Log;
use crate::policy::PolicyNames;
use crate::segment::State;
use crate::server::Server;
use crate::status::Mode;
use crate::stream::map_segments;

/// The state and the counters of a disk.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Info {
    /// Version of the format.
    pub version: u32,
    /// The disk's identity.
    pub uuid: [u8; 16],
    /// The kind of its start.
    pub start: Start,
    /// Logical blocks that the newest page held when the power went, if that cannot be read: torn or lost, nobody can
    /// tell. Reading them is an error until they are written.
    pub possibly_lost: Vec<u32>,
    /// Pages are missing since the power went: blocks may be older than they were, and the disk can only be read.
    pub missing: Option<Missing>,
    /// The disk can be read and no longer be written.
    pub worn_out: bool,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Blocks of the disk.
    pub logical_blocks: u32,
    /// Stored blocks among these.
    pub stored_blocks: u64,
    /// Logical blocks of a segment.
    pub segment_blocks: u32,
    /// Segments of the chip.
    pub segments: u32,
    /// Segments without live blocks.
    pub free_segments: u32,
    /// Segments that a checkpoint takes at the most; as many are kept free for the next.
    pub checkpoint_segments: u32,
    /// Segments set apart for leaves of the translation table: one of its pages each. None if a checkpoint has room for
    /// the whole table.
    pub map_segments: u32,
    /// Segments that are marked bad.
    pub bad_segments: u32,
    /// Log pages of each segment that are parity over the others.
    pub parity_pages: u8,
    /// Reads of pages that ECC gave up on and parity brought back; stays at the largest.
    pub rebuilt_pages: u32,
    /// Wrong bits that ECC put right, counted by the worst codeword of each read.
    pub corrected_bits: u64,
    /// Segments that were emptied before their bits were lost, or for want of parity.
    pub mended_segments: u32,
    /// Passes of the patrol that were ended.
    pub patrol_passes: u32,
    /// Segments that are to be emptied soon: their bits are near the limit of ECC, or they lack their parity.
    pub weak_segments: u32,
    /// Chip pages that are read and programmed as one.
    pub gang_pages: u32,
    /// Pages have their tags in their spare area; otherwise summaries name their blocks.
    pub tag_in_spare: bool,
    /// The policies that clean it.
    pub policies: PolicyNames,
    /// Erases of the good segments: fewest, mean, most.
    pub wear: (u32, f64, u32),
    /// Standard deviation of the erases.
    pub wear_stddev: f64,
    /// The work done.
    pub counters: Counters,
    /// Checkpoints made so far.
    pub checkpoints: u64,
    /// Bytes of memory for the tables, those of leaves in the cache included; policies take theirs besides.
    pub table_bytes: usize,
}

impl Server<'_> {
    /// The report of [`crate::Ftl::info`].
    pub(crate) fn info(&self) -> Info {
        let count = |state: State| {
            u32::try_from(self.log.segments.iter().filter(|(_, s)| s.state == state).count())
                .unwrap_or(u32::MAX)
        };
        let (wear, wear_stddev) = self.log.wear();
        let rounds = self.log.rounds();
        Info {
            version: VERSION,
            uuid: self.log.recorded.identity.uuid,
            start: self.log.status.start,
            possibly_lost: self
                .log
                .aftermath
                .doubted
                .as_ref()
                .map_or_else(Vec::new, |doubted| doubted.lbas.clone()),
            missing: self.log.aftermath.missing,
            worn_out: self.log.status.mode() == Mode::WornOut,
            block_bytes: self.log.shape.block_bytes,
            logical_blocks: self.map.table.len(),
            stored_blocks: self.stored_blocks(),
            segment_blocks: self.log.shape.capacity(),
            segments: self.log.shape.blocks,
            free_segments: count(State::Free),
            checkpoint_segments: self.log.checkpoint_most(),
            map_segments: map_segments(&self.log.shape, self.map.table.len()),
            bad_segments: count(State::Bad),
            parity_pages: self.log.recorded.identity.parity_pages,
            rebuilt_pages: rounds.rebuilt_pages,
            corrected_bits: rounds.corrected_bits,
            mended_segments: rounds.moved_blocks,
            patrol_passes: rounds.passes,
            weak_segments: self.log.segments.weak(),
            gang_pages: self.log.shape.medium.parts(),
            tag_in_spare: self.log.shape.tagged,
            policies: self.log.recorded.identity.policies,
            wear,
            wear_stddev,
            counters: self.log.status.counters,
            checkpoints: self.log.recorded.record.number,
            table_bytes: self.map.table.memory_bytes() + self.log.segments.memory_bytes(),
        }
    }

    /// Stored blocks: counted as they change, at no cost whatever the size of the disk.
    pub(crate) fn stored_blocks(&self) -> u64 {
        self.map.table.live()
    }
}

/// The square root by Newton's steps: `core` has none.
fn root(value: f64) -> f64 {
    let mut root = value.max(1.0);
    for _ in 0..64 {
        root = f64::midpoint(root, value / root);
    }
    root
}

impl Log<'_> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(crate) fn wear(&self) -> ((u32, f64, u32), f64) {
        let good = || self.segments.iter().filter(|(_, s)| !matches!(s.state, State::Bad | State::Anchor));
        let erases = || good().map(|(_, segment)| segment.erases);
        let count = erases().count().max(1) as f64;
        let mean = erases().map(f64::from).sum::<f64>() / count;
        let variance =
            erases().map(|erases| (f64::from(erases) - mean) * (f64::from(erases) - mean)).sum::<f64>()
                / count;
        ((erases().min().unwrap_or(0), mean, erases().max().unwrap_or(0)), root(variance))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip};

    use crate::open::{CreateOptions, create};
    use crate::testing::{chip_of, served};

    #[test]
    fn stored_blocks_are_counted_without_a_look_at_any_segment() {
        for blocks in [40, 640] {
            let mut chip =
                SimChip::new(&ChipSpec::parse_geometry(&alloc::format!("2048+64:8:{blocks}")).unwrap());
            let options = CreateOptions { block_bytes: 2048, ..CreateOptions::default() };
            create(&mut chip, &options, &mut |_, _| {}).unwrap();
            let mut disk = served(chip);
            let mut rng = fastrand::Rng::with_seed(blocks);
            for step in 0..400 {
                let lba = Lba(rng.u64(..u64::from(disk.map.table.len()) / 2));
                match rng.u32(..4) {
                    0 => disk.discard(lba, 3).unwrap(),
                    _ => disk.write(lba, &vec![8; 2048]).unwrap(),
                }
                if step == 200 {
                    disk.flush().unwrap();
                    disk = served(chip_of(&disk));
                }
                let before = disk.log.segments.looks();
                let stored = disk.stored_blocks();
                assert_eq!(disk.log.segments.looks(), before, "looks at {blocks} segments");
                assert_eq!(
                    stored,
                    disk.map
                        .valid_by_table(&mut disk.log)
                        .unwrap()
                        .iter()
                        .map(|valid| u64::from(*valid))
                        .sum::<u64>()
                );
            }
        }
    }
}
