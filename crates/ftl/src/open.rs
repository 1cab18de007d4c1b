//! Making a disk, starting a server, ending it.

use alloc::vec::Vec;

use pumice_flashlog::Roots;
use pumice_media::{AnyChip, Nand};

use crate::counters::Start;
use crate::error::{FtlError, Missing, Result};
use crate::flash::Flash;
use crate::identity::{Identity, Void};
use crate::layout::{MAGIC, count32};
use crate::policy::PolicyNames;
use crate::record::Record;
use crate::roots::record_shape;
use crate::server::Server;
use crate::shape::Shape;
use crate::status::Mode;
use crate::stream::{batch_besides, segments_at_most, segments_needed};
use crate::survey::Surveys;
use crate::trust::Trust;

/// The size of the logical disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Export {
    /// This many bytes, rounded down to whole blocks.
    Bytes(u64),
    /// This many thousandths of the capacity of the good segments.
    Permille(u32),
}

/// The options of making a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateOptions {
    /// Bytes of a logical block: a power of two, 512 to 65536.
    pub block_bytes: u32,
    /// Size of the disk. The smaller it is, the less the cleaner copies.
    pub export: Export,
    /// The policies that clean the disk.
    pub policies: PolicyNames,
    /// The disk's identity.
    pub uuid: [u8; 16],
    /// Erases that the chip's maker promises for each erase block; `u32::MAX` if nobody knows.
    pub endurance: u32,
    /// Log pages of each segment that are parity over the others, 0 to 8: as many of a sealed segment may become
    /// unreadable, and nothing is lost. None where pages of the chip share cells.
    pub parity_pages: u8,
    /// The chip is known to be erased: its segments are not erased again.
    pub erased: bool,
}

impl Default for CreateOptions {
    fn default() -> CreateOptions {
        CreateOptions {
            block_bytes: 4096,
            export: Export::Permille(875),
            policies: PolicyNames::default(),
            uuid: [0; 16],
            endurance: u32::MAX,
            parity_pages: 0,
            erased: false,
        }
    }
}

/// Memory for pages of the translation table, unless another number is asked for.
pub(crate) const CACHE_BYTES: usize = 8 << 20;

/// The options of a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenOptions {
    /// Nothing is written to the chip.
    pub read_only: bool,
    /// Builds the tables from the headers of the segments, whatever the checkpoint says. Trimmed blocks may come back
    /// with their old contents.
    pub rebuild: bool,
    /// Bytes of memory for pages of the translation table, one of them at the least; by default 8 MiB. Their changes
    /// since they were written take some more, as many bytes as 100 pages of the log at the most.
    pub cache_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { read_only: false, rebuild: false, cache_bytes: CACHE_BYTES }
    }
}

/// Makes a logical disk on a chip; whatever the chip holds is lost. `progress` is told segments done and all. Returns
/// the disk's blocks.
pub fn create(
    nand: &mut (dyn Nand + Send),
    options: &CreateOptions,
    progress: &mut dyn FnMut(u32, u32),
) -> Result<u32> {
    let shape = Shape::of(&nand.geometry(), options.block_bytes, options.parity_pages)?.on(nand.pairing())?;
    options.policies.check()?;
    let identity = |logical_blocks| Identity {
        uuid: options.uuid,
        logical_blocks,
        policies: options.policies,
        endurance: options.endurance,
        parity_pages: options.parity_pages,
        void: Void::NONE,
    };
    let geometry = nand.geometry();
    let roots = |identity: &Identity| {
        let blank = record_shape(&shape, identity.logical_blocks, &geometry)
            .and_then(|records| Roots::blank(records, identity.anchor(&shape, geometry)));
        blank.ok_or(FtlError::Segments { pages: shape.pages, blocks: shape.blocks })
    };
    // Of an unknown size until the bad segments are counted.
    let unknown = identity(1);
    let blank = roots(&unknown)?;
    let segments = {
        let flash = Flash::new(AnyChip::lend(&mut *nand), shape);
        let mut ftl = Server::assemble(flash, shape, unknown, blank, CACHE_BYTES);
        for block in 0..shape.blocks {
            ftl.log.prepare(block, options.erased)?;
            progress(block + 1, shape.blocks);
        }
        ftl.log.segments
    };
    let logical_blocks = export(&shape, segments.usable(), options.export)?;
    let identity = identity(logical_blocks);
    let blank = roots(&identity)?;
    let mut ftl =
        Server::assemble(Flash::new(AnyChip::lend(nand), shape), shape, identity, blank, CACHE_BYTES);
    ftl.log.segments = segments;
    ftl.log.segments.set_failures(0);
    ftl.log.status.begin_changes();
    ftl.log.hand_out();
    ftl.write_checkpoint(true)?;
    ftl.log.flash.medium.flush()?;
    Ok(logical_blocks)
}

/// Blocks of a disk of this size; an error with the largest possible size if it does not fit.
pub(crate) fn export(shape: &Shape, usable: u32, export: Export) -> Result<u32> {
    let slots = u64::from(usable) * u64::from(shape.capacity());
    let wanted = match export {
        Export::Bytes(bytes) => bytes / u64::from(shape.block_bytes),
        Export::Permille(part) => slots * u64::from(part) / 1000,
    };
    let fits = |blocks: u64| {
        u32::try_from(blocks).is_ok_and(|blocks| {
            let most = segments_at_most(shape, blocks);
            segments_needed(shape, blocks, most).saturating_add(batch_besides(shape)) <= usable
        })
    };
    // The most that fits, by halving: more blocks never need fewer segments.
    let (mut low, mut high) = (0, slots);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    let blocks = match export {
        Export::Bytes(_) => wanted,
        // A small chip has less to offer.
        Export::Permille(_) => wanted.min(low),
    };
    let error = FtlError::Export { blocks, most: low };
    if blocks == 0 || blocks > low {
        return Err(error);
    }
    u32::try_from(blocks).map_err(|_| error)
}

/// True if the chip holds a logical disk, sound or not. Costs no more than finding the newest anchor.
pub fn probe(nand: &mut (dyn Nand + Send)) -> Result<bool> {
    Ok(Roots::find(nand, &MAGIC)?.is_some())
}

impl<'c> Server<'c> {
    /// The start of [`crate::Ftl::open`].
    pub(crate) fn open(mut nand: AnyChip<'c>, options: OpenOptions) -> Result<Server<'c>> {
        let mut roots = Roots::find(&mut nand, &MAGIC)?.ok_or(FtlError::Foreign)?;
        let (shape, identity) = Identity::of(roots.anchor(), &nand.geometry())?;
        roots.anchor().check_pairing(nand.pairing()).map_err(FtlError::Pairing)?;
        let shape = shape.on(nand.pairing())?;
        let mut flash = Flash::new(nand, shape);
        let records = record_shape(&shape, identity.logical_blocks, &flash.medium.chip().geometry())
            .ok_or(FtlError::Foreign)?;
        let [named, _] = roots.anchor().checkpoints;
        let record = roots.find_record(&mut flash.medium, records)?.and_then(|bytes| Record::decode(&bytes));
        let mut ftl = Server::assemble(flash, shape, identity, roots, options.cache_bytes);
        let mut replayed = ftl.replay_since(record.clone(), options.rebuild, Trust::SERVE)?;
        let mut trust = Trust::SERVE;
        let freed = ftl.take_in_alone(&mut trust, &mut replayed)?;
        ftl.log.flash.medium.watch_reads();
        let undone = !options.read_only && ftl.undo_or_trust(&replayed, trust)?;
        ftl.log.aftermath.surveys = Surveys::default();
        ftl.log.aftermath.doubted = ftl.map.still_doubted(&mut ftl.log, replayed.doubted.clone())?;
        ftl.log.aftermath.missing = match ftl.log.status.start {
            Start::Headers if !options.rebuild => Some(ftl.missing_checkpoint(record, named)?),
            _ => replayed.missing(),
        };
        if options.read_only {
            return Ok(ftl);
        }
        ftl.hold_freed(freed);
        ftl.hold_freed(replayed.listed);
        ftl.log.segments.hold(replayed.tellers);
        ftl.log.status.serve(if ftl.log.status.start == Start::Checkpoint {
            Mode::Clean
        } else {
            Mode::Replayed { undone }
        });
        for head in ftl.log.heads.iter() {
            ftl.log.recorded.listed.add(head.block, head.covered);
        }
        ftl.log.hand_out();
        ftl.log.check_wear();
        if ftl.log.policies.wear.free() == 0 || !ftl.is_covered() {
            // So many segments failed at a time that nothing can be cleaned any more, or somebody else wrote this.
            ftl.log.status.wear_out();
        }
        if let Some(missing) = ftl.log.aftermath.missing {
            ftl.log.status.miss(missing);
        }
        if ftl.log.status.mode() == Mode::Clean
            && !ftl.log.recorded.roots.is_whole()
            && ftl.log.policies.wear.free() > 0
        {
            // The other copy alone would be one page to lose.
            ftl.write_record(true)?;
        }
        Ok(ftl)
    }

    /// The pages for want of which a start goes by headers, though nobody asked for it: those of the checkpoint or, without
    /// a record, its two copies; `named` is the segment of the first. Trims that the checkpoint settled are forgotten.
    fn missing_checkpoint(&mut self, record: Option<Record>, named: u32) -> Result<Missing> {
        let Some(record) = record else { return Ok(Missing { block: named, pages: 2 }) };
        let most = self.log.shape.blocks.saturating_mul(self.log.shape.pages);
        let bad = if record.pages <= most { self.log.bad_parts(&record)? } else { Vec::new() };
        let (first, pages) = match bad.iter().flatten().next() {
            Some(first) => (*first, count32(bad.len())),
            // All can be read, and make no sense.
            None => (0, record.pages),
        };
        // A record without sense may have no segment for that page.
        let block = record.segments.get((first / self.log.shape.pages) as usize).copied();
        Ok(Missing { block: block.unwrap_or(named), pages })
    }

    /// Ends the server: everything is on the chip, and the next start is by the checkpoint. Gives the chip back.
    pub(crate) fn close(mut self) -> Result<AnyChip<'c>> {
        self.log.note_weak();
        match self.log.status.mode() {
            Mode::Clean if self.log.patrol.has_news() => self.write_checkpoint(true)?,
            Mode::Dirty => {
                self.room_for_trims()?;
                self.write_checkpoint(true)?;
            }
            Mode::Replayed { undone } => match self.checkpoint_replayed(undone, true) {
                // The next start makes the same findings.
                Err(FtlError::WornOut) => {}
                done => done?,
            },
            Mode::WornOut => self.commit()?,
            Mode::ReadOnly | Mode::Missing(_) | Mode::Failed(_) => {
                return Ok(self.log.flash.medium.into_chip());
            }
            Mode::Clean => {}
        }
        self.log.flash.medium.flush()?;
        Ok(self.log.flash.medium.into_chip())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use pumice_media::{BlockDevice, ChipSpec, CutMode, Lba, SimChip};

    use super::*;
    use crate::testing::{chip_of, served};

    #[test]
    fn a_checkpoint_that_is_gone_meanwhile_is_told_by_name() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+64:8:40").unwrap());
        create(&mut chip, &CreateOptions::default(), &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        disk.write(Lba(3), &vec![8; 4096]).unwrap();
        disk.flush().unwrap();
        let mut disk = served(chip_of(&disk));
        assert_eq!(
            (disk.log.status.start, disk.replay(None, Trust::GIVE_UP).is_ok()),
            (Start::Recovered, true)
        );
        for block in disk.log.recorded.record.segments.clone() {
            disk.log.flash.medium.erase(block).unwrap();
        }
        assert_eq!(disk.replay(None, Trust::GIVE_UP).err(), Some(FtlError::Checkpoint));
    }

    /// The power goes behind the first summary of many pages, which the next start cannot read, and the one after can.
    #[test]
    fn a_summary_that_is_read_late_is_older_than_what_was_flushed_meanwhile() {
        let mut chip = SimChip::new(&ChipSpec::parse_geometry("2048+32:128:40").unwrap());
        let policies = PolicyNames { placement: "m1".parse().unwrap(), ..PolicyNames::default() };
        let options = CreateOptions { block_bytes: 2048, policies, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut disk = served(chip);
        // A segment that is free again when the power goes: the next start takes it first.
        (0..126).for_each(|lba| disk.write(Lba(lba), &[0; 2048]).unwrap());
        let chip = SimChip::clone(disk.close().unwrap().get().unwrap());
        let written = |chip: SimChip| {
            let mut disk = served(chip);
            disk.discard(Lba(0), 126).unwrap();
            disk.flush().unwrap();
            (0..110).for_each(|lba| disk.write(Lba(lba), &[1; 2048]).unwrap());
            disk
        };
        let before = chip_of(&written(chip.clone())).operations() - chip.operations();
        let mut chip = chip;
        chip.cut_after(before, CutMode::Complete);
        let mut disk = written(chip);
        assert!(!disk.log.shape.tagged);
        let place = disk.log.heads.iter().next().unwrap().place();
        disk.flush().unwrap_err();
        let mut chip = chip_of(&disk);
        chip.power_on();
        let page = disk.log.shape.medium.chip_page(disk.log.shape.page(place), 0);
        chip.faults_mut().unreadable.insert(page);
        let mut disk = served(chip);
        for lba in 90..110 {
            disk.write(Lba(lba), &[2; 2048]).unwrap();
        }
        disk.flush().unwrap();
        let mut chip = chip_of(&disk);
        chip.faults_mut().unreadable.remove(&page);
        let mut disk = served(chip);
        assert!(disk.log.flash.read_summary(place).unwrap().is_some(), "erased meanwhile");
        let mut bytes = [0; 2048];
        for lba in 90..110 {
            disk.read(Lba(lba), &mut bytes).unwrap();
            assert_eq!(bytes[0], 2, "block {lba}");
        }
    }
}
