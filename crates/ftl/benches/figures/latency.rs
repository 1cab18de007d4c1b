//! The cost of one write of a block on an aged disk, checkpoints left out, beside an erase and 64 programs of a log
//! page.

use pumice_ftl::PolicyNames;
use pumice_media::{BlockDevice, Lba, Nand};

use crate::{disk, fill, locality};

/// Overwrites of the whole disk.
const TURNOVERS: u64 = 3;

pub(crate) fn latencies(quick: bool) {
    println!();
    println!(
        "one 4 KiB write at 90/10, device ms | median | p99 | p99.9 | most | E + 64 W | with a checkpoint"
    );
    println!("---|---|---|---|---|---|---");
    let chips: &[(&str, u64)] = &[
        ("slc-2k-2g", 64 << 20),
        ("spinand-1g", 64 << 20),
        ("slc-4k-8g", 128 << 20),
        ("mlc-8k-64g", 256 << 20),
        ("tlc-16k-96g", 1 << 30),
    ];
    for (name, size) in chips.iter().take(if quick { 1 } else { chips.len() }) {
        aged(name, *size);
    }
}

fn aged(name: &str, size: u64) {
    let mut disk = disk(name, size, 4096, PolicyNames::default());
    fill(&mut disk);
    let timing = disk.chip().timing();
    let program = timing.program_ns * u64::from(disk.info().gang_pages);
    let mut rng = fastrand::Rng::with_seed(1);
    let blocks = u32::try_from(disk.blocks()).unwrap();
    let bytes = vec![7; 4096];
    let (mut costs, mut with_checkpoint) = (Vec::new(), 0);
    for _ in 0..u64::from(blocks) * TURNOVERS {
        let before = (disk.chip().stats(), disk.info().checkpoints);
        disk.write(Lba(locality(&mut rng, blocks).into()), &bytes).unwrap();
        let cost = (disk.chip().stats() - before.0).device_ns;
        if disk.info().checkpoints > before.1 {
            with_checkpoint = cost.max(with_checkpoint);
        } else {
            costs.push(cost);
        }
    }
    costs.sort_unstable();
    let at = |part: usize| costs[(costs.len() - 1) * part / 1000];
    let bound = timing.erase_ns + 64 * program;
    let row = [at(500), at(990), at(999), at(1000), bound, with_checkpoint];
    let row = row.map(|ns| format!("{:.3}", ns as f64 / 1e6)).join(" | ");
    println!("{name}, {} MiB | {row}", size >> 20);
}
