//! Idle time is used: the next writes of users find clean blocks.

use pumice_media::{ChipSpec, Nand};
use pumice_vfs::FileSystem;

use super::bench::{BLOCK, Bench, content};

#[test]
fn after_idle_time_a_burst_meets_no_cleaning() {
    for chip in ["slc-2k-2g", "spinand-1g", "slc-4k-8g"] {
        let spec = ChipSpec::named(chip).unwrap().with_size(64 << 20).unwrap();
        let bench = Bench::new(&spec, 1 << 20);
        let all = bench.free_blocks();
        let used = all * 85 / 100;
        let ino = bench.fill("data", used);
        let mut rng = fastrand::Rng::with_seed(1);
        // Aged, by overwrites all over.
        let mut burst = |blocks: u64| {
            for _ in 0..blocks {
                let block = rng.u64(0..used);
                bench.fs().write(ino, block * BLOCK, &content(block)).unwrap();
            }
            bench.fs().sync().unwrap();
        };
        burst(used * 2);
        let before = bench.fs().info().unwrap().copied_pages;
        burst(all - used);
        assert!(bench.fs().info().unwrap().copied_pages > before, "{chip}: nothing to clean for");
        let began = bench.chip.stats().device_ns;
        bench.idle();
        let idle_s = (bench.chip.stats().device_ns - began) / 1_000_000_000;
        assert!(idle_s < 600, "{chip}: {idle_s} s of work for ten minutes");
        let before = (bench.fs().info().unwrap().copied_pages, bench.chip.stats());
        burst((all - used) / 10);
        let did = bench.chip.stats() - before.1;
        let copied = bench.fs().info().unwrap().copied_pages - before.0;
        println!("{chip}: idle {idle_s} s, then {did:?}");
        assert_eq!((copied, did.erases), (0, 0), "{chip}: cleaned in front");
    }
}
