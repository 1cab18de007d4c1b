//! A full chip on the shelf: one random bit of each page is lost in a month, and ECC puts eight in 512 bytes right.

use pumice_media::{ChipSpec, Retention};
use pumice_vfs::FileSystem;

use super::bench::{Bench, MONTH_S, WEEK_S, is_long, ran, seeds};

const CHIP: &str = "slc-4k-8g";

fn full(seed: u64) -> (Bench, pumice_vfs::Ino, u64) {
    let spec = ChipSpec::named(CHIP).unwrap();
    // A small part of the chip has pages enough to lose some in two years.
    let spec = spec.with_size(if is_long() { 128 << 20 } else { 40 << 20 }).unwrap();
    let bench = Bench::new(&spec, 1 << 20);
    let law = Retention { millibits_per_month: 1000, seed };
    bench.chip.0.lock().unwrap().faults_mut().retention = Some(law);
    let blocks = bench.free_blocks();
    let ino = bench.fill("shelf", blocks);
    (bench, ino, blocks)
}

#[test]
fn a_full_chip_keeps_what_it_holds_for_ten_years() {
    let months: u64 = if is_long() { 120 } else { 30 };
    for seed in seeds() {
        let (mut bench, ino, blocks) = full(seed);
        let weeks = months * u64::from(MONTH_S) / u64::from(WEEK_S);
        for week in 1..=weeks {
            bench.pass(WEEK_S);
            bench.idle();
            if week % 8 == 0 {
                bench.remount();
            }
            if week % 26 == 0 {
                let lost = bench.first_lost(ino, blocks);
                assert_eq!(lost, None, "seed {seed}, week {week}");
            }
        }
        bench.pass(WEEK_S);
        assert_eq!(bench.first_lost(ino, blocks), None, "seed {seed}");
        let info = bench.fs().info().unwrap();
        let wear = bench.fs().wear().unwrap();
        println!("seed {seed}: {} blocks moved, wear {wear:?}", info.mended_blocks);
        assert!(u64::from(info.patrol_passes) >= weeks - 1, "{} passes in {weeks} weeks", info.patrol_passes);
        assert!(info.mended_blocks > 0 && info.corrected_bits > 0);
    }
    ran(&seeds());
}

/// The outcome of the test above without a patrol.
#[test]
fn without_a_patrol_pages_are_lost() {
    let (bench, ino, blocks) = full(0);
    bench.fs().sync().unwrap();
    bench.pass(30 * MONTH_S);
    assert!(bench.first_lost(ino, blocks).is_some());
}
