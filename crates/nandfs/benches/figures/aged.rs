//! Aged volumes: mounts after power cuts and the first durable write behind them, sequential rewriting and reading, and
//! the host's time of an overwrite.

use std::time::Instant;

use fastrand::Rng;
use pumice_cleaning::registry::{PlacementRule, Store, VictimRule, WearRule};
use pumice_cleaning::sim::{Params, Sim};
use pumice_media::{ChipSpec, Nand, NandStats, SimChip};
use pumice_nandfs::FormatOptions;
use pumice_vfs::{FileSystem, Ino};

use crate::chip::{Fs, create, during, formatted_as, mount, mount_cost, noise, spec};
use crate::cleaning::uniform;

/// Blocks of files written in one go.
const ROW: u64 = 16;
const BLOCK: u64 = 4096;

/// A volume with a file of a share of df, in percent, each block of which was written over once, at random.
fn aged(name: &str, bytes: u64, share: u64) -> (Fs, Ino, u64, Rng) {
    let fs = mount(formatted_as(&spec(name, Some(bytes)), FormatOptions::default()));
    let blocks = fs.space().unwrap().total_bytes * share / 100 / BLOCK / ROW * ROW;
    let ino = create(&fs, "data");
    rewrite(&fs, ino, blocks);
    let (mut rng, data) = (Rng::with_seed(7), noise(BLOCK as usize, 4));
    for _ in 0..blocks {
        fs.write(ino, uniform(&mut rng, blocks) * BLOCK, &data).unwrap();
    }
    fs.sync().unwrap();
    (fs, ino, blocks, rng)
}

fn rewrite(fs: &Fs, ino: Ino, blocks: u64) {
    let data = noise((ROW * BLOCK) as usize, 3);
    for row in 0..blocks / ROW {
        fs.write(ino, row * ROW * BLOCK, &data).unwrap();
    }
    fs.sync().unwrap();
}

fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// Power cuts of a volume, one after the other.
const CUTS: u64 = 60;

pub(crate) fn cuts() -> Vec<String> {
    let chips = [
        ("slc-2k-2g", 64 << 20),
        ("slc-4k-8g", 128 << 20),
        ("scaleffs-256m", 64 << 20),
        ("spinand-1g", 64 << 20),
        ("mlc-8k-64g", 256 << 20),
        ("tlc-16k-96g", 1 << 30),
    ];
    let head = "| mount after a power cut, 87 % of df, 60 of them, device ms | median | most | programs, most \
                | first durable write, most | its erases, programs of a log page | 2 E + 8 W |\n|---|---|---|---|---|---|---|";
    [head.to_owned()].into_iter().chain(chips.map(|(name, bytes)| cuts_of(name, bytes))).collect()
}

fn cuts_of(name: &str, bytes: u64) -> String {
    let (mut fs, ino, blocks, mut rng) = aged(name, bytes, 87);
    let gang = u64::from(fs.info().unwrap().gang_pages);
    let (mut mounts, mut programs, mut first) = (Vec::new(), 0, NandStats::default());
    let data = noise(BLOCK as usize, 5);
    let mut chip: SimChip = fs.abandon().unwrap();
    for _ in 0..CUTS {
        let (mounted, cost): (Fs, NandStats) = mount_cost(chip);
        fs = mounted;
        mounts.push(cost.device_ns);
        programs = cost.programs.max(programs);
        let did = during(&fs, || {
            fs.write(ino, uniform(&mut rng, blocks) * BLOCK, &data).unwrap();
            fs.fsync(ino, false).unwrap();
        });
        if did.device_ns > first.device_ns {
            first = did;
        }
        for turn in 0..rng.u64(1..600) {
            fs.write(ino, uniform(&mut rng, blocks) * BLOCK, &data).unwrap();
            if turn % 3 == 0 {
                fs.fsync(ino, false).unwrap();
            }
        }
        chip = fs.abandon().unwrap();
    }
    mounts.sort_unstable();
    let timing = chip.timing();
    let bound = 2 * timing.erase_ns + 8 * timing.program_ns * gang;
    let [median, most] = [mounts[mounts.len() / 2], mounts[mounts.len() - 1]].map(ms);
    format!(
        "| {name}, {} MiB | {median} | {most} | {programs} | {} | {}, {} | {} |",
        bytes >> 20,
        ms(first.device_ns),
        first.erases,
        first.programs / gang,
        ms(bound)
    )
}

pub(crate) fn sequential() -> Vec<String> {
    let chips = [
        ("slc-2k-2g", 256 << 20),
        ("spinand-1g", 64 << 20),
        ("slc-4k-8g", 256 << 20),
        ("mlc-8k-64g", 512 << 20),
    ];
    let head = "| aged at 80 % of df, share of the raw bandwidth, % | rewrite | that of a greedy model | read | read, idle before |\n|---|---|---|---|---|";
    [head.to_owned()].into_iter().chain(chips.map(|(name, bytes)| sequential_of(name, bytes))).collect()
}

fn sequential_of(name: &str, bytes: u64) -> String {
    let (fs, ino, blocks, _) = aged(name, bytes, 80);
    let spec = spec(name, Some(bytes));
    let model = greedy(&spec, blocks, fs.info().unwrap().free_blocks);
    let (timing, page) = (spec.timing(), u64::from(spec.geometry().page_bytes));
    let pages = (blocks * BLOCK / page) as f64;
    let read = |fs: &Fs| {
        let mut buffer = vec![0; (ROW * BLOCK) as usize];
        let did = during(fs, || {
            for row in 0..blocks / ROW {
                fs.read(ino, row * ROW * BLOCK, &mut buffer).unwrap();
            }
        });
        100.0 * pages * timing.read_page_ns as f64 / did.device_ns as f64
    };
    let fs = mount(fs.unmount().unwrap());
    let first = read(&fs);
    fs.write(ino, 0, &[7; 4096]).unwrap();
    while fs.maintain().unwrap() {}
    let rested = read(&fs);
    let did = during(&fs, || rewrite(&fs, ino, blocks));
    let written = 100.0 * pages * timing.program_ns as f64 / did.device_ns as f64;
    format!("| {name}, {} MiB | {written:.1} | {model:.1} | {first:.1} | {rested:.1} |", bytes >> 20)
}

/// The share that a plain log gets with greedy cleaning in one head, for the same writes and with as many free erase
/// blocks kept: pages that users write against these, copies and erases.
fn greedy(spec: &ChipSpec, blocks: u64, free: u32) -> f64 {
    let (timing, geometry) = (spec.timing(), spec.geometry());
    let slots = (geometry.block_bytes() / BLOCK) as u32;
    let params = Params::new(geometry.blocks, slots, blocks as u32).with(|it| it.reserve = free);
    let store = Store::new(params, 0);
    let victims = "greedy".parse::<VictimRule>().unwrap().build(&store);
    let placement = "m1".parse::<PlacementRule>().unwrap().build(&store);
    let wear = "none".parse::<WearRule>().unwrap().build(&store);
    let mut sim = Sim::new(params, victims, placement, wear).unwrap();
    sim.fill().unwrap();
    let mut rng = Rng::with_seed(7);
    sim.run((0..blocks).map(|_| uniform(&mut rng, blocks) as u32)).unwrap();
    sim.reset_stats();
    sim.run(0..blocks as u32).unwrap();
    let pages = |count: u64| count as f64 * BLOCK as f64 / f64::from(geometry.page_bytes);
    let own = pages(blocks) * timing.program_ns as f64;
    let copies = pages(sim.stats().blocks_copied) * (timing.read_page_ns + timing.program_ns) as f64;
    100.0 * own / (own + copies + sim.stats().erasures as f64 * timing.erase_ns as f64)
}

/// Overwrites that are timed.
const TIMED: u32 = 100_000;

pub(crate) fn processor() -> Vec<String> {
    let head = "| host time of a 4 KiB overwrite, 85 % of df, slc-2k-2g | us |\n|---|---|";
    let rows = [64, 256, 1024].map(|mib| {
        let (fs, ino, blocks, mut rng) = aged("slc-2k-2g", mib << 20, 85);
        let data = noise(BLOCK as usize, 6);
        let start = Instant::now();
        for _ in 0..TIMED {
            fs.write(ino, uniform(&mut rng, blocks) * BLOCK, &data).unwrap();
        }
        format!("| {mib} MiB | {:.1} |", start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMED))
    });
    [head.to_owned()].into_iter().chain(rows).collect()
}
