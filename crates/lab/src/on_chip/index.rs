//! The index of inodes: RCFFS's mu-tree (section 4) beside nandfs's node table.

use pumice_media::SimChip;
use pumice_vfs::{FileSystem, Ino, SetAttr};
use rand::{
    SeedableRng,
    rngs::Xoshiro256PlusPlus,
    seq::{IndexedRandom, SliceRandom},
};

use super::System;
use crate::{
    LabError,
    files::{append, float, make, make_dir},
    measured::Figure,
};

/// Files of a directory: few, so that directories count little.
const IN_DIRECTORY: u32 = 100;
/// Inodes that are looked up, and changed.
const SAMPLE: u32 = 500;
/// Inodes that are looked up in any order.
const LOOKUPS: u32 = 5000;

/// So many files of one byte.
fn inodes(fs: &dyn FileSystem, files: u32) -> Result<Vec<Ino>, LabError> {
    let mut inos = Vec::new();
    let mut dir = Ino::ROOT;
    for number in 0..files {
        if number % IN_DIRECTORY == 0 {
            dir = make_dir(fs, &format!("dir {number}"))?;
        }
        let ino = make(fs, dir, &format!("file {number}"))?;
        append(fs, ino, 0, 1)?;
        inos.push(ino);
    }
    Ok(inos)
}

/// Reads for an inode of many that are looked up in any order, again and again, with so many bytes of memory.
pub(super) fn lookups(
    system: System,
    chip: SimChip,
    (files, cache_bytes): (u32, usize),
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let inos = inodes(mounted.fs(), files)?;
    let mounted = system.mount_with(mounted.unmount()?, cache_bytes)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let before = mounted.stats()?.page_reads;
    for _ in 0..LOOKUPS {
        if let Some(ino) = inos.choose(&mut random) {
            mounted.fs().attr(*ino)?;
        }
    }
    let reads = mounted.stats()?.page_reads - before;
    Ok(vec![(Figure::LookupReads, float(reads) / f64::from(LOOKUPS))])
}

pub(super) fn index(
    system: System,
    chip: SimChip,
    (files, together): (u32, u32),
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let mut inos = inodes(mounted.fs(), files)?;
    inos.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    let mounted = system.mount(mounted.unmount()?)?;
    let first = mounted.stats()?;
    let sample = || inos.iter().take(SAMPLE as usize);
    for ino in sample() {
        mounted.fs().attr(*ino)?;
    }
    let found = mounted.stats()?;
    for (number, ino) in (1..).zip(sample()) {
        let change = SetAttr { perm: Some(0o600), ..SetAttr::default() };
        mounted.fs().set_attr(*ino, &change)?;
        if number % together == 0 {
            mounted.fs().sync()?;
        }
    }
    let changed = mounted.stats()?;
    let each = |all: u64| float(all) / f64::from(SAMPLE);
    Ok(vec![
        (Figure::LookupReads, each(found.page_reads - first.page_reads)),
        (Figure::UpdatePrograms, each(changed.programs - found.programs)),
    ])
}
