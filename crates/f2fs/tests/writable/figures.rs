//! What an fsync costs, by the device's own counters. `--nocapture` shows the figures.

use pumice_vfs::{FileKind, FileSystem, Ino, conformance::TestClock};

use crate::{
    crash::mount,
    power::Live,
    subject::{Shape, node, volume},
};

const OVERWRITES: usize = 500;
const FILES: usize = 200;

/// A volume with a file of `bytes`, opened, with a checkpoint made.
fn with_file(in_place: bool, bytes: usize) -> (Live, pumice_f2fs::WritableF2fs, Ino) {
    let live = Live::new(volume(256 << 20, &Shape::default(), &TestClock::new()));
    let fs = mount(&live, in_place).unwrap();
    let file = fs.create(Ino::ROOT, b"file.db", &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &vec![1; bytes]).unwrap();
    fs.sync().unwrap();
    (live, fs, file)
}

/// Blocks and flushes of overwrites at random, each followed by fdatasync.
fn overwrites(in_place: bool) -> (usize, usize) {
    const BLOCKS: u32 = 8192;
    let (live, fs, file) = with_file(in_place, 4096 * BLOCKS as usize);
    let mut random = fastrand::Rng::with_seed(1);
    let begin = live.count();
    for number in 0..OVERWRITES {
        fs.write(file, u64::from(random.u32(0..BLOCKS)) * 4096, &[number.to_le_bytes()[0]; 4096]).unwrap();
        fs.fsync(file, true).unwrap();
    }
    live.figures(begin)
}

#[test]
fn fdatasync_of_an_overwrite() {
    let (blocks, flushes) = overwrites(true);
    eprintln!("{OVERWRITES} overwrites in place: {blocks} blocks, {flushes} flushes");
    assert!(blocks <= OVERWRITES + 10 && flushes <= OVERWRITES + 1);
    let (blocks, flushes) = overwrites(false);
    eprintln!("{OVERWRITES} overwrites out of place: {blocks} blocks, {flushes} flushes");
    // One block of the SSA for each segment that was filled.
    assert!(blocks <= 2 * OVERWRITES + 2, "{blocks}");
    assert!(flushes <= OVERWRITES + 2, "{flushes}");
}

#[test]
fn fsync_of_new_files() {
    let (live, fs, _) = with_file(false, 0);
    let mut random = fastrand::Rng::with_seed(7);
    let (begin, mut data) = (live.count(), 0_usize);
    for number in 0..FILES {
        let bytes = random.usize(0..=8192);
        let file = fs.create(Ino::ROOT, format!("{number}").as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &vec![1; bytes]).unwrap();
        fs.fsync(file, false).unwrap();
        let is_inside = fs.attr(file).unwrap().allocated < 4096;
        data += if is_inside { 0 } else { bytes.div_ceil(4096) };
    }
    let (blocks, flushes) = live.figures(begin);
    eprintln!("{FILES} new files with {data} blocks of data: {blocks} blocks, {flushes} flushes");
    assert_eq!(blocks, data + FILES);
    assert!(flushes <= FILES, "{flushes}");
}
