//! Memory of a mount, by the heap's growth: mounting and walking a volume leaves the chip's own memory as it is, so all
//! growth is the file system's.

use allocation_counter::opt_out;
use fastrand::Rng;
use pumice_media::{BlockId, Layer, Nand, NandError, PageId, ReadOutcome, SimChip};
use pumice_nandfs::{MountOptions, NandFs, cache_least};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

use crate::Figure;
use crate::chip::{create, formatted, mount, mount_with, noise};

fn filled(bytes: u64, files: u32) -> SimChip {
    let fs = mount(formatted("scaleffs-256m", Some(bytes)));
    for n in 0..files {
        create(&fs, &format!("file number {n}"));
    }
    fs.unmount().unwrap()
}

const BUDGET: usize = 1 << 20;

/// Peak growth of the heap over mount, a walk over all names with their attributes, and reads, in KiB.
fn peak(chip: SimChip, files: u32) -> f64 {
    // It is kept until the end, so that letting it go is not counted.
    let mut kept = None;
    let heap = allocation_counter::measure(|| {
        let fs = mount_with(chip, BUDGET);
        for n in 0..files {
            fs.lookup(Ino::ROOT, format!("file number {n}").as_bytes()).unwrap();
        }
        fs.readdir(Ino::ROOT, 0, &mut |_| true).unwrap();
        kept = Some(fs);
    });
    heap.bytes_max as f64 / 1024.0
}

/// All memory, cache and the rest, which alone has a bound.
fn figure(size: u64, files: u32, besides: usize, what: &str) -> Figure {
    let bound = ((BUDGET >> 10) + besides) as f64;
    let name = format!("memory with a cache budget of 1,024 KiB, {what} files");
    Figure::at_most(name, "KiB", peak(filled(size, files), files), bound)
}

pub(crate) fn figures() -> Vec<Figure> {
    vec![
        figure(256 << 20, 100_000, 128, "256 MiB, 100,000"),
        figure(64 << 30, 1_000_000, 1024, "64 GiB, 1,000,000"),
    ]
}

/// A chip whose own memory does not count.
struct Uncounted(SimChip);

impl Layer for Uncounted {
    type Chip = SimChip;
    fn behind(&self) -> &SimChip {
        &self.0
    }
    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.0
    }
    fn pass_read(
        &mut self,
        page: PageId,
        data: &mut [u8],
        spare: &mut [u8],
    ) -> Result<ReadOutcome, NandError> {
        uncounted(|| self.0.read(page, data, spare))
    }
    fn pass_read_spare(&mut self, page: PageId, spare: &mut [u8]) -> Result<ReadOutcome, NandError> {
        uncounted(|| self.0.read_spare(page, spare))
    }
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        uncounted(|| self.0.program(page, data, spare))
    }
    fn pass_erase(&mut self, block: BlockId) -> Result<(), NandError> {
        uncounted(|| self.0.erase(block))
    }
}

fn uncounted<R>(work: impl FnOnce() -> R) -> R {
    let mut done = None;
    opt_out(|| done = Some(work()));
    done.unwrap()
}

const BLOCK: u64 = 4096;

/// The heap of a mount of a small chip at the least budget: at rest, over its filling, over random overwrites with an
/// fsync each, and over new files.
pub(crate) fn least() -> Vec<String> {
    let mut chip = Some(Uncounted(formatted("slc-2k-2g", Some(16 << 20))));
    let mut kept = None;
    let mut peaks = Vec::new();
    let mut rests = 0;
    let mut measure = |what: &str, work: &mut dyn FnMut()| {
        let heap = allocation_counter::measure(work);
        peaks.push(format!("| {what} | {:.1} |", (rests + heap.bytes_max.cast_signed()) as f64 / 1024.0));
        rests += heap.bytes_current;
    };
    measure("mount", &mut || {
        let clock = Box::new(|| Timestamp { seconds: 1_700_000_000, nanos: 5 });
        let chip = chip.take().unwrap();
        let least = cache_least(&chip).unwrap();
        kept = Some(NandFs::mount(chip, MountOptions::new(least, clock)).unwrap());
    });
    let fs = kept.unwrap();
    let new = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    let blocks = fs.space().unwrap().total_bytes * 80 / 100 / BLOCK;
    let (data, mut rng, mut ino) = (noise(BLOCK as usize, 1), Rng::with_seed(7), Ino::ROOT);
    measure("a file of 80 % of df", &mut || {
        ino = fs.create(Ino::ROOT, b"data", &new).unwrap().ino;
        (0..blocks).for_each(|at| fs.write(ino, at * BLOCK, &data).unwrap());
        fs.sync().unwrap();
    });
    measure("twice as many random overwrites, every third with an fsync", &mut || {
        for turn in 0..2 * blocks {
            fs.write(ino, rng.u64(0..blocks) * BLOCK, &data).unwrap();
            if turn % 3 == 0 {
                fs.fsync(ino, false).unwrap();
            }
        }
    });
    measure("1,000 new files", &mut || {
        for number in 0..1000 {
            fs.create(Ino::ROOT, format!("file number {number}").as_bytes(), &new).unwrap();
        }
        fs.sync().unwrap();
    });
    let fixed = fs.info().unwrap().fixed_memory_bytes as f64 / 1024.0;
    let head = format!(
        "| heap, slc-2k-2g of 16 MiB, the least budget ({fixed:.1} KiB besides it, by `info`) | most, KiB |\n|---|---|"
    );
    [head].into_iter().chain(peaks).collect()
}
