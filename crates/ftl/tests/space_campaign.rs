//! Space, by seed, over all chips: a disk as large as its chip allows is written over at random, trimmed and flushed. It
//! has promised its blocks, so nothing may ever fail.
//!
//! `PUMICE_SPACE=N` plays `N` seeds on each chip.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]

use pumice_ftl::{CreateOptions, Export, Ftl, FtlError, OpenOptions, create};
use pumice_media::{BlockDevice, ChipSpec, Lba, SimChip, chips};

/// Blocks of a chip.
const BLOCKS: u64 = 40;
/// Bytes of a logical block.
const BLOCK: usize = 4096;

/// A fresh disk of the largest size.
fn largest(spec: &ChipSpec) -> Ftl<SimChip> {
    let make = |bytes| {
        let mut chip = SimChip::new(spec);
        let options =
            CreateOptions { export: Export::Bytes(bytes), erased: true, ..CreateOptions::default() };
        create(&mut chip, &options, &mut |_, _| {}).map(|_| chip)
    };
    let most = match make(spec.geometry().capacity_bytes()) {
        Err(FtlError::Export { most, .. }) => most,
        other => panic!("{}: {:?}", spec.name(), other.map(drop)),
    };
    Ftl::open(make(most * BLOCK as u64).unwrap(), OpenOptions::default()).unwrap()
}

fn play(spec: &ChipSpec, seed: u64) {
    let mut disk = largest(spec);
    let mut rng = fastrand::Rng::with_seed(seed);
    let blocks = disk.blocks();
    let about = |what: &str, turn: u64, error: &dyn std::fmt::Display| -> ! {
        panic!("{} seed {seed}, turn {turn}: {what}: {error}", spec.name())
    };
    for turn in 0..blocks * 3 {
        let lba = Lba(if turn < blocks { turn } else { rng.u64(..blocks) });
        match rng.u32(..200) {
            0 => disk.flush().unwrap_or_else(|error| about("flush", turn, &error)),
            1 if turn > blocks => {
                let count = rng.u64(1..64).min(blocks - lba.0);
                disk.discard(lba, count).unwrap_or_else(|error| about("discard", turn, &error));
            }
            _ => {
                let bytes = [u8::try_from(turn % 251).unwrap(); BLOCK];
                disk.write(lba, &bytes).unwrap_or_else(|error| about("write", turn, &error));
            }
        }
    }
    disk.close().unwrap_or_else(|error| about("close", blocks * 3, &error));
}

#[test]
fn a_full_disk_can_be_written_for_ever() {
    let flag: Option<u64> = std::env::var("PUMICE_SPACE").ok().and_then(|text| text.parse().ok());
    for chip in chips() {
        let spec = chip.clone().with_size(BLOCKS * chip.geometry().block_bytes()).unwrap();
        // The largest chips take minutes.
        if flag.is_none() && spec.geometry().capacity_bytes() > 20 << 20 {
            continue;
        }
        (0..flag.unwrap_or(1)).for_each(|seed| play(&spec, seed));
    }
}
