//! The cost of keeping promises on chips with pages that share cells, beside the same chips if none did.

use pumice_ftl::{Ftl, PolicyNames};
use pumice_media::{BlockDevice, ChipSpec, Lba, Nand, Pairing, SimChip};

use crate::{disk_on, fill, locality};

/// Overwrites of the whole disk before the measurement.
const TURNOVERS: u64 = 2;
/// Blocks that are written and flushed one by one.
const FLUSHES: u64 = 3000;

pub(crate) fn pairs(quick: bool) {
    println!();
    println!("4 KiB blocks, default policies | programs a flush of one block | WAF at 90/10");
    println!("---|---|---");
    for (name, size) in [("mlc-8k-64g", 512), ("tlc-16k-96g", 1024)] {
        let size = if quick { size / 2 } else { size };
        let own = ChipSpec::named(name).unwrap().with_size(size << 20).unwrap();
        let alone = own.clone().with_pairing(Pairing::Unpaired).unwrap();
        for (spec, what) in [(own, ""), (alone, " without pairs")] {
            let (flush, amplified) = (flushed(&spec), amplified(&spec));
            println!("{name}{what}, {size} MiB | {flush:.3} | {amplified:.3}");
        }
    }
}

fn disk(spec: &ChipSpec) -> Ftl<SimChip> {
    disk_on(SimChip::new(spec), 4096, PolicyNames::default())
}

/// Programs for each flush, on a disk that has room.
fn flushed(spec: &ChipSpec) -> f64 {
    let mut disk = disk(spec);
    disk.write(Lba(0), &[1; 4096]).unwrap();
    let before = disk.chip().stats().programs;
    for number in 0..FLUSHES {
        disk.write(Lba(number * 7919 % 256), &[2; 4096]).unwrap();
        disk.flush().unwrap();
    }
    (disk.chip().stats().programs - before) as f64 / FLUSHES as f64
}

/// Blocks written for each that a user writes, on a full disk.
fn amplified(spec: &ChipSpec) -> f64 {
    let mut disk = disk(spec);
    fill(&mut disk);
    let mut rng = fastrand::Rng::with_seed(1);
    let blocks = u32::try_from(disk.blocks()).unwrap();
    let mut write = |disk: &mut Ftl<SimChip>, turnovers: u64| {
        for _ in 0..u64::from(blocks) * turnovers {
            disk.write(Lba(locality(&mut rng, blocks).into()), &[7; 4096]).unwrap();
        }
    };
    write(&mut disk, TURNOVERS);
    let before = disk.info().counters;
    write(&mut disk, 1);
    let after = disk.info().counters;
    let (writes, copied) = (after.user_writes - before.user_writes, after.copied - before.copied);
    (writes + copied) as f64 / writes as f64
}
