//! Damages to a chip, and their effect on a file system (RCFFS, 5.3 and 3.2).

use core::fmt;

use pumice_media::{BitFlip, Nand, PageId, SimChip};
use pumice_vfs::{FileSystem, Ino};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::System;
use crate::{
    LabError,
    files::{CONTENT, STEP, float, write},
    measured::Figure,
};

/// Bytes of a file.
const FILE: u16 = 16 << 10;
/// Erase blocks of a segment of RCFFS, of which one may be lost.
const SEGMENT_BLOCKS: u32 = 16;

/// A damage done while the chip lies on the shelf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Nothing.
    None,
    /// One page of each erase block has 1,000 wrong bits.
    Bits,
    /// So much cannot be read.
    Dead {
        /// Pages of each erase block.
        pages: u32,
        /// Erase blocks of each 16 in a row.
        blocks: u32,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::None => write!(f, "nothing happens"),
            Damage::Bits => write!(f, "1,000 wrong bits in a page of each erase block"),
            Damage::Dead { pages, blocks } => {
                write!(f, "unreadable: pages of each erase block, {pages}; of each 16 erase blocks, {blocks}")
            }
        }
    }
}

impl Damage {
    fn strike(self, chip: &mut SimChip, seed: u64) {
        const BITS: u32 = 1000;
        let geometry = chip.geometry();
        let (pages, blocks) = (geometry.pages_per_block, geometry.blocks);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for block in 0..blocks {
            let page = PageId(block * pages + random.random_range(..pages));
            match self {
                Damage::None => {}
                Damage::Dead { pages: dead, .. } => {
                    let all = (0..dead).map(|next| PageId(block * pages + (page.0 + next) % pages));
                    chip.faults_mut().unreadable.extend(all);
                }
                Damage::Bits => {
                    for _ in 0..BITS {
                        let bit = random.random_range(..geometry.page_bytes * 8);
                        chip.faults_mut().flips.insert(BitFlip { page, bit });
                    }
                }
            }
        }
        if let Damage::Dead { blocks: dead @ 1.., .. } = self {
            for first in (0..blocks).step_by(SEGMENT_BLOCKS as usize) {
                let group = SEGMENT_BLOCKS.min(blocks - first);
                let block = random.random_range(..group);
                for block in (0..dead).map(|next| first + (block + next) % group) {
                    chip.faults_mut().unreadable.extend((block * pages..(block + 1) * pages).map(PageId));
                }
            }
        }
    }
}

fn filled(system: System, chip: SimChip, files: u32) -> Result<SimChip, LabError> {
    let mounted = system.mount(chip)?;
    for number in 0..files {
        write(mounted.fs(), number, FILE.into())?;
    }
    mounted.unmount()
}

/// The part of the files that is lost, and the space that all took before.
pub(super) fn lost(
    system: System,
    chip: SimChip,
    (files, damage): (u32, Damage),
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let page = u64::from(chip.geometry().page_bytes);
    let empty = chip.stats().programs;
    let mut chip = filled(system, chip, files)?;
    let space = float((chip.stats().programs - empty) * page) / 1e6;
    damage.strike(&mut chip, seed);
    let sound = match system.mount(chip) {
        Ok(mounted) => (0..files).filter(|number| is_sound(mounted.fs(), *number)).count(),
        // A file system that cannot be mounted has lost everything.
        Err(LabError::Fs(_)) => 0,
        Err(error) => return Err(error),
    };
    let share = float(sound as u64) / f64::from(files);
    Ok(vec![(Figure::Lost, 100.0 * (1.0 - share)), (Figure::Space, space)])
}

fn is_sound(fs: &dyn FileSystem, number: u32) -> bool {
    let Ok(attr) = fs.lookup(Ino::ROOT, format!("file {number}").as_bytes()) else { return false };
    let mut found = vec![0; STEP];
    let is_read = fs.read(attr.ino, 0, &mut found).is_ok_and(|read| read == usize::from(FILE));
    is_read && CONTENT.iter().zip(&found).take(FILE.into()).all(|(wanted, found)| wanted == found)
}

/// The cost of bringing back a page: with one page of its erase block lost, or with two, where the block has one parity
/// page.
pub(super) fn repair(
    system: System,
    chip: SimChip,
    in_segment: bool,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let pages = chip.geometry().pages_per_block;
    let mut chip = filled(system, chip, 64)?;
    let mut times = Vec::new();
    let dead = if in_segment { 2 } else { 1 };
    for number in [0, dead] {
        // Pages of the first erase block of the second segment: the first holds the new volume's own.
        let first = SEGMENT_BLOCKS * pages + 2;
        chip.faults_mut().unreadable.extend((first..first + number).map(PageId));
        let mounted = system.mount(chip)?;
        let before = mounted.stats()?.device_ns;
        if !is_sound(mounted.fs(), 0) {
            return Err(LabError::Setup("the page was not brought back".to_owned()));
        }
        times.push(mounted.stats()?.device_ns - before);
        chip = mounted.cut()?;
    }
    let [plain, repaired] = times[..] else { return Err(LabError::Setup("two reads".to_owned())) };
    Ok(vec![(Figure::Repair, float(repaired - plain) / 1e6 / f64::from(dead))])
}

/// The time of a scrub.
pub(super) fn scrub(
    system: System,
    chip: SimChip,
    files: u32,
    is_quick: bool,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(filled(system, chip, files)?)?;
    let before = mounted.stats()?.device_ns;
    mounted.scrub(is_quick)?;
    Ok(vec![(Figure::Scrub, float(mounted.stats()?.device_ns - before) / 1e6)])
}
