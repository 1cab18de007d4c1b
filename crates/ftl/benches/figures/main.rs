//! The figures of the flash memory server: the time and heap of a start, the most that a write costs, and the cleaner's
//! copies beside the simulator's. Then come the cost of promises where pages share cells, and the memory of a logical
//! block.
//!
//! Device time and counts are the simulated chip's and the same on every machine. `--quick` takes smaller chips; the
//! names of some tables choose those.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a program that prints tables, and stops at the first thing that goes wrong"
)]

mod cuts;
mod latency;
mod pairs;
mod parity;

use pumice_cleaning::{Params, Sim, registry::Store};
use pumice_ftl::{CreateOptions, Export, Ftl, OpenOptions, PolicyNames, create};
use pumice_media::{BlockDevice, ChipSpec, Lba, Nand, NandStats, SimChip};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let quick = words.iter().any(|word| word == "--quick");
    let chosen: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let is_asked = |name: &str| chosen.iter().any(|word| *word == name);
    for (name, table) in TABLES {
        if chosen.is_empty() || is_asked(name) {
            table(quick);
        }
    }
    for (name, table) in ASKED {
        if is_asked(name) {
            table();
        }
    }
}

/// A table that is printed, on smaller chips or not.
type Table = fn(quick: bool);

const TABLES: [(&str, Table); 7] = [
    ("starts", starts),
    ("large", |_| large_on("mlc-8k-64g")),
    ("latency", latency::latencies),
    ("amplification", amplification),
    ("pairs", pairs::pairs),
    ("parity", parity::parity),
    ("memory", |_| memory()),
];

/// Tables that are printed only if asked for.
const ASKED: [(&str, fn()); 3] =
    [("loads", latency::loads), ("cuts", cuts::cuts), ("large-slc", || large_on("slc-2k-2g"))];

fn disk(chip: &str, size: u64, block_bytes: u32, policies: PolicyNames) -> Ftl<SimChip> {
    let spec = ChipSpec::named(chip).unwrap().with_size(size).unwrap();
    disk_on(SimChip::new(&spec), block_bytes, policies)
}

fn disk_on(mut chip: SimChip, block_bytes: u32, policies: PolicyNames) -> Ftl<SimChip> {
    let export = Export::Permille(875);
    let options = CreateOptions { block_bytes, export, policies, erased: true, ..CreateOptions::default() };
    create(&mut chip, &options, &mut |_, _| {}).unwrap();
    open(chip)
}

fn chip_of(disk: &Ftl<SimChip>) -> &SimChip {
    disk.chip().get().unwrap()
}

fn names(victim: &str, placement: &str) -> PolicyNames {
    PolicyNames {
        victim: victim.parse().unwrap(),
        placement: placement.parse().unwrap(),
        wear: "none".parse().unwrap(),
    }
}

/// Writes every block once, in order.
fn fill(disk: &mut Ftl<SimChip>) {
    let bytes = vec![0x5a; disk.block_bytes() as usize];
    for lba in 0..disk.blocks() {
        disk.write(Lba(lba), &bytes).unwrap();
    }
    disk.flush().unwrap();
}

/// Writes so many blocks all over the disk.
fn written(disk: &mut Ftl<SimChip>, count: u64) {
    let bytes = vec![1; disk.block_bytes() as usize];
    for number in 0..count {
        disk.write(Lba(number * 7919 % disk.blocks()), &bytes).unwrap();
    }
    disk.flush().unwrap();
}

/// The cost of a start on a full disk: closed, cut off from power in use, and without a checkpoint.
fn starts(quick: bool) {
    println!("start of a full disk, 4 KiB blocks | by | page reads | spare reads | device ms");
    println!("---|---|---|---|---");
    let chips: &[(&str, u64)] = &[
        ("slc-2k-2g", 64 << 20),
        ("slc-2k-2g", 256 << 20),
        ("spinand-1g", 128 << 20),
        ("slc-4k-8g", 1 << 30),
        ("mlc-8k-64g", 4 << 30),
    ];
    for (name, size) in chips.iter().take(if quick { 2 } else { chips.len() }) {
        let mut disk = disk(name, *size, 4096, PolicyNames::default());
        fill(&mut disk);
        written(&mut disk, 2000);
        let cut = chip_of(&disk).clone();
        let closed = disk.close().unwrap();
        let title = format!("{name}, {} MiB", size >> 20);
        start(&title, "checkpoint", closed.clone(), false);
        start(&title, "after a power cut", cut, false);
        start(&title, "headers alone", closed, true);
    }
}

fn start(title: &str, by: &str, chip: SimChip, rebuild: bool) {
    let before = chip.stats();
    // Read-only, so that nothing but the start is counted.
    let disk = Ftl::open(chip, OpenOptions { read_only: true, rebuild, ..OpenOptions::default() }).unwrap();
    let cost = disk.chip().stats() - before;
    let milliseconds = cost.device_ns as f64 / 1e6;
    println!("{title} | {by} | {} | {} | {milliseconds:.3}", cost.page_reads, cost.spare_reads);
}

/// Starts of a disk of 64 GiB that little is written to: the size of the tables is that of a full one.
fn large_on(chip: &str) {
    println!();
    println!("{chip} of 64 GiB, 60,000 blocks written all over it | device ms | heap, KiB");
    println!("---|---|---");
    let mut disk = disk(chip, 64 << 30, 4096, PolicyNames::default());
    println!("most of one write | {:.3} | ", worst_write(&mut disk, 60_000) as f64 / 1e6);
    let cut = chip_of(&disk).clone();
    let closed = disk.close().unwrap();
    costs("start by the checkpoint", closed.stats(), || open(closed));
    let mut disk = costs("start after a power cut", cut.stats(), || open(cut));
    costs("the first write after it", disk.chip().stats(), || {
        disk.write(Lba(0), &[1; 4096]).unwrap();
        disk
    });
}

/// Writes so many blocks all over the disk; the device time of the write that took the most, in nanoseconds.
fn worst_write(disk: &mut Ftl<SimChip>, count: u64) -> u64 {
    let bytes = vec![1; disk.block_bytes() as usize];
    let mut most = 0;
    for number in 0..count {
        let before = disk.chip().stats();
        disk.write(Lba(number * 7919 % disk.blocks()), &bytes).unwrap();
        most = most.max((disk.chip().stats() - before).device_ns);
    }
    disk.flush().unwrap();
    most
}

fn open(chip: SimChip) -> Ftl<SimChip> {
    Ftl::open(chip, OpenOptions::default()).unwrap()
}

/// Prints the cost of some work.
fn costs(what: &str, before: NandStats, work: impl FnOnce() -> Ftl<SimChip>) -> Ftl<SimChip> {
    let mut disk = None;
    let heap = allocation_counter::measure(|| disk = Some(work()));
    let disk = disk.unwrap();
    let milliseconds = (disk.chip().stats() - before).device_ns as f64 / 1e6;
    println!("{what} | {milliseconds:.3} | {}", heap.bytes_max >> 10);
    disk
}

/// 90 % of the writes to 10 % of the blocks, which lie all over the disk.
fn locality(rng: &mut fastrand::Rng, blocks: u32) -> u32 {
    let hot = rng.u32(..10) > 0;
    loop {
        let lba = rng.u32(..blocks);
        if hot == lba.is_multiple_of(10) {
            return lba;
        }
    }
}

/// The server and the simulator, with the same policies, the same space and the same writes.
fn amplification(quick: bool) {
    println!();
    println!("WAF at 90/10, slc-2k-2g | server | simulator | server over simulator");
    println!("---|---|---|---");
    let size = if quick { 16 << 20 } else { 64 << 20 };
    for (victim, placement) in [
        ("greedy", "m1"),
        ("cost-benefit", "m1"),
        ("cost-benefit", "sepbit"),
        ("cat", "m6"),
        ("declining-cost", "adaptive"),
    ] {
        let mut disk = disk("slc-2k-2g", size, 2048, names(victim, placement));
        let (segments, capacity) = (disk.info().segments, disk.info().segment_blocks);
        let blocks = u32::try_from(disk.blocks()).unwrap();
        // Anchors, the table, and the segments of two checkpoints: one that counts, one that is being written.
        let tables = disk.info().map_segments + 2 * disk.info().checkpoint_segments;
        let params = Params::new(segments - 4 - tables, capacity, blocks);
        let server = serve(&mut disk, blocks);
        let simulator = simulate(params, names(victim, placement));
        let ratio = server / simulator;
        println!("victim {victim}, placement {placement} | {server:.3} | {simulator:.3} | {ratio:.3}");
    }
}

/// Warm-up and measurement, in overwrites of the whole disk.
const TURNOVERS: (u32, u32) = (3, 4);

fn serve(disk: &mut Ftl<SimChip>, blocks: u32) -> f64 {
    fill(disk);
    let mut rng = fastrand::Rng::with_seed(1);
    let bytes = vec![7; disk.block_bytes() as usize];
    let mut write = |disk: &mut Ftl<SimChip>, turnovers: u32| {
        for _ in 0..u64::from(blocks) * u64::from(turnovers) {
            disk.write(Lba(locality(&mut rng, blocks).into()), &bytes).unwrap();
        }
    };
    write(disk, TURNOVERS.0);
    let before = disk.info().counters;
    write(disk, TURNOVERS.1);
    let after = disk.info().counters;
    let (writes, copied) = (after.user_writes - before.user_writes, after.copied - before.copied);
    (writes + copied) as f64 / writes as f64
}

fn simulate(params: Params, policies: PolicyNames) -> f64 {
    let (blocks, store) = (params.logical, Store::new(params, 1));
    let PolicyNames { victim, placement, wear } = policies;
    let mut sim =
        Sim::new(params, victim.build(&store), placement.build(&store), wear.build(&store)).unwrap();
    sim.fill().unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut writes = |sim: &mut Sim<_, _, _>, turnovers: u32| {
        for _ in 0..u64::from(blocks) * u64::from(turnovers) {
            sim.write(locality(&mut rng, blocks)).unwrap();
        }
    };
    writes(&mut sim, TURNOVERS.0);
    sim.reset_stats();
    writes(&mut sim, TURNOVERS.1);
    let stats = sim.stats();
    (stats.user_writes + stats.blocks_copied) as f64 / stats.user_writes as f64
}

/// Tables alone, when blocks all over the disk were written; the memory of policies stands in their documentation.
fn memory() {
    println!();
    println!("memory of the tables | logical blocks | bytes | bytes a block");
    println!("---|---|---|---");
    for (name, size) in [("slc-2k-2g", 256 << 20), ("slc-4k-8g", 1 << 30), ("mlc-8k-64g", 8 << 30)] {
        let mut disk = disk(name, size, 4096, names("greedy", "m1"));
        written(&mut disk, 20_000);
        let info = disk.info();
        let each = info.table_bytes as f64 / f64::from(info.logical_blocks);
        println!("{name}, {} MiB | {} | {} | {each:.3}", size >> 20, info.logical_blocks, info.table_bytes);
    }
}
