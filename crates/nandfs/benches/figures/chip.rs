//! Chips, mounts and small helpers that the figures share.

use pumice_media::{ChipSpec, Nand, NandStats, SimChip};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, format};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

pub(crate) type Fs = NandFs<SimChip>;

/// The cache that the command gives a mount when nothing else is asked for.
pub(crate) const CACHE: usize = 8 << 20;

pub(crate) fn spec(name: &str, bytes: Option<u64>) -> ChipSpec {
    let spec = ChipSpec::named(name).unwrap();
    match bytes {
        Some(bytes) => spec.with_size(bytes).unwrap(),
        None => spec,
    }
}

pub(crate) fn formatted(name: &str, bytes: Option<u64>) -> SimChip {
    formatted_with(name, bytes, FormatOptions::default())
}

pub(crate) fn formatted_with(name: &str, bytes: Option<u64>, options: FormatOptions) -> SimChip {
    formatted_as(&spec(name, bytes), options)
}

pub(crate) fn formatted_as(spec: &ChipSpec, options: FormatOptions) -> SimChip {
    let mut chip = SimChip::new(spec);
    let options = options.with(|it| {
        it.uuid = *b"figures.figures.";
        it.erased = true;
    });
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    chip
}

pub(crate) fn mount_with(chip: SimChip, cache_bytes: usize) -> Fs {
    let clock = Box::new(|| Timestamp { seconds: 1_700_000_000, nanos: 5 });
    NandFs::mount(chip, MountOptions::new(cache_bytes, clock)).unwrap()
}

pub(crate) fn mount(chip: SimChip) -> Fs {
    mount_with(chip, CACHE)
}

/// The chip's work for a mount.
pub(crate) fn mount_cost(chip: SimChip) -> (Fs, NandStats) {
    let before = chip.stats();
    let fs = mount(chip);
    let cost = fs.stats().unwrap() - before;
    (fs, cost)
}

pub(crate) fn reads(stats: NandStats) -> u64 {
    stats.page_reads + stats.spare_reads
}

pub(crate) fn create(fs: &Fs, name: &str) -> Ino {
    let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    fs.create(Ino::ROOT, name.as_bytes(), &node).unwrap().ino
}

/// Bytes that do not compress.
pub(crate) fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut data = vec![0; bytes];
    fastrand::Rng::with_seed(seed).fill(&mut data);
    data
}

/// Counts the chip's work while `work` runs.
pub(crate) fn during(fs: &Fs, work: impl FnOnce()) -> NandStats {
    let before = fs.stats().unwrap();
    work();
    fs.stats().unwrap() - before
}
