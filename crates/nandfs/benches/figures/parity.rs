//! The cost of parity pages: one in each erase block of 64 pages.

use pumice_media::ChipSpec;
use pumice_nandfs::{FormatOptions, FsyncProtection};
use pumice_vfs::FileSystem;

use crate::Figure;
use crate::chip::{create, during, formatted_as, mount, mount_cost, noise, spec};
use crate::{cleaning, fsync, mounting, pairs};

const CHIP: &str = "slc-2k-2g";
/// Bytes of the chip to which 256 MiB are written.
const WRITTEN: u64 = 1 << 30;
/// Bytes of the chip on which cleaning is measured.
const CLEANED: u64 = 256 << 20;

fn options(parity_pages: u8) -> FormatOptions {
    FormatOptions::default().with(|it| it.parity_pages = parity_pages)
}

/// The same with copies of parity at each fsync.
fn now() -> FormatOptions {
    options(1).with(|it| it.fsync_protection = FsyncProtection::Now)
}

pub(crate) fn figures() -> Vec<Figure> {
    let chip = spec(CHIP, Some(WRITTEN));
    let name = |what: &str| format!("parity 1:64: {what}");
    let amplified = |pick: fn(&mut fastrand::Rng, u64) -> u64| {
        cleaning::amplification(77, Some(CLEANED), options(1), pick)
    };
    let at_most = |what: &str, unit, measured, bound| Figure::at_most(name(what), unit, measured, bound);
    let mut figures = vec![
        Figure::at_least(
            name("sequential write, share of the raw bandwidth"),
            "%",
            pairs::written(&chip, 1),
            97.0,
        ),
        at_most(
            "300 B append with fsync",
            "programs",
            pairs::programs(fsync::appended(&chip, options(1))),
            1.3,
        ),
        at_most(
            "4 KiB overwrite with fsync",
            "programs",
            pairs::programs(fsync::overwritten(&chip, options(1))),
            2.2,
        ),
        at_most("WAF, 77 % live, uniform", "times", amplified(cleaning::uniform), 5.0),
        at_most("- 90 % of writes to 10 %", "times", amplified(cleaning::skewed), 2.6),
        at_most("memory besides that of no parity", "KiB", fixed_kib(1) - fixed_kib(0), 16.0),
    ];
    figures.extend(mounts("parity 1:64", &options(1)));
    figures.extend(at_once(&chip));
    figures.push(quick_scrub());
    figures
}

/// Memory besides the cache while heads are open.
fn fixed_kib(parity_pages: u8) -> f64 {
    let fs = mount(formatted_as(&spec(CHIP, Some(CLEANED)), options(parity_pages)));
    for n in 0..40u64 {
        let ino = create(&fs, &format!("{n}"));
        fs.write(ino, 0, &noise(40_000, n)).unwrap();
        fs.write(ino, n * 100, &noise(10_000, n)).unwrap();
        fs.fsync(ino, false).unwrap();
    }
    fs.info().unwrap().fixed_memory_bytes as f64 / 1024.0
}

/// The further cost of protecting the promises of fsync at once.
fn at_once(chip: &ChipSpec) -> Vec<Figure> {
    let what = "parity 1:64, fsync now";
    let programs = |name: &str, did, bound| {
        Figure::at_most(format!("{what}: {name}"), "programs", pairs::programs(did), bound)
    };
    let mut figures = vec![
        programs("300 B append with fsync", fsync::appended(chip, now()), 2.3),
        programs("4 KiB overwrite with fsync", fsync::overwritten(chip, now()), 3.3),
    ];
    figures.extend(mounts(what, &now()));
    figures
}

/// The time that a quick scrub saves over a full one, as a share of the time that reading spare areas in place of pages
/// saves.
fn quick_scrub() -> Figure {
    let chip = spec(CHIP, Some(CLEANED));
    let fs = mount(formatted_as(&chip, options(1)));
    let ino = create(&fs, "large");
    fs.write(ino, 0, &noise(128 << 20, 1)).unwrap();
    let fs = mount(fs.unmount().unwrap());
    let quick = during(&fs, || drop(fs.quick_scrub(&mut |_, _| {}).unwrap()));
    let full = during(&fs, || drop(fs.scrub(&mut |_, _| {}).unwrap()));
    let timing = chip.timing();
    let ratio = timing.read_page_ns as f64 / timing.read_spare_ns as f64;
    let share = full.device_ns as f64 / quick.device_ns as f64 / ratio;
    Figure::at_least(
        "parity 1:64: quick scrub, share of the possible saving by spare reads",
        "times",
        share,
        0.95,
    )
}

fn mounts(what: &str, options: &FormatOptions) -> Vec<Figure> {
    let fs = mount(formatted_as(&spec(CHIP, None), options.clone()));
    create(&fs, "one");
    let (_, clean) = mount_cost(fs.unmount().unwrap());
    let (fs, cut) = mount_cost(mounting::cut_off("slc-2k-2g", 1 << 30, (1 << 30) / 10 * 7, options));
    let first = during(&fs, || {
        let ino = create(&fs, "first");
        fs.write(ino, 0, &[7; 4096]).unwrap();
        fs.fsync(ino, false).unwrap();
    });
    let ms = |ns: u64| ns as f64 / 1e6;
    let name = |name: &str| format!("{what}: {name}");
    vec![
        Figure::at_most(name("mount, clean"), "ms", ms(clean.device_ns), 2.0),
        Figure::at_most(name("mount after a power cut, 1 GiB 70 % full"), "ms", ms(cut.device_ns), 40.0),
        Figure::at_most(
            name("- and the first durable write"),
            "ms",
            ms(cut.device_ns + first.device_ns),
            80.0,
        ),
    ]
}
