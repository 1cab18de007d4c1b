//! One file, read again and again: each read disturbs the pages of its block.

use pumice_knobs::NANDFS_YEARS;
use pumice_media::{ChipSpec, ReadDisturb};
use pumice_vfs::FileSystem;

use super::bench::{BLOCK, Bench, is_long};

/// Reads of the file, of blocks that no cache holds; lost if `idle` is never called.
fn read_often(reads: u64, idle: bool) -> (Bench, Option<String>) {
    let spec = ChipSpec::named("slc-2k-2g").unwrap().with_size(16 << 20).unwrap();
    let mut bench = Bench::new(&spec, 256 << 10);
    let blocks = 128;
    let ino = bench.fill("often", blocks);
    let disturb = ReadDisturb { harmless_reads: 50_000, reads_per_flip: 1000, seed: 5 };
    bench.chip.0.lock().unwrap().faults_mut().read_disturb = Some(disturb);
    let mut bytes = vec![0; BLOCK as usize];
    for read in 0..reads {
        let block = read % blocks;
        if let Err(error) = bench.fs().read(ino, block * BLOCK, &mut bytes) {
            return (bench, Some(format!("read {read}: {error}")));
        }
        if idle && read % 2048 == 0 {
            bench.idle();
        }
        if idle && read % 100_000 == 0 {
            bench.remount();
        }
    }
    let lost = bench.first_lost(ino, blocks);
    (bench, lost)
}

#[test]
fn a_file_that_is_read_all_the_time_is_moved_in_time() {
    // It has no seed: the first part has it.
    if !NANDFS_YEARS.sample(1).takes(0) {
        return;
    }
    let reads = if is_long() { 3_000_000 } else { 250_000 };
    let (bench, lost) = read_often(reads, true);
    assert_eq!(lost, None);
    let info = bench.fs().info().unwrap();
    println!("{reads} reads: {} blocks moved", info.mended_blocks);
    assert!(info.mended_blocks > 0);
    let counts = bench.chip.0.lock().unwrap().fault_counts();
    assert_eq!(counts.uncorrectable_reads, 0);
    // Not much oftener than need be: two pages a block, each block after about 15,000 reads.
    assert!(u64::from(info.mended_blocks) < reads * 3 / 10_000, "{} blocks moved", info.mended_blocks);
    NANDFS_YEARS.ran_part(1);
}

/// The outcome of the test above if nothing was moved.
#[test]
fn without_idle_time_it_is_lost() {
    let (_, lost) = read_often(2_000_000, false);
    assert!(lost.is_some());
}
