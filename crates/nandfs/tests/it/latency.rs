//! The device time of one call on an aged volume: it waits neither for a whole erase block to be cleaned, nor for more
//! than one checkpoint.

use fastrand::Rng;
use pumice_media::{ChipSpec, SimChip, Timing};
use pumice_nandfs::{FormatOptions, MountOptions, NandFs, format};
use pumice_vfs::{FileKind, FileSystem, Ino, NewNode, Timestamp};

/// Bytes of a block of the file.
const BLOCK: u64 = 4096;
/// Blocks written at once while the file is filled.
const ROW: u64 = 16;

fn mounted(sim: SimChip) -> NandFs<SimChip> {
    NandFs::mount(sim, MountOptions::new(8 << 20, Box::new(Timestamp::default))).unwrap()
}

fn create(fs: &NandFs<SimChip>, name: &[u8]) -> Ino {
    let node = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
    fs.create(Ino::ROOT, name, &node).unwrap().ino
}

fn formatted(chip: &str, mib: u64) -> NandFs<SimChip> {
    let mut sim = SimChip::new(&ChipSpec::named(chip).unwrap().with_size(mib << 20).unwrap());
    format(&mut sim, &FormatOptions::default().with(|it| it.erased = true), &mut |_, _| {}).unwrap();
    mounted(sim)
}

fn timing(chip: &str) -> Timing {
    ChipSpec::named(chip).unwrap().timing()
}

/// A volume with a file to 85 % of its space, each block of which was written once more, at random; the file, and its
/// blocks.
fn aged(chip: &str, mib: u64) -> (NandFs<SimChip>, Ino, u64, Rng) {
    let fs = formatted(chip, mib);
    let file = create(&fs, b"data");
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
    (fs, file, blocks, rng)
}

/// Overwrites 4 KiB blocks of an aged volume in random order, each with an fsync. Asserts that none costs more than an
/// erase and so many programs of a log page, nor makes more than one checkpoint.
fn play(chip: &str, mib: u64, programs: u64) {
    let (fs, file, blocks, mut rng) = aged(chip, mib);
    let (timing, data) = (timing(chip), vec![7; BLOCK as usize]);
    let bound = timing.erase_ns + programs * timing.program_ns * u64::from(fs.info().unwrap().gang_pages);
    let (mut most, mut cleaned) = (0, fs.info().unwrap().copied_pages);
    for _ in 0..blocks {
        let (before, first) = (fs.stats().unwrap(), fs.info().unwrap().checkpoints);
        fs.write(file, rng.u64(0..blocks) * BLOCK, &data).unwrap();
        let second = fs.info().unwrap().checkpoints;
        fs.fsync(file, false).unwrap();
        let third = fs.info().unwrap().checkpoints;
        most = most.max((fs.stats().unwrap() - before).device_ns);
        assert!(second <= first + 1 && third <= second + 1, "two checkpoints in one call, {chip}");
    }
    cleaned = fs.info().unwrap().copied_pages - cleaned;
    // As many pages as blocks; of pages of 16 KiB half as many.
    let page = u64::from(ChipSpec::named(chip).unwrap().geometry().page_bytes);
    assert!(cleaned * page > blocks * page.min(2 * BLOCK), "{chip}: {cleaned} pages moved");
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

/// Appends with an fsync to a new file of a volume that was closed.
#[test]
fn appends_after_a_mount_erase_nothing() {
    let fs = mounted(formatted("slc-2k-2g", 64).unmount().unwrap());
    let file = create(&fs, b"log");
    let before = fs.stats().unwrap();
    for turn in 0..500 {
        fs.write(file, turn * 300, &[7; 300]).unwrap();
        fs.fsync(file, false).unwrap();
    }
    assert_eq!((fs.stats().unwrap() - before).erases, 0);
}

/// The first write with an fsync after a mount of an aged volume, clean and after a cut. Asserts that it takes no more
/// than two erases and eight programs of a log page.
fn play_first(chip: &str, mib: u64) {
    let (fs, file, ..) = aged(chip, mib);
    let gang = u64::from(fs.info().unwrap().gang_pages);
    fs.write(file, 0, &[8; 300]).unwrap();
    fs.fsync(file, false).unwrap();
    let mut sim = fs.abandon().unwrap();
    for (turn, after) in ["a cut", "a clean end", "a clean end"].into_iter().enumerate() {
        let fs = mounted(sim);
        let before = fs.stats().unwrap();
        fs.write(file, 8000 * turn as u64, &[9; 300]).unwrap();
        fs.fsync(file, false).unwrap();
        let did = fs.stats().unwrap() - before;
        assert!(did.erases <= 2 && did.programs <= 8 * gang, "{chip}, after {after}: {did:?}");
        sim = fs.unmount().unwrap();
    }
}

#[test]
fn the_first_write_after_a_mount_takes_two_erases_at_the_most() {
    play_first("slc-2k-2g", 64);
    play_first("spinand-1g", 64);
    play_first("slc-4k-8g", 64);
    play_first("mlc-8k-64g", 256);
}

#[test]
fn nor_for_a_whole_block_of_cold_data() {
    play("tlc-16k-96g", 1024, 64);
}
