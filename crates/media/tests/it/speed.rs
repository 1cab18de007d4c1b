//! The speed of simulated chips, with `--release -- --ignored --nocapture`, and the memory of their clones.

use std::time::{Duration, Instant};

use pumice_media::{BlockId, ChipFile, ChipSpec, Nand, PageId, SimChip};

const PAGES: u32 = 64 * 1024;

/// Fills a chip of 128 MiB, reads it, and erases it; returns the time of each per page or block.
fn work(chip: &mut impl Nand) -> [Duration; 3] {
    let (mut data, mut spare) = (vec![0x55; 2048], vec![0xAA; 38]);
    let timed = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let program =
        timed(&mut || (0..PAGES).for_each(|at| chip.program(PageId(at), &data, &spare).unwrap())) / PAGES;
    let read = timed(&mut || {
        (0..PAGES).for_each(|at| assert!(chip.read(PageId(at), &mut data, &mut spare).is_ok()));
    }) / PAGES;
    let erase = timed(&mut || (0..PAGES / 64).for_each(|at| chip.erase(BlockId(at)).unwrap())) / (PAGES / 64);
    [program, read, erase]
}

/// The accesses of a file system: erase a block, fill it, go on to the next.
fn write_as_log(chip: &mut impl Nand) {
    for at in 0..PAGES {
        if at % 64 == 0 {
            chip.erase(BlockId(at / 64)).unwrap();
        }
        chip.program(PageId(at), &[0x55; 2048], &[0xAA; 38]).unwrap();
    }
}

#[test]
#[ignore = "measures"]
fn figures() {
    let spec = ChipSpec::named("rcffs-128m").unwrap();
    let mut chip = SimChip::new(&spec);
    for pass in 0..2 {
        println!("memory, pass {pass}: program, read, erase {:?}", work(&mut chip));
    }
    chip.faults_mut();
    for warmth in ["fresh", "used"] {
        let start = Instant::now();
        write_as_log(&mut chip);
        println!("memory, as a log in {warmth} memory: program and 1/64 erase {:?}", start.elapsed() / PAGES);
    }
    (0..PAGES / 64).for_each(|at| chip.erase(BlockId(at)).unwrap());
    chip.faults_mut();
    println!("memory, faults armed: {:?}", work(&mut chip));
    let dir = tempfile::tempdir().unwrap();
    let mut file = ChipFile::create(dir.path().join("chip"), &spec, false).unwrap();
    for pass in 0..2 {
        println!("file, pass {pass}: {:?}", work(&mut file));
    }
    let big = ChipSpec::named("slc-2k-2g").unwrap().with_size(1 << 40).unwrap();
    let start = Instant::now();
    let big = SimChip::new(&big);
    println!("make 1 TiB: {:?}", start.elapsed());
    let start = Instant::now();
    drop(big.clone());
    println!("clone 1 TiB: {:?}", start.elapsed());
}

/// The memory that the process has at the moment, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// Twenty copies would be 2.7 GB; other tests of this program, which run beside this one, take a hundredth.
#[test]
fn clones_cost_pointers_not_pages() {
    let spec = ChipSpec::named("rcffs-128m").unwrap();
    let mut chip = SimChip::new(&spec);
    for at in 0..PAGES {
        chip.program(PageId(at), &[0x55; 2048], &[0xAA; 38]).unwrap();
    }
    let before = resident();
    let clones = vec![chip; 21];
    let more = resident().saturating_sub(before);
    drop(clones);
    assert!(more < 1 << 30, "20 clones of 128 MiB took {more} bytes");
}
