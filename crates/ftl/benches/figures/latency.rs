//! The cost of one write of a block on an aged disk, beside an erase and 64 programs of a log page; and the erases in one
//! call.

use pumice_ftl::PolicyNames;
use pumice_media::{BlockDevice, Lba, Nand};

use crate::{disk, fill, locality};

/// Overwrites of the whole disk.
const TURNOVERS: u64 = 3;

/// The writes of a row.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Local,
    Uniform,
    /// Each with a flush.
    Flushed,
}

/// A chip by name and its size.
pub(crate) const CHIPS: [(&str, u64); 6] = [
    ("slc-2k-2g", 64 << 20),
    ("spinand-1g", 64 << 20),
    ("slc-4k-8g", 128 << 20),
    ("mlc-8k-64g", 256 << 20),
    ("tlc-16k-96g", 1 << 30),
    ("scaleffs-256m", 64 << 20),
];

pub(crate) fn latencies(quick: bool) {
    println!();
    println!(
        "one 4 KiB write at 90/10, device ms | median | p99 | p99.9 | most | E + 64 W | with a checkpoint"
    );
    println!("---|---|---|---|---|---|---");
    for (name, size) in CHIPS.iter().take(if quick { 1 } else { 5 }) {
        let Row { times, .. } = aged(name, *size, Load::Local);
        println!("{name}, {} MiB | {times}", size >> 20);
    }
}

pub(crate) fn loads() {
    println!();
    println!(
        "one 4 KiB write, device ms | median | p99 | p99.9 | most | E + 64 W | with a checkpoint | erases, most | WAF"
    );
    println!("---|---|---|---|---|---|---|---|---");
    let loads = [(Load::Local, "90/10"), (Load::Uniform, "uniform"), (Load::Flushed, "uniform, flushed")];
    for (name, size) in CHIPS {
        for (load, what) in loads {
            let Row { times, erases, amplification } = aged(name, size, load);
            println!("{name}, {} MiB, {what} | {times} | {erases} | {amplification:.3}", size >> 20);
        }
    }
}

/// The figures of a row.
struct Row {
    times: String,
    /// Most in one call.
    erases: u64,
    amplification: f64,
}

fn aged(name: &str, size: u64, load: Load) -> Row {
    let mut disk = disk(name, size, 4096, PolicyNames::default());
    fill(&mut disk);
    let timing = disk.chip().timing();
    let program = timing.program_ns * u64::from(disk.info().gang_pages);
    let mut rng = fastrand::Rng::with_seed(1);
    let blocks = u32::try_from(disk.blocks()).unwrap();
    let bytes = vec![7; 4096];
    let (mut costs, mut with_checkpoint, mut erases) = (Vec::new(), 0, 0);
    let start = disk.info().counters;
    for _ in 0..u64::from(blocks) * TURNOVERS {
        let before = (disk.chip().stats(), disk.info().checkpoints);
        let lba = if load == Load::Local { locality(&mut rng, blocks) } else { rng.u32(..blocks) };
        disk.write(Lba(lba.into()), &bytes).unwrap();
        if load == Load::Flushed {
            disk.flush().unwrap();
        }
        let cost = disk.chip().stats() - before.0;
        erases = erases.max(cost.erases);
        if disk.info().checkpoints > before.1 {
            with_checkpoint = cost.device_ns.max(with_checkpoint);
        } else {
            costs.push(cost.device_ns);
        }
    }
    costs.sort_unstable();
    let at = |part: usize| costs[(costs.len() - 1) * part / 1000];
    let bound = timing.erase_ns + 64 * program;
    let row = [at(500), at(990), at(999), at(1000), bound, with_checkpoint];
    let times = row.map(|ns| format!("{:.3}", ns as f64 / 1e6)).join(" | ");
    let end = disk.info().counters;
    let (writes, copied) = (end.user_writes - start.user_writes, end.copied - start.copied);
    Row { times, erases, amplification: (writes + copied) as f64 / writes as f64 }
}
