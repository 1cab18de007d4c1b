//! Starts of an aged disk after power cuts, and the first durable write behind them.

use pumice_ftl::PolicyNames;
use pumice_media::{BlockDevice, Lba, Nand};

use crate::{chip_of, disk, fill, latency::CHIPS, open};

/// Power cuts of a disk, one after the other.
const CUTS: u64 = 60;

pub(crate) fn cuts() {
    println!();
    println!(
        "start after a power cut, full disk, 60 of them, device ms | median | most | programs, most \
         | first durable write, most | 2 E + 8 W"
    );
    println!("---|---|---|---|---|---");
    for (name, size) in CHIPS {
        println!("{name}, {} MiB | {}", size >> 20, cuts_of(name, size));
    }
}

fn cuts_of(name: &str, size: u64) -> String {
    let mut disk = disk(name, size, 4096, PolicyNames::default());
    fill(&mut disk);
    let mut rng = fastrand::Rng::with_seed(1);
    let blocks = disk.blocks();
    let bytes = vec![7; 4096];
    let mut write = |disk: &mut pumice_ftl::Ftl<_>, count: u64| {
        for turn in 0..count {
            disk.write(Lba(rng.u64(..blocks)), &bytes).unwrap();
            if turn % 3 == 0 {
                disk.flush().unwrap();
            }
        }
    };
    write(&mut disk, blocks);
    let timing = disk.chip().timing();
    let bound = 2 * timing.erase_ns + 8 * timing.program_ns * u64::from(disk.info().gang_pages);
    let (mut starts, mut programs, mut first) = (Vec::new(), 0, 0);
    let mut counts = fastrand::Rng::with_seed(2);
    for _ in 0..CUTS {
        let chip = chip_of(&disk).clone();
        let before = chip.stats();
        disk = open(chip);
        let cost = disk.chip().stats() - before;
        starts.push(cost.device_ns);
        programs = cost.programs.max(programs);
        let before = disk.chip().stats();
        write(&mut disk, 1);
        first = (disk.chip().stats() - before).device_ns.max(first);
        write(&mut disk, counts.u64(1..600));
    }
    starts.sort_unstable();
    let row = [starts[starts.len() / 2], starts[starts.len() - 1], first, bound];
    let [median, most, first, bound] = row.map(|ns| format!("{:.3}", ns as f64 / 1e6));
    format!("{median} | {most} | {programs} | {first} | {bound}")
}
