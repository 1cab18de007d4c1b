//! Blocks of a chip that stand 90 to 110 erases, most of them under cold data: the bytes written before the end, and
//! the kind of the end.

use pumice_media::{BlockId, ChipSpec, Endurance, Nand};
use pumice_nandfs::NandFs;
use pumice_vfs::{Errno, FileSystem};

use super::bench::{BLOCK, Bench, content, ran, seeds};

/// Wears a chip out: 70 % of the users' space is written once, 10 % again and again.
fn wear_out(geometry: &str, seed: u64) {
    let spec = ChipSpec::parse_geometry(geometry).unwrap();
    let bench = Bench::new(&spec, 1 << 20);
    let shape = bench.chip.geometry();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut life_bytes = 0;
    {
        let mut chip = bench.chip.0.lock().unwrap();
        chip.faults_mut().endurance = Some(Endurance { erases: 110, programs_fail: false });
        for block in 0..shape.blocks {
            let before = rng.u32(0..=20);
            chip.set_erase_count(BlockId(block), before).unwrap();
            life_bytes += u64::from(110 - before) * shape.block_bytes();
        }
    }
    let all = bench.free_blocks();
    let (cold, hot) = (all * 70 / 100, all / 10);
    let still = bench.fill("cold", cold);
    let busy = bench.fill("hot", hot);
    let mut writes = 0;
    let error = loop {
        let block = rng.u64(0..hot);
        let done = bench.fs().write(busy, block * BLOCK, &content(block)).and_then(|()| match writes % 32 {
            0 => bench.fs().fsync(busy, false),
            _ => Ok(()),
        });
        match done {
            Ok(()) => writes += 1,
            Err(error) => break error,
        }
    };
    let programmed = bench.chip.stats().programs * u64::from(shape.page_bytes);
    let (wear, info) = (bench.fs().wear().unwrap(), bench.fs().info().unwrap());
    println!(
        "{geometry}, seed {seed}: {:.1} % of life, {:.1} % more writes, {} bad, {wear:?}: {error}",
        programmed as f64 / life_bytes as f64 * 100.0,
        info.levelled_pages as f64 / bench.chip.stats().programs as f64 * 100.0,
        info.bad_blocks,
    );
    // Read-only, by name; readable; unmounts; and mounts again.
    assert_eq!(error.errno(), Errno::ReadOnly);
    assert!(error.to_string().contains("worn out"), "{error}");
    let mut bytes = vec![0; BLOCK as usize];
    let read = |fs: &NandFs<_>, bytes: &mut Vec<u8>| {
        for (ino, blocks) in [(still, cold), (busy, hot)] {
            for block in 0..blocks {
                fs.read(ino, block * BLOCK, bytes).unwrap();
                assert!(*bytes == content(block));
            }
        }
    };
    read(bench.fs(), &mut bytes);
    assert!(!bench.fs().maintain().unwrap());
    bench.fs().sync().unwrap();
    let options = bench.options(false);
    let chip = bench.fs.unwrap().unmount().unwrap();
    let fs = NandFs::mount(chip, options).unwrap();
    read(&fs, &mut bytes);
    let error = fs.write(busy, 0, &bytes).unwrap_err();
    assert!(error.errno() == Errno::ReadOnly && error.to_string().contains("worn out"), "{error}");
    assert!(fs.info().unwrap().worn_out);
    fs.unmount().unwrap();
    assert!(programmed * 100 >= life_bytes * 85, "too early");
    assert!(info.levelled_pages * 1000 <= bench.chip.stats().programs * 35, "too dear");
}

#[test]
fn a_chip_lives_as_long_as_its_blocks_together() {
    for seed in seeds() {
        wear_out("2048+64:16:128", seed);
    }
    ran(&seeds());
}
