//! The large file of the RCFFS paper's table 2 (after Seltzer and others, 1995).

use pumice_media::{ChipSpec, SimChip};
use pumice_vfs::Ino;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::System;
use crate::{
    LabError,
    files::{SEEK, float, make},
    measured::Figure,
};

/// Bytes of a read or write.
const PIECE: usize = 8 << 10;

/// A piece, of which so many bytes in each 4 KiB do not compress; the same in every run.
fn piece(noise: usize) -> Vec<u8> {
    let mut piece = vec![0xa5; PIECE];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for block in piece.chunks_mut(SEEK) {
        let (noise, _) = block.split_at_mut(noise.min(SEEK));
        random.fill(noise);
    }
    piece
}

pub(super) fn large(
    system: System,
    chip: SimChip,
    (bytes, noise): (u64, usize),
    spec: &ChipSpec,
    seed: u64,
) -> Result<Vec<(Figure, f64)>, LabError> {
    let mounted = system.mount(chip)?;
    let fs = mounted.fs();
    let ino = make(fs, Ino::ROOT, "large")?;
    let pieces = bytes / PIECE as u64;
    let piece = &piece(noise);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut places = || random.random_range(..pieces) * PIECE as u64;
    let first = mounted.stats()?;
    for number in 0..pieces {
        fs.write(ino, number * PIECE as u64, piece)?;
    }
    fs.fsync(ino, false)?;
    let written = mounted.stats()?;
    let mut found = vec![0; PIECE];
    for number in 0..pieces {
        fs.read(ino, number * PIECE as u64, &mut found)?;
    }
    let read = mounted.stats()?;
    // The paper's random writes went through Linux's page cache, which holds the file: they reach the flash in order.
    for number in 0..pieces {
        fs.write(ino, number * PIECE as u64, piece)?;
    }
    fs.fsync(ino, false)?;
    let occupied = mounted.stats()?;
    for _ in 0..pieces / 2 {
        fs.write(ino, places(), piece)?;
    }
    fs.fsync(ino, false)?;
    let changed = mounted.stats()?;
    for _ in 0..pieces / 2 {
        fs.read(ino, places(), &mut found)?;
    }
    let last = mounted.stats()?;
    let page = u64::from(spec.geometry().page_bytes);
    let seconds = |ns: u64| float(ns) / 1e9;
    Ok(vec![
        (Figure::WriteTime, seconds(written.device_ns - first.device_ns)),
        (Figure::ReadTime, seconds(read.device_ns - written.device_ns)),
        (Figure::RandomWriteTime, seconds(changed.device_ns - occupied.device_ns)),
        (Figure::RandomReadTime, seconds(last.device_ns - changed.device_ns)),
        (Figure::Space, float((occupied.programs - first.programs) * page) / 1e6),
    ])
}

/// The time of a second reading.
pub(super) fn reread(
    system: System,
    chip: SimChip,
    bytes: u64,
    cache_bytes: usize,
) -> Result<Vec<(Figure, f64)>, LabError> {
    const NOISE: usize = 600;
    let mounted = system.mount_with(chip, cache_bytes)?;
    let fs = mounted.fs();
    let ino = make(fs, Ino::ROOT, "large")?;
    let (piece, mut found) = (piece(NOISE), vec![0; PIECE]);
    for at in (0..bytes).step_by(PIECE) {
        fs.write(ino, at, &piece)?;
    }
    fs.fsync(ino, false)?;
    let mut before = 0;
    for _ in 0..2 {
        before = mounted.stats()?.device_ns;
        for at in (0..bytes).step_by(PIECE) {
            fs.read(ino, at, &mut found)?;
        }
    }
    Ok(vec![(Figure::RereadTime, float(mounted.stats()?.device_ns - before) / 1e9)])
}
