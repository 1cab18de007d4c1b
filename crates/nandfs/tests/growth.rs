//! The cost of a call does not grow with the volume or with the contents of memory. Operations of the chip and
//! allocations are counted with 4,000 files and with sixteen times as many, on a chip of 256 MiB and on one of 4 GiB.
//! All metadata fit the cache: second reads where they do not are no growth. Host time stands in the benchmark.
//!
//! A program of its own: the allocator that counts must not serve the other tests.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

use pumice_media::{ChipSpec, SimChip};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, format};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, RenameMode, XattrMode};

const CHIP: &str = "slc-2k-2g";
const SMALL: u64 = 256 << 20;
const LARGE: u64 = 4 << 30;
const FILES: u32 = 4000;
const MORE: u32 = 16;
const CACHE: usize = 128 << 20;

type Fs = NandFs<SimChip>;

/// The cost of a call on average.
#[derive(Clone, Copy, Debug)]
struct Cost {
    chip: f64,
    allocations: f64,
}

fn mounted(bytes: u64) -> Fs {
    let spec = ChipSpec::named(CHIP).unwrap().with_size(bytes).unwrap();
    let mut chip = SimChip::new(&spec);
    format(&mut chip, &FormatOptions::default().with(|it| it.erased = true), &mut |_, _| {}).unwrap();
    let clock = Box::new(pumice_vfs::Timestamp::default);
    NandFs::mount(chip, MountOptions::new(CACHE, clock)).unwrap()
}

fn name(number: u32) -> Vec<u8> {
    format!("file number {number}").into_bytes()
}

fn create(fs: &Fs, name: &[u8]) -> Ino {
    let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    fs.create(Ino::ROOT, name, &node).unwrap().ino
}

fn find(fs: &Fs, number: u32) -> Ino {
    fs.lookup(Ino::ROOT, &name(number)).unwrap().ino
}

/// The cost of a call on each of so many files, and of the write-out that they leave, which is part of it.
fn cost(fs: &Fs, files: u32, mut call: impl FnMut(u32)) -> Cost {
    let before = fs.stats().unwrap();
    let counted = allocation_counter::measure(|| {
        (0..files).for_each(&mut call);
        fs.sync().unwrap();
    });
    let did = fs.stats().unwrap() - before;
    let chip = did.page_reads + did.spare_reads + did.programs + did.erases;
    Cost { chip: chip as f64 / f64::from(files), allocations: counted.count_total as f64 / f64::from(files) }
}

/// Each operation on all files of a directory with so many, and its cost.
fn costs(bytes: u64, files: u32) -> Vec<(&'static str, Cost)> {
    let fs = mounted(bytes);
    let created = cost(&fs, files, |number| assert!(create(&fs, &name(number)) != Ino::ROOT));
    let flushed = cost(&fs, files, |_| fs.sync().unwrap());
    let looked_up = cost(&fs, files, |number| assert!(find(&fs, number) != Ino::ROOT));
    let renamed = cost(&fs, files, |number| {
        let to = format!("renamed {number}");
        fs.rename(Ino::ROOT, &name(number), Ino::ROOT, to.as_bytes(), RenameMode::Replace).unwrap();
        fs.rename(Ino::ROOT, to.as_bytes(), Ino::ROOT, &name(number), RenameMode::Replace).unwrap();
    });
    let attribute = cost(&fs, files, |number| {
        fs.set_xattr(find(&fs, number), b"user.key", &number.to_le_bytes(), XattrMode::Either).unwrap();
    });
    let synced = cost(&fs, files, |number| {
        let ino = find(&fs, number);
        fs.write(ino, 0, &[8; 100]).unwrap();
        fs.fsync(ino, false).unwrap();
    });
    let unlinked = cost(&fs, files / 2, |number| fs.unlink(Ino::ROOT, &name(number)).unwrap());
    let mut orphans = Vec::new();
    let orphaned = cost(&fs, files / 2, |number| {
        let ino = find(&fs, files / 2 + number);
        fs.hold(ino).unwrap();
        fs.unlink(Ino::ROOT, &name(files / 2 + number)).unwrap();
        orphans.push(ino);
    });
    let released = cost(&fs, files / 2, |_| fs.release(orphans.pop().unwrap()).unwrap());
    vec![
        ("create", created),
        ("flush with nothing to do", flushed),
        ("look up", looked_up),
        ("rename there and back", renamed),
        ("attribute", attribute),
        ("write and fsync", synced),
        ("unlink", unlinked),
        ("unlink while open", orphaned),
        ("let go of it", released),
    ]
}

#[test]
fn no_call_costs_more_on_a_larger_volume() {
    let few = costs(SMALL, FILES);
    for (bytes, files) in [(SMALL, FILES * MORE), (LARGE, FILES)] {
        for ((what, cost), (_, was)) in costs(bytes, files).into_iter().zip(&few) {
            let grown = format!("{what}, {files} files on {bytes} bytes: {cost:?}, was {was:?}");
            assert!(cost.chip <= 1.5 * was.chip + 0.02, "{grown}");
            assert!(cost.allocations <= 1.5 * was.allocations + 0.5, "{grown}");
        }
    }
}
