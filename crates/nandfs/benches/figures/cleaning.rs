//! Write amplification of steady random 4 KiB overwrites, with live data a given share of the whole chip.

use fastrand::Rng;
use pumice_nandfs::FormatOptions;
use pumice_vfs::FileSystem;

use crate::Figure;
use crate::chip::{create, during, formatted_with, mount, noise, spec};

const CHIP: &str = "slc-2k-2g";

pub(crate) fn figures() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (share, bound) in [(66, 2.1), (77, 2.9), (87, 5.0)] {
        figures.push(Figure::at_most(
            format!("WAF, {share} % live, uniform"),
            "times",
            amplification(share, None, FormatOptions::default(), uniform),
            bound,
        ));
    }
    for (share, bound) in [(66, 1.7), (77, 2.2), (87, 3.4)] {
        figures.push(Figure::at_most(
            format!("WAF, {share} % live, 90 % of writes to 10 %"),
            "times",
            amplification(share, None, FormatOptions::default(), skewed),
            bound,
        ));
    }
    figures
}

pub(crate) fn uniform(rng: &mut Rng, blocks: u64) -> u64 {
    rng.u64(0..blocks)
}

/// Nine of ten writes go to a tenth of the blocks.
pub(crate) fn skewed(rng: &mut Rng, blocks: u64) -> u64 {
    let hot = blocks / 10;
    if rng.u32(0..10) < 9 { rng.u64(0..hot) } else { rng.u64(hot..blocks) }
}

/// Write amplification under rules of cleaning, the usual ones first.
pub(crate) fn policies() -> Vec<String> {
    let bytes = Some(64 << 20);
    let victims = ["root-age", "greedy", "cost-benefit", "cat", "cost-hotness"];
    let placements = ["sepbit:3", "m1", "static", "chain:3", "sepbit:6", "dac:6", "adaptive"];
    let pairs = placements.iter().map(|placement| ("root-age", *placement));
    let pairs = pairs.chain(victims.iter().skip(1).map(|victim| (*victim, "sepbit:3")));
    let pairs = pairs.chain([("declining-cost", "adaptive")]);
    let head = format!("| {CHIP} of 64 MiB, 85 % live | uniform | 90/10 |\n|---|---|---|");
    let rows = pairs.map(|(victim, placement)| {
        let measure = |pick: fn(&mut Rng, u64) -> u64| {
            let victim = Some(victim.parse().unwrap());
            let placement = Some(placement.parse().unwrap());
            amplification(
                85,
                bytes,
                FormatOptions::default().with(|it| {
                    it.victim = victim;
                    it.placement = placement;
                }),
                pick,
            )
        };
        let [even, hot] = [uniform, skewed].map(measure);
        format!("| victim {victim}, placement {placement} | {even:.3} | {hot:.3} |")
    });
    [head].into_iter().chain(rows).collect()
}

pub(crate) fn amplification(
    share: u64,
    bytes: Option<u64>,
    options: FormatOptions,
    pick: impl Fn(&mut Rng, u64) -> u64,
) -> f64 {
    let geometry = spec(CHIP, bytes).geometry();
    let blocks = geometry.capacity_bytes() * share / 100 / 4096;
    let fs = mount(formatted_with(CHIP, bytes, options));
    let ino = create(&fs, "data");
    let data = noise(64 << 10, 3);
    for n in 0..blocks / 16 {
        fs.write(ino, n * 16 * 4096, &data).unwrap();
    }
    let blocks = blocks / 16 * 16;
    let mut rng = Rng::with_seed(7);
    let mut turns = |count: u64| {
        for _ in 0..count {
            fs.write(ino, pick(&mut rng, blocks) * 4096, &data[..4096]).unwrap();
        }
    };
    turns(blocks * 6);
    let count = blocks * 3;
    let did = during(&fs, || turns(count));
    did.programs as f64 * f64::from(geometry.page_bytes) / (count * 4096) as f64
}
