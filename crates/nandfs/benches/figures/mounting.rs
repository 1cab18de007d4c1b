//! Mounting: clean at every size, and after a power cut.

use pumice_media::{Nand, SimChip};
use pumice_nandfs::FormatOptions;
use pumice_vfs::FileSystem;

use crate::Figure;
use crate::chip::{create, during, formatted, formatted_with, mount, mount_cost, noise, reads};

const GIB: u64 = 1 << 30;

fn filled(bytes: u64, files: u32) -> SimChip {
    let fs = mount(formatted("scaleffs-256m", Some(bytes)));
    for n in 0..files {
        create(&fs, &format!("file number {n}"));
    }
    fs.unmount().unwrap()
}

pub(crate) fn figures() -> Vec<Figure> {
    let mut times = Vec::new();
    let mut counts = Vec::new();
    for bytes in [GIB / 4, GIB, 16 * GIB, 64 * GIB] {
        for files in [0, 1000, 100_000] {
            let (_, cost) = mount_cost(filled(bytes, files));
            times.push(cost.device_ns as f64 / 1e6);
            counts.push(reads(cost) as f64);
        }
    }
    let most = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
    let least = counts.iter().copied().fold(f64::MAX, f64::min);
    vec![
        Figure::at_most("mount, clean, 256 MiB to 64 GiB, 0 to 100,000 files", "ms", most(&times), 2.0),
        Figure::at_most("- reads of the chip, all sizes alike but for", "reads", most(&counts) - least, 4.0),
        Figure::at_most("- reads of the chip, most", "reads", most(&counts), 36.0),
    ]
}

/// A chip that loses power after many small fsyncs among other work, as late as possible before the next checkpoint.
pub(crate) fn cut_off(name: &str, bytes: u64, fill: u64, options: &FormatOptions) -> SimChip {
    let fresh = || formatted_with(name, Some(bytes), options.clone());
    let fs = mount(fresh());
    let data = noise(1 << 20, 1);
    for n in 0..fill / data.len() as u64 {
        fs.write(create(&fs, &format!("fill {n}")), 0, &data).unwrap();
    }
    fs.sync().unwrap();
    let inos: Vec<_> = (0..50).map(|n| create(&fs, &format!("busy {n}"))).collect();
    let mut worst = None;
    let mut most = 0;
    for turn in 0..400u64 {
        let ino = inos[(turn % 50) as usize];
        fs.write(ino, turn / 50 * 4096, &data[..4096]).unwrap();
        fs.fsync(ino, false).unwrap();
        fs.write(inos[(turn * 7 % 50) as usize], turn * 4096, &data[..1000]).unwrap();
        let pending = fs.info().unwrap().recovery_reads;
        if pending >= most {
            most = pending;
            worst = Some(turn);
        }
    }
    // The same again, stopped at the worst moment.
    let stop = worst.unwrap();
    drop(fs);
    let fs = mount(fresh());
    for n in 0..fill / data.len() as u64 {
        fs.write(create(&fs, &format!("fill {n}")), 0, &data).unwrap();
    }
    fs.sync().unwrap();
    let inos: Vec<_> = (0..50).map(|n| create(&fs, &format!("busy {n}"))).collect();
    for turn in 0..=stop {
        let ino = inos[(turn % 50) as usize];
        fs.write(ino, turn / 50 * 4096, &data[..4096]).unwrap();
        fs.fsync(ino, false).unwrap();
        fs.write(inos[(turn * 7 % 50) as usize], turn * 4096, &data[..1000]).unwrap();
    }
    fs.abandon().unwrap()
}

pub(crate) fn after_cut() -> Vec<Figure> {
    let (_, small) = mount_cost(cut_off("scaleffs-256m", GIB / 4, 155 << 20, &FormatOptions::default()));
    let chip = cut_off("slc-2k-2g", GIB, GIB / 10 * 7, &FormatOptions::default());
    let before = chip.stats();
    let fs = mount(chip);
    let mounted = fs.stats().unwrap() - before;
    let first = during(&fs, || {
        let ino = create(&fs, "first");
        fs.write(ino, 0, &[7; 4096]).unwrap();
        fs.fsync(ino, false).unwrap();
    });
    let ms = |ns: u64| ns as f64 / 1e6;
    vec![
        Figure::at_most("mount after a power cut, scaleffs-256m", "ms", ms(small.device_ns), 40.0),
        Figure::at_most(
            "mount and first durable write after a power cut, 1 GiB 70 % full",
            "ms",
            ms(mounted.device_ns + first.device_ns),
            30.0,
        ),
    ]
}
