//! Calls that fsx does not make: zero range, with and without keeping the size, and reserving beyond the end, among
//! writes, holes and cuts. Every state is compared with a copy in memory.

use std::{
    fs::{File, OpenOptions},
    io::Read,
    os::unix::fs::FileExt,
};

use pumice_knobs::CLI_FILES;

use rustix::fs::{FallocateFlags, fallocate};

use super::mounting::Bench;

const SEED: u64 = 20_260_102;
const OPERATIONS: u64 = 8_000;
/// Bytes the file may grow to, and bytes of one operation at most.
const LENGTH: u64 = 1 << 20;
const PIECE: u64 = 40_000;

/// Numbers that only depend on the seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The file, and its expected bytes.
struct Pair {
    file: File,
    copy: Vec<u8>,
}

impl Pair {
    fn write(&mut self, at: usize, data: &[u8]) {
        self.file.write_all_at(data, at as u64).unwrap();
        self.grow(at + data.len());
        self.copy[at..at + data.len()].copy_from_slice(data);
    }

    fn allocate(&mut self, flags: FallocateFlags, at: usize, length: usize) {
        fallocate(&self.file, flags, at as u64, length as u64).unwrap();
        if !flags.contains(FallocateFlags::KEEP_SIZE) {
            self.grow(at + length);
        }
        if flags.intersects(FallocateFlags::ZERO_RANGE | FallocateFlags::PUNCH_HOLE) {
            let end = self.copy.len().min(at + length);
            self.copy[at.min(end)..end].fill(0);
        }
    }

    fn cut(&mut self, length: usize) {
        self.file.set_len(length as u64).unwrap();
        self.copy.resize(length, 0);
    }

    fn grow(&mut self, length: usize) {
        self.copy.resize(self.copy.len().max(length), 0);
    }

    fn step(&mut self, random: &mut Random) {
        let at = usize::try_from(random.below(LENGTH - PIECE)).unwrap();
        let length = usize::try_from(1 + random.below(PIECE)).unwrap();
        let (zero, keep) = (FallocateFlags::ZERO_RANGE, FallocateFlags::KEEP_SIZE);
        match random.below(10) {
            0..4 => self.write(at, &vec![u8::try_from(random.below(256)).unwrap(); length]),
            4 => self.allocate(zero, at, length),
            5 => self.allocate(zero | keep, at, length),
            6 => self.allocate(FallocateFlags::PUNCH_HOLE | keep, at, length),
            7 => self.allocate(keep, at, length),
            8 => self.allocate(FallocateFlags::empty(), at, length),
            _ => self.cut(at),
        }
    }

    fn compare(&self, seed: u64, step: u64) {
        let mut got = vec![0; self.copy.len()];
        assert_eq!(
            self.file.metadata().unwrap().len(),
            self.copy.len() as u64,
            "PUMICE_SEED={seed} step {step}"
        );
        self.file.read_exact_at(&mut got, 0).unwrap();
        let differs = got.iter().zip(&self.copy).position(|(a, b)| a != b);
        assert_eq!(differs, None, "PUMICE_SEED={seed} step {step}");
    }
}

#[test]
fn zero_range_reads_as_zeros() {
    let Some(mut bench) = Bench::new("64M") else { return };
    bench.mount();
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(bench.inside("file")).unwrap();
    let mut pair = Pair { file, copy: Vec::new() };
    let (seed, operations) = (CLI_FILES.first_seed(SEED), CLI_FILES.count().unwrap_or(OPERATIONS));
    // Of 0 there would be nothing but zeros.
    let mut random = Random(seed.max(1));
    for step in 0..operations {
        pair.step(&mut random);
        if step % 20 == 0 {
            // Past the kernel's own pages every other time.
            if step % 40 == 0 {
                rustix::fs::fadvise(&pair.file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            pair.compare(seed, step);
        }
    }
    let Pair { file, copy } = pair;
    drop(file);
    bench.unmount();
    bench.check();
    bench.mount();
    let mut got = Vec::new();
    File::open(bench.inside("file")).unwrap().read_to_end(&mut got).unwrap();
    CLI_FILES.ran(seed..seed + 1, operations);
    assert!(got == copy, "PUMICE_SEED={seed}: after the mount it reads otherwise");
}
