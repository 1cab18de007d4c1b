//! The cost of keeping promises on chips with pages that share cells.

use pumice_media::{ChipSpec, NandStats, SimChip};
use pumice_nandfs::FormatOptions;
use pumice_vfs::FileSystem;

use crate::Figure;
use crate::chip::{create, during, formatted_as, mount, noise, spec};
use crate::fsync::{TURNS, appended, overwritten};

/// Data bytes of the chip on which cleaning is measured: a large one takes long to fill.
const CLEANED: u64 = 512 << 20;

pub(crate) fn figures() -> Vec<Figure> {
    // Programs for an append, for an overwrite; share of the bandwidth; write amplification.
    let bounds = [1.2, 1.4, 97.0, 3.0];
    ["mlc-8k-64g", "tlc-16k-96g"].into_iter().flat_map(|chip| rows(chip, bounds)).collect()
}

fn rows(chip: &str, [append, overwrite, sequential, amplified]: [f64; 4]) -> [Figure; 4] {
    let (spec, small) = (spec(chip, None), spec(chip, Some(CLEANED)));
    [
        Figure::at_most(
            format!("300 B append with fsync, {chip}"),
            "programs",
            programs(appended(&spec, FormatOptions::default())),
            append,
        ),
        Figure::at_most(
            format!("4 KiB overwrite with fsync, {chip}"),
            "programs",
            programs(overwritten(&spec, FormatOptions::default())),
            overwrite,
        ),
        Figure::at_least(
            format!("sequential write, {chip}, share of the raw bandwidth"),
            "%",
            written(&spec, 0),
            sequential,
        ),
        Figure::at_most(format!("WAF, 85 % of df, uniform, {chip}"), "times", cleaned(&small), amplified),
    ]
}

/// Programs for each small write.
pub(crate) fn programs(did: NandStats) -> f64 {
    did.programs as f64 / TURNS as f64
}

fn formatted(spec: &ChipSpec, parity_pages: u8) -> SimChip {
    formatted_as(spec, FormatOptions::default().with(|it| it.parity_pages = parity_pages))
}

/// Files of 4 MiB, 256 MiB in all, and a sync.
pub(crate) fn written(spec: &ChipSpec, parity_pages: u8) -> f64 {
    const FILES: u64 = 64;
    const FILE: usize = 4 << 20;
    let fs = mount(formatted(spec, parity_pages));
    let data = noise(FILE, 1);
    let did = during(&fs, || {
        for n in 0..FILES {
            let ino = create(&fs, &format!("{n}"));
            for (at, piece) in (0..).step_by(128 << 10).zip(data.chunks(128 << 10)) {
                fs.write(ino, at, piece).unwrap();
            }
        }
        fs.sync().unwrap();
    });
    let floor = FILES * (FILE as u64).div_ceil(spec.geometry().page_bytes.into());
    100.0 * floor as f64 * spec.timing().program_ns as f64 / did.device_ns as f64
}

/// Bytes programmed for each byte of steady random overwrites.
fn cleaned(spec: &ChipSpec) -> f64 {
    let fs = mount(formatted(spec, 0));
    let blocks = fs.space().unwrap().total_bytes * 85 / 100 / 4096 / 16 * 16;
    let ino = create(&fs, "data");
    let data = noise(64 << 10, 3);
    for n in 0..blocks / 16 {
        fs.write(ino, n * 16 * 4096, &data).unwrap();
    }
    let mut rng = fastrand::Rng::with_seed(7);
    let mut turns = |count: u64| {
        for _ in 0..count {
            fs.write(ino, rng.u64(0..blocks) * 4096, &data[..4096]).unwrap();
        }
    };
    turns(blocks * 4);
    let count = blocks * 2;
    let did = during(&fs, || turns(count));
    did.programs as f64 * f64::from(spec.geometry().page_bytes) / (count * 4096) as f64
}
