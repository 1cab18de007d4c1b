//! The cost of an fsync, by the device's own counters. `--nocapture` shows the figures.

use std::collections::BTreeMap;

use pumice_f2fs::{InPlace, Logging, WritableF2fs, WritableOptions, read_super_block};
use pumice_knobs::F2FS_PACE;
use pumice_vfs::{Clock, FileKind, FileSystem, Ino, conformance::TestClock};

use super::{
    crash::{mount, mount_by, options, ticking},
    power::{Event, Live, Part, part},
    subject::{Shape, node, volume},
};

const OVERWRITES: usize = 500;
const FILES: usize = 200;

/// A volume with a file of `bytes`, opened, with a checkpoint made. The clock goes on whenever it is asked.
fn with_file(in_place: bool, bytes: usize) -> (Live, WritableF2fs, Ino) {
    with_file_by(ticking(), in_place, bytes)
}

fn with_file_by(clock: Clock, in_place: bool, bytes: usize) -> (Live, WritableF2fs, Ino) {
    let live = Live::new(volume(256 << 20, &Shape::default(), &TestClock::new()));
    let in_place = if in_place { InPlace::Fsync } else { InPlace::Never };
    let fs = mount_by(&live, WritableOptions { in_place, clock, ..options() }).unwrap();
    let file = fs.create(Ino::ROOT, b"file.db", &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &vec![1; bytes]).unwrap();
    fs.sync().unwrap();
    (live, fs, file)
}

/// Blocks, and flushes and blocks written through, of overwrites at random, each followed by fsync, or fdatasync.
fn overwrites(in_place: bool, data_only: bool) -> (usize, usize) {
    overwrites_by(ticking(), in_place, data_only)
}

fn overwrites_by(clock: Clock, in_place: bool, data_only: bool) -> (usize, usize) {
    const BLOCKS: u32 = 8192;
    let (live, fs, file) = with_file_by(clock, in_place, 4096 * BLOCKS as usize);
    let mut random = fastrand::Rng::with_seed(1);
    let begin = live.count();
    for number in 0..OVERWRITES {
        fs.write(file, u64::from(random.u32(0..BLOCKS)) * 4096, &[number.to_le_bytes()[0]; 4096]).unwrap();
        fs.fsync(file, data_only).unwrap();
    }
    let (blocks, flushes) = live.figures(begin);
    let is_through = |event: &&Event| matches!(event, Event::Write { through: true, .. });
    (blocks, flushes + live.log().events[begin..].iter().filter(is_through).count())
}

#[test]
fn fdatasync_of_an_overwrite() {
    let (blocks, waits) = overwrites(true, true);
    eprintln!("{OVERWRITES} overwrites in place: {blocks} blocks, {waits} flushes");
    assert!(blocks <= OVERWRITES + 10 && waits <= OVERWRITES + 1);
    let (blocks, waits) = overwrites(false, true);
    eprintln!("{OVERWRITES} overwrites out of place: {blocks} blocks, {waits} flushes and writes through");
    // One block of the SSA for each segment that was filled.
    assert!(blocks <= 2 * OVERWRITES + 2, "{blocks}");
    assert!(waits <= 2 * OVERWRITES + 2, "{waits}");
}

/// The inode that leads to a block need not wait for it where both stand as they did.
#[test]
fn fsync_of_an_overwrite_in_place() {
    let (blocks, waits) = overwrites(true, false);
    eprintln!("{OVERWRITES} overwrites in place with fsync: {blocks} blocks, {waits} flushes");
    assert!((2 * OVERWRITES..=2 * OVERWRITES + 2).contains(&blocks), "{blocks}");
    assert!(waits <= OVERWRITES + 2, "{waits}");
}

/// As long as the clock does not go on, the inode stays: the node that leads to a block is enough.
#[test]
fn fsync_of_overwrites_at_the_same_time() {
    let (blocks, waits) = overwrites_by(TestClock::new().clock(), true, false);
    eprintln!(
        "{OVERWRITES} overwrites in place with fsync, at the same time: {blocks} blocks, {waits} flushes"
    );
    assert!(blocks <= OVERWRITES + 2 && waits <= OVERWRITES + 2, "{blocks} {waits}");
    let (blocks, waits) = overwrites_by(TestClock::new().clock(), false, false);
    eprintln!("{OVERWRITES} overwrites out of place, at the same time: {blocks} blocks, {waits} flushes");
    assert!(blocks <= 2 * OVERWRITES + 4 && waits <= 2 * OVERWRITES + 4, "{blocks} {waits}");
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

/// Transactions that add a page and its head of 24 bytes to a write-ahead log, as SQLite does it, each with fdatasync.
/// The figures are blocks written by kind, flushes and blocks written through, and reads of the device.
fn transactions(in_place: bool, count: u64) -> (BTreeMap<Part, usize>, usize, u64) {
    const FRAME: u64 = 24 + 4096;
    let (live, fs, log) = with_file(in_place, 0);
    let sb = read_super_block(&live).unwrap();
    let (begin, before) = (live.count(), live.log().reads);
    for at in (0..count).map(|number| 32 + number * FRAME) {
        fs.write(log, at, &[1; 24]).unwrap();
        fs.write(log, at + 24, &[2; 4096]).unwrap();
        fs.fsync(log, true).unwrap();
    }
    let (mut parts, mut waits) = (BTreeMap::new(), 0);
    for event in &live.log().events[begin..] {
        match event {
            Event::Write { first, pages, through } => {
                waits += usize::from(*through);
                for (page, block) in pages.iter().zip(*first..) {
                    *parts.entry(part(&sb, block, page)).or_default() += 1;
                }
            }
            Event::Flush => waits += 1,
            Event::Discard { .. } => {}
        }
    }
    let reads = live.log().reads - before;
    (parts, waits, reads)
}

#[test]
fn transactions_of_a_database() {
    const COUNT: usize = 800;
    for in_place in [false, true] {
        let (parts, waits, reads) = transactions(in_place, COUNT as u64);
        eprintln!("{COUNT} transactions, in place: {in_place}: {parts:?}, {waits} flushes, {reads} reads");
        // Each ends in the block that the next begins in; a head may stand on a border.
        assert!(parts[&Part::Data] <= 2 * COUNT + 8 && parts[&Part::Nodes] <= COUNT, "{parts:?}");
        assert!(waits <= 2 * COUNT + 2, "{waits}");
        // The blocks written last are not read back.
        assert!(reads <= 10, "{reads}");
    }
}

fn ratio(blocks: usize, of: usize) -> f64 {
    f64::from(u32::try_from(blocks).unwrap()) / f64::from(u32::try_from(of).unwrap())
}

/// Blocks written for each block that is written over, at random, in a file that takes 97.5 % of a volume of 256 MiB, on a volume of
/// `bytes` bytes.
fn overwrite_costs(in_place: InPlace, bytes: u64) -> f64 {
    const WRITES: usize = 20_000;
    let room = |live: &Live| mount(live, false).unwrap().space().unwrap().free_bytes / 4096;
    let blocks = room(&Live::new(volume(256 << 20, &Shape::default(), &TestClock::new()))) * 975 / 1000;
    let live = Live::new(volume(bytes, &Shape::default(), &TestClock::new()));
    let fs = mount_by(&live, WritableOptions { in_place, ..options() }).unwrap();
    let file = fs.create(Ino::ROOT, b"file.db", &node(FileKind::File)).unwrap().ino;
    for at in (0..blocks - 64).step_by(64) {
        fs.write(file, at * 4096, &vec![0; 64 * 4096]).unwrap();
    }
    fs.sync().unwrap();
    let (mut random, mut written) = (fastrand::Rng::with_seed(3), 0);
    for number in 0..WRITES {
        live.log().events.clear();
        fs.write(file, random.u64(0..blocks - 64) * 4096, &[number.to_le_bytes()[0]; 4096]).unwrap();
        written += live.figures(0).0;
    }
    live.log().events.clear();
    fs.sync().unwrap();
    written += live.figures(0).0;
    ratio(written, WRITES)
}

#[test]
fn overwriting_a_full_volume() {
    for (name, rule) in [("in place", InPlace::Used), ("out of place", InPlace::Never)] {
        let (full, fresh) = (overwrite_costs(rule, 256 << 20), overwrite_costs(rule, 1 << 30));
        eprintln!("overwrite {name}: {full:.3} blocks each at 97.5 %, {fresh:.3} on a fresh volume of 1 GiB");
        assert!(rule == InPlace::Never || full <= 1.02 * fresh.max(1.0), "{full} {fresh}");
    }
}

/// Blocks that a file server writes: whole files of 128 KiB on average are made and removed, and others get 16 KiB more, at 94 %.
fn file_server(logging: Logging) -> (usize, usize) {
    let live = Live::new(volume(256 << 20, &Shape::default(), &TestClock::new()));
    let fs = mount_by(&live, WritableOptions { logging, ..options() }).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let space = fs.space().unwrap();
    let (most, mut files, mut number) = (space.free_bytes * 94 / 100, Vec::new(), 0_u32);
    let (mut begun, mut asked, mut written) = (false, 0, 0);
    while asked < 50_000 {
        live.log().events.clear();
        let used = space.free_bytes - fs.space().unwrap().free_bytes;
        begun |= used >= most;
        let bytes = if used >= most || begun && random.u8(0..3) == 0 {
            let (name, _) = files.swap_remove(random.usize(0..files.len()));
            fs.unlink(Ino::ROOT, format!("{name}").as_bytes()).unwrap();
            0
        } else if files.is_empty() || random.u8(0..3) > 0 {
            let (bytes, ino) = (
                random.usize(1..64) * 4096,
                fs.create(Ino::ROOT, format!("{number}").as_bytes(), &node(FileKind::File)).unwrap().ino,
            );
            fs.write(ino, 0, &vec![1; bytes]).unwrap();
            files.push((number, ino));
            number += 1;
            bytes
        } else {
            let (_, ino) = files[random.usize(0..files.len())];
            let end = fs.attr(ino).unwrap().size;
            fs.write(ino, end, &[2; 16 << 10]).unwrap();
            16 << 10
        };
        if begun {
            asked += bytes / 4096;
            written += live.figures(0).0;
        }
    }
    (asked, written)
}

#[test]
fn a_file_server_at_94_percent() {
    let ((asked, normal), (_, adaptive)) = (file_server(Logging::Normal), file_server(Logging::Adaptive));
    let times = ratio(normal, adaptive);
    eprintln!(
        "file server at 94 %, {asked} blocks of data: {normal} written by normal logging, {adaptive} by adaptive, {times:.2} times"
    );
    assert!(times >= 1.27, "{times}");
}

/// Creates a file of 16 KiB with fsync and removes the oldest, `rounds` times, where all that is used are such files: the most blocks
/// that one call wrote, and all of them.
fn most_by_one_call(bytes: u64, rounds: u32) -> (usize, usize) {
    let live = Live::new(volume(bytes, &Shape::default(), &TestClock::new()));
    let fs: WritableF2fs = mount(&live, false).unwrap();
    let space = fs.space().unwrap();
    let name = |number: u32| format!("{number}").into_bytes();
    let make = |number: u32| {
        let ino = fs.create(Ino::ROOT, &name(number), &node(FileKind::File))?.ino;
        fs.write(ino, 0, &[0; 16 << 10])?;
        Ok::<Ino, pumice_vfs::FsError>(ino)
    };
    let mut count = 0;
    while fs.space().unwrap().free_bytes > space.free_bytes * 15 / 100 {
        make(count).unwrap();
        count += 1;
        live.log().events.clear();
    }
    fs.sync().unwrap();
    live.log().events.clear();
    let (mut most, mut all) = (0, 0);
    let mut note = || {
        let (blocks, _) = live.figures(0);
        live.log().events.clear();
        most = most.max(blocks);
        all += blocks;
    };
    for number in 0..rounds {
        note();
        let ino = make(count + number).unwrap();
        note();
        fs.fsync(ino, false).unwrap();
        note();
        fs.unlink(Ino::ROOT, &name(number)).unwrap();
        note();
    }
    (most, all)
}

/// `PUMICE_F2FS_PACE=10000` takes a volume of 1 GiB and so many rounds.
#[test]
fn no_call_writes_much() {
    let rounds = u32::try_from(F2FS_PACE.number().unwrap_or(1000)).unwrap();
    let bytes = if rounds > 1000 { 1 << 30 } else { 256 << 20 };
    let (most, all) = most_by_one_call(bytes, rounds);
    eprintln!(
        "{rounds} files of 16 KiB made with fsync, the oldest removed: {all} blocks, {most} at most by one call"
    );
    // A quarter of Linux's 85 where there is room to write a checkpoint ahead.
    assert!(most <= if rounds > 1000 { 21 } else { 256 }, "{most}");
}
