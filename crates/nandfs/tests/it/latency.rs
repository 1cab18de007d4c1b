//! The device time of one call on an aged volume: it waits neither for a whole erase block to be cleaned, nor for more
//! than one checkpoint.

use fastrand::Rng;
use pumice_media::{ChipSpec, Nand, SimChip};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, format};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

/// Bytes of a block of the file.
const BLOCK: u64 = 4096;
/// Blocks written at once while the file is filled.
const ROW: u64 = 16;

/// Overwrites 4 KiB blocks of an aged volume in random order, each with an fsync. Asserts that none costs more than an
/// erase and so many programs of a log page, nor makes more than one checkpoint.
fn play(chip: &str, mib: u64, programs: u64) {
    let spec = ChipSpec::named(chip).unwrap().with_size(mib << 20).unwrap();
    let mut sim = SimChip::new(&spec);
    let timing = sim.timing();
    format(&mut sim, &FormatOptions::default().with(|it| it.erased = true), &mut |_, _| {}).unwrap();
    let fs = NandFs::mount(sim, MountOptions::new(8 << 20, Box::new(Timestamp::default))).unwrap();
    let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    let file = fs.create(Ino::ROOT, b"data", &node).unwrap().ino;
    let blocks = fs.space().unwrap().total_bytes * 85 / 100 / BLOCK / ROW * ROW;
    let data = vec![7; (ROW * BLOCK) as usize];
    for row in 0..blocks / ROW {
        fs.write(file, row * ROW * BLOCK, &data).unwrap();
    }
    fs.sync().unwrap();
    let mut rng = Rng::with_seed(7);
    for _ in 0..blocks {
        fs.write(file, rng.u64(0..blocks) * BLOCK, &data[..BLOCK as usize]).unwrap();
    }
    fs.sync().unwrap();
    let bound = timing.erase_ns + programs * timing.program_ns * u64::from(fs.info().unwrap().gang_pages);
    let (mut most, mut cleaned) = (0, fs.info().unwrap().copied_pages);
    for _ in 0..blocks {
        let (before, first) = (fs.stats().unwrap(), fs.info().unwrap().checkpoints);
        fs.write(file, rng.u64(0..blocks) * BLOCK, &data[..BLOCK as usize]).unwrap();
        let second = fs.info().unwrap().checkpoints;
        fs.fsync(file, false).unwrap();
        let third = fs.info().unwrap().checkpoints;
        most = most.max((fs.stats().unwrap() - before).device_ns);
        assert!(second <= first + 1 && third <= second + 1, "two checkpoints in one call, {chip}");
    }
    cleaned = fs.info().unwrap().copied_pages - cleaned;
    assert!(cleaned > blocks, "{chip}: {cleaned} pages moved");
    println!("{chip}: most {most} ns of {bound}");
    assert!(most <= bound, "{chip}: an overwrite with fsync took {most} ns, E + {programs} W are {bound}");
}

#[test]
fn an_overwrite_waits_for_no_whole_block() {
    play("slc-2k-2g", 64, 64);
    play("slc-4k-8g", 64, 64);
}

#[test]
fn on_pages_that_share_cells_neither() {
    play("mlc-8k-64g", 256, 64);
}
