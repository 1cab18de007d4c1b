//! Small durable writes.

use pumice_media::{ChipSpec, NandStats};
use pumice_nandfs::FormatOptions;
use pumice_vfs::{FileSystem, Ino, RenameMode};

use crate::Figure;
use crate::chip::{create, during, formatted, formatted_as, mount, noise, spec};

pub(crate) fn figures() -> Vec<Figure> {
    let mut figures = vec![append_4k("scaleffs-256m"), append_4k("slc-2k-2g")];
    let slc = spec("slc-2k-2g", None);
    figures.extend(small("300 B append with fsync", appended(&slc, FormatOptions::default()), 1.2, 0.7));
    figures.extend(small(
        "random 4 KiB overwrite in 1 MiB with fsync",
        overwritten(&slc, FormatOptions::default()),
        2.2,
        1.1,
    ));
    figures.push(save("slc-2k-2g", 4096, 4.4));
    figures.push(save("slc-2k-2g", 300, 2.4));
    figures.push(save("scaleffs-256m", 4096, 18.0));
    figures
}

/// 4 KiB appends to a file of 32 MB, each with fsync, checkpoints in between included.
fn append_4k(chip: &str) -> Figure {
    const TURNS: u64 = 2000;
    let page = spec(chip, None).geometry().page_bytes;
    let fs = mount(formatted(chip, None));
    let ino = create(&fs, "large");
    fs.write(ino, 0, &noise(32 << 20, 1)).unwrap();
    fs.sync().unwrap();
    let did = during(&fs, || {
        for turn in 0..TURNS {
            fs.write(ino, (32 << 20) + turn * 4096, &noise(4096, turn)).unwrap();
            fs.fsync(ino, false).unwrap();
        }
    });
    let over = did.programs as f64 / TURNS as f64 - f64::from(4096 / page);
    Figure::at_most(format!("fsync of a 4 KiB append, {chip}, programs over the data"), "pages", over, 2.0)
}

/// The number of small writes that are measured on several chips.
pub(crate) const TURNS: u64 = 3000;

/// Appends of 300 bytes, each with fsync.
pub(crate) fn appended(spec: &ChipSpec, options: FormatOptions) -> NandStats {
    let fs = mount(formatted_as(spec, options));
    let ino = create(&fs, "log");
    fs.sync().unwrap();
    during(&fs, || {
        for turn in 0..TURNS {
            fs.write(ino, turn * 300, &noise(300, turn)).unwrap();
            fs.fsync(ino, false).unwrap();
        }
    })
}

/// Overwrites of 4 KiB at random in 1 MiB, each with fsync.
pub(crate) fn overwritten(spec: &ChipSpec, options: FormatOptions) -> NandStats {
    let fs = mount(formatted_as(spec, options));
    let ino = create(&fs, "table");
    fs.write(ino, 0, &noise(1 << 20, 1)).unwrap();
    fs.sync().unwrap();
    let mut rng = fastrand::Rng::with_seed(9);
    during(&fs, || {
        for turn in 0..TURNS {
            fs.write(ino, rng.u64(0..256) * 4096, &noise(4096, turn)).unwrap();
            fs.fsync(ino, false).unwrap();
        }
    })
}

fn small(name: &str, did: NandStats, programs: f64, ms: f64) -> [Figure; 2] {
    let turns = TURNS as f64;
    [
        Figure::at_most(name, "programs", did.programs as f64 / turns, programs),
        Figure::at_most("- device time", "ms", did.device_ns as f64 / 1e6 / turns, ms),
    ]
}

/// A file saved as programs do it, over the old one: create, write, fsync, rename, fsync of the directory.
fn save(chip: &str, bytes: usize, bound: f64) -> Figure {
    const TURNS: u64 = 1000;
    let fs = mount(formatted(chip, None));
    fs.sync().unwrap();
    let did = during(&fs, || {
        for turn in 0..TURNS {
            let ino = create(&fs, "document.tmp");
            fs.write(ino, 0, &noise(bytes, turn)).unwrap();
            fs.fsync(ino, false).unwrap();
            fs.rename(Ino::ROOT, b"document.tmp", Ino::ROOT, b"document", RenameMode::Replace).unwrap();
            fs.fsync(Ino::ROOT, false).unwrap();
        }
    });
    let programs = did.programs as f64 / TURNS as f64;
    Figure::at_most(format!("a file of {bytes} B saved, {chip}"), "programs", programs, bound)
}
