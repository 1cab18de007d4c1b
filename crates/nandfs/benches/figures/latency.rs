//! The cost of one 4 KiB overwrite with fsync on an aged volume, beside an erase and 64 programs of a log page.

use fastrand::Rng;
use pumice_nandfs::FormatOptions;
use pumice_vfs::FileSystem;

use crate::chip::{create, formatted_as, mount, noise, spec};
use crate::cleaning::uniform;

/// The share of the free space that is filled.
const SHARE: u64 = 85;

/// Rows of the table, with its head.
pub(crate) fn table() -> Vec<String> {
    let chips = [
        ("slc-2k-2g", 64 << 20),
        ("slc-2k-2g", 256 << 20),
        ("spinand-1g", 64 << 20),
        ("slc-4k-8g", 128 << 20),
        ("mlc-8k-64g", 256 << 20),
        ("tlc-16k-96g", 1 << 30),
    ];
    let head = "| one 4 KiB overwrite with fsync, 85 % of df, device ms | median | p99 | p99.9 | most | E + 64 W \
                | programs a write |\n|---|---|---|---|---|---|---|";
    [head.to_owned()].into_iter().chain(chips.map(|(name, bytes)| row(name, bytes))).collect()
}

fn row(name: &str, bytes: u64) -> String {
    let spec = spec(name, Some(bytes));
    let fs = mount(formatted_as(&spec, FormatOptions::default()));
    let blocks = fs.space().unwrap().total_bytes * SHARE / 100 / 4096 / 16 * 16;
    let ino = create(&fs, "data");
    let data = noise(64 << 10, 3);
    for n in 0..blocks / 16 {
        fs.write(ino, n * 16 * 4096, &data).unwrap();
    }
    fs.sync().unwrap();
    let mut rng = Rng::with_seed(7);
    for _ in 0..blocks {
        fs.write(ino, uniform(&mut rng, blocks) * 4096, &data[..4096]).unwrap();
    }
    fs.sync().unwrap();
    let before = fs.stats().unwrap();
    let mut costs: Vec<u64> = (0..blocks)
        .map(|_| {
            let before = fs.stats().unwrap();
            fs.write(ino, uniform(&mut rng, blocks) * 4096, &data[..4096]).unwrap();
            fs.fsync(ino, false).unwrap();
            (fs.stats().unwrap() - before).device_ns
        })
        .collect();
    let did = fs.stats().unwrap() - before;
    costs.sort_unstable();
    let at = |part: usize| costs[(costs.len() - 1) * part / 1000];
    let timing = spec.timing();
    let gang = u64::from(fs.info().unwrap().gang_pages);
    let bound = timing.erase_ns + 64 * timing.program_ns * gang;
    let row = [at(500), at(990), at(999), at(1000), bound].map(|ns| format!("{:.3}", ns as f64 / 1e6));
    let programs = did.programs as f64 / blocks as f64;
    format!("| {name}, {} MiB | {} | {programs:.3} |", bytes >> 20, row.join(" | "))
}
