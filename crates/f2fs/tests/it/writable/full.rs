//! Full volumes: all of the users' room can be filled and written over for ever, and calls that give room back never
//! fail for want of it.
//!
//! `PUMICE_F2FS_FULL=N` runs N sequences on each sort of volume instead of one.

mod linux;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use pumice_f2fs::{
    F2fs, IdleCleaning, InPlace, Logging, MountOptions, Streams, Volume, WritableF2fs, WritableOptions,
    check::{Code, check},
    crc,
    crypt::Keyring,
    read_super_block,
};
use pumice_knobs::{F2FS_CLEANING_FAULTS, F2FS_NEARLY_FULL};
use pumice_vfs::{
    Clock, Errno, FileKind, FileSystem, Ino, RenameMode, SetAttr, SpaceMode, Timestamp,
    conformance::TestClock,
};

use super::{
    compressed::{SHAPE, rule},
    crash::{mount_by, nearly_full, options},
    power::{Event, Live},
    subject::{Shape, filled, node, ours, sound, volume},
};

const BLOCK: usize = 4096;

/// The contents of each block of each file: 0 is a hole.
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Full {
    live: Live,
    how: fn() -> WritableOptions,
    fs: Option<WritableF2fs>,
    model: Model,
    random: fastrand::Rng,
}

impl Full {
    fn new(bytes: u64, shape: &Shape, how: fn() -> WritableOptions, seed: u64) -> Full {
        let live = Live::new(volume(bytes, shape, &TestClock::new()));
        let fs = Some(mount_by(&live, how()).unwrap());
        Full { live, how, fs, model: Model::new(), random: fastrand::Rng::with_seed(seed) }
    }

    fn fs(&self) -> &WritableF2fs {
        self.fs.as_ref().unwrap()
    }

    fn ino(&self, name: &[u8]) -> Ino {
        self.fs().lookup(Ino::ROOT, name).unwrap().ino
    }

    /// Writes `count` blocks from `at` on; false if there is no room, and it makes no difference then.
    fn write(&mut self, name: &[u8], at: usize, count: usize) -> bool {
        let byte = self.random.u8(1..);
        let bytes = vec![byte; count * BLOCK];
        match self.fs().write(self.ino(name), (at * BLOCK) as u64, &bytes) {
            Ok(()) => {
                let blocks = self.model.get_mut(name).unwrap();
                blocks.resize(blocks.len().max(at + count), 0);
                blocks[at..at + count].fill(byte);
                true
            }
            Err(error) => {
                assert_eq!(error.errno(), Errno::NoSpace, "{error}");
                let there = self.model[name].get(at..at + count);
                assert!(there.is_none_or(|there| there.contains(&0)), "no room to write over what is there");
                false
            }
        }
    }

    fn create(&mut self, name: &[u8]) -> bool {
        let made = self.fs().create(Ino::ROOT, name, &node(FileKind::File));
        match made {
            Ok(_) => self.model.insert(name.to_vec(), Vec::new()).is_none(),
            Err(error) => {
                assert_eq!(error.errno(), Errno::NoSpace, "{error}");
                false
            }
        }
    }

    /// Fills the volume to the last block that it is said to have, but for those that a call counts for the nodes that it may need.
    fn fill(&mut self) {
        let mut number = 0_u32;
        loop {
            let name = format!("{number}").into_bytes();
            number += 1;
            if !self.model.contains_key(&name) && !self.create(&name) {
                break;
            }
            let (most, at) = (self.random.usize(1..200), self.model[&name].len());
            if !(0..most).all(|ahead| self.write(&name, at + ahead, 1)) {
                break;
            }
        }
        self.fill_with_names();
    }

    /// Takes the last blocks by files without content, until none is said to be free.
    fn fill_with_names(&mut self) {
        let mut refused = 0;
        for number in 0_u32.. {
            let name = format!("name {number}").into_bytes();
            // Only a place in the directory may be lacking, for some names.
            refused = if self.model.contains_key(&name) || self.create(&name) { 0 } else { refused + 1 };
            if self.free() == 0 || refused > 64 {
                break;
            }
        }
        assert_eq!(self.free(), 0, "blocks are said to be free and cannot be had");
    }

    fn free(&self) -> u64 {
        self.fs().space().unwrap().free_bytes / BLOCK as u64
    }

    /// Renames a file; false if there is no place for the name.
    fn rename(&mut self, name: &[u8], to: &[u8]) -> bool {
        match self.fs().rename(Ino::ROOT, name, Ino::ROOT, to, RenameMode::Replace) {
            Ok(()) => {
                let blocks = self.model.remove(name).unwrap();
                self.model.insert(to.to_vec(), blocks);
                true
            }
            Err(error) => {
                assert_eq!(error.errno(), Errno::NoSpace, "{error}");
                false
            }
        }
    }

    fn some(&mut self) -> Vec<u8> {
        let at = self.random.usize(0..self.model.len());
        self.model.keys().nth(at).unwrap().clone()
    }

    /// One call, drawn so that the volume stays full.
    fn step(&mut self) {
        let name = self.some();
        let (ino, length) = (self.ino(&name), self.model[&name].len());
        match self.random.u8(0..32) {
            0 => {
                self.fs().unlink(Ino::ROOT, &name).unwrap();
                self.model.remove(&name);
                let again = format!("again {}", self.random.u32(0..1000)).into_bytes();
                if !self.model.contains_key(&again) && self.create(&again) {
                    self.write(&again, 0, length.max(1));
                }
            }
            1 => {
                let left = self.random.usize(0..=length);
                let size = Some((left * BLOCK) as u64);
                self.fs().set_attr(ino, &SetAttr { size, ..SetAttr::default() }).unwrap();
                self.model.get_mut(&name).unwrap().truncate(left);
                self.write(&name, left, (length - left).max(1));
            }
            2 => {
                let data_only = self.random.bool();
                self.fs().fsync(ino, data_only).unwrap();
            }
            3 if self.random.u8(0..8) == 0 => self.fs().sync().unwrap(),
            4 => drop(self.write(&name, length, 1)),
            5 => {
                self.fs().maintain().unwrap();
            }
            6 => {
                let to = format!("moved {}", self.random.u32(0..1000)).into_bytes();
                if !self.model.contains_key(&to) {
                    self.rename(&name, &to);
                }
            }
            _ if length > 0 => {
                let at = self.random.usize(0..length);
                let count = self.random.usize(1..=8).min(length - at);
                self.write(&name, at, count);
            }
            _ => {}
        }
    }

    /// Free segments, and all of them.
    fn free_segments(&self) -> (u32, u32) {
        self.fs().sync().unwrap();
        let volume = Volume::open(vec![Box::new(self.live.clone())], 1 << 20).unwrap();
        (volume.checkpoint().raw().free_segment_count.get(), volume.super_block().main_segments())
    }

    fn remount(&mut self) {
        self.fs.take().unwrap().unmount().unwrap();
        sound(&self.live);
        self.live.log().events.clear();
        self.fs = Some(mount_by(&self.live, (self.how)()).unwrap());
        self.compare();
    }

    fn compare(&self) {
        let mut names = Vec::new();
        let keep = &mut |entry: pumice_vfs::DirEntry<'_>| {
            names.push(entry.name.to_vec());
            true
        };
        self.fs().readdir(Ino::ROOT, 0, keep).unwrap();
        names.sort();
        assert!(names.iter().eq(self.model.keys()));
        for (name, blocks) in &self.model {
            let mut bytes = vec![0; blocks.len() * BLOCK];
            assert_eq!(self.fs().read(self.ino(name), 0, &mut bytes).unwrap(), bytes.len());
            let wrong = bytes
                .chunks(BLOCK)
                .zip(blocks)
                .position(|(chunk, byte)| chunk.iter().any(|found| found != byte));
            assert_eq!(wrong, None, "{}", name.escape_ascii());
        }
    }
}

/// The device is told of whole segments, and not before the checkpoint that frees them outlives a power cut.
#[test]
fn what_is_freed_is_discarded_by_segment() {
    let mut full = Full::new(64 << 20, &Shape::default(), options, 1);
    full.create(b"large");
    full.write(b"large", 0, 3000);
    full.fs().sync().unwrap();
    full.fs().unlink(Ino::ROOT, b"large").unwrap();
    full.model.clear();
    full.live.log().events.clear();
    full.fs().sync().unwrap();
    let events = full.live.log().events.clone();
    let is_discard = |event: &Event| matches!(event, Event::Discard { .. });
    let first = events.iter().position(is_discard).unwrap();
    assert!(matches!(events[first - 1], Event::Flush) && events[first..].iter().all(is_discard));
    let main = usize::try_from(read_super_block(&full.live).unwrap().main_start().0).unwrap();
    let whole = |event: &Event| match event {
        Event::Discard { first, count } => {
            assert!((first - main).is_multiple_of(512) && count.is_multiple_of(512), "{first} {count}");
            *count
        }
        _ => 0,
    };
    let freed: usize = events.iter().map(whole).sum();
    assert!((4 * 512..=3000).contains(&freed), "{freed} blocks");
    full.remount();
}

/// Files that mkfs left in one piece each, as their inodes say, are moved by the cleaner: the kernel would believe an
/// extent that is not there any more.
#[test]
fn what_is_moved_is_in_no_extent() {
    const FILES: u32 = 80;
    let live = Live::new(filled(96 << 20, FILES, 400 << 10));
    let fs = mount_by(&live, WritableOptions { logging: Logging::Normal, ..options() }).unwrap();
    for number in (0..FILES).filter(|number| number % 3 > 0) {
        fs.unlink(Ino::ROOT, number.to_string().as_bytes()).unwrap();
    }
    let ballast = fs.create(Ino::ROOT, b"ballast", &node(FileKind::File)).unwrap().ino;
    let blocks = fs.space().unwrap().free_bytes / BLOCK as u64 * 9 / 10;
    (0..blocks).for_each(|at| fs.write(ballast, at * BLOCK as u64, &[1; BLOCK]).unwrap());
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..blocks {
        fs.write(ballast, random.u64(0..blocks) * BLOCK as u64, &[random.u8(1..); BLOCK]).unwrap();
    }
    fs.unmount().unwrap();
    sound(&live);
    let reader = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(live.clone())], reader).unwrap();
    let mut moved = 0;
    for number in (0..FILES).step_by(3) {
        let ino = fs.lookup(Ino::ROOT, number.to_string().as_bytes()).unwrap().ino;
        moved += usize::from(fs.inode(ino).unwrap().0.extent.blocks == 0);
        let mut bytes = vec![0; 400 << 10];
        assert_eq!(fs.read(ino, 0, &mut bytes).unwrap(), bytes.len());
        assert!(bytes.iter().all(|byte| *byte == 7), "{number}");
    }
    assert!(moved > 5, "{moved} were moved");
}

/// Idle, a volume gets free segments again, in small steps; its contents stay.
#[test]
fn an_idle_volume_is_cleaned() {
    let how = || WritableOptions { logging: Logging::Normal, ..options() };
    let mut full = Full::new(256 << 20, &Shape::default(), how, 1);
    full.create(b"large");
    let blocks = usize::try_from(full.fs().space().unwrap().free_bytes).unwrap() / BLOCK * 3 / 4;
    for at in (0..blocks - 64).step_by(64) {
        full.write(b"large", at, 64);
    }
    for _ in 0..blocks {
        let at = full.random.usize(0..blocks - 64);
        full.write(b"large", at, 1);
    }
    full.fs().sync().unwrap();
    let before = full.free_segments();
    let mut steps = 0;
    loop {
        full.live.log().events.clear();
        let more = full.fs().maintain().unwrap();
        let (written, _) = full.live.figures(0);
        // Blocks go to the medium in pieces of 256, and a checkpoint has some of its own.
        assert!(written <= 512, "{written} blocks by one step");
        if !more {
            break;
        }
        steps += 1;
        assert!(steps < 10_000, "there is always more to do");
    }
    let (free, all) = full.free_segments();
    assert!(before.0 < all / 10 && free >= all / 10, "{free} free segments of {all}, {} before", before.0);
    full.remount();
}

/// Cleaning by age threshold waits for sections a week older than the youngest, though cost and benefit speak for one.
#[test]
fn idle_cleaning_by_age_waits_for_a_week() {
    const DAY: i64 = 24 * 3600;
    let cleaned_after = |idle_cleaning: Option<IdleCleaning>, age: i64| {
        let today = Arc::new(AtomicI64::new(0));
        let live = Live::new(volume(256 << 20, &Shape::default(), &TestClock::new()));
        let days = today.clone();
        let clock: Clock =
            Box::new(move || Timestamp { seconds: (20_000 + days.load(Relaxed)) * DAY, nanos: 0 });
        let how = WritableOptions { logging: Logging::Normal, idle_cleaning, clock, ..options() };
        let fs = mount_by(&live, how).unwrap();
        let free = || {
            fs.sync().unwrap();
            let volume = Volume::open(vec![Box::new(live.clone())], 1 << 20).unwrap();
            (volume.checkpoint().raw().free_segment_count.get(), volume.super_block().main_segments())
        };
        let pass = |days: i64| {
            today.fetch_add(days, Relaxed);
            while fs.maintain().unwrap() {}
        };
        // The volume is old enough for the rule.
        pass(10);
        let old = fs.create(Ino::ROOT, b"old", &node(FileKind::File)).unwrap().ino;
        let block = BLOCK as u64;
        (0..30 * 512).for_each(|at| fs.write(old, at * block, &[1; BLOCK]).unwrap());
        fs.sync().unwrap();
        for at in (0..30 * 512).step_by(4) {
            fs.allocate(old, SpaceMode::PunchHole, at * block, block).unwrap();
        }
        fs.sync().unwrap();
        pass(age);
        let young = fs.create(Ino::ROOT, b"young", &node(FileKind::File)).unwrap().ino;
        let mut at = 0;
        let short = loop {
            (0..128).for_each(|ahead| fs.write(young, (at + ahead) * block, &[2; BLOCK]).unwrap());
            at += 128;
            let (free, all) = free();
            if free < all / 10 {
                break free;
            }
        };
        pass(0);
        let (free, _) = free();
        fs.unmount().unwrap();
        ours(&live);
        free > short
    };
    assert!(cleaned_after(Some(IdleCleaning::CostBenefit), 3));
    assert!(!cleaned_after(Some(IdleCleaning::AgeThreshold), 3));
    assert!(cleaned_after(Some(IdleCleaning::AgeThreshold), 8));
    assert!(!cleaned_after(None, 8), "nothing is to be cleaned in idle time");
}

/// A read fails while a section is cleaned, or the call that needs room: nothing that was promised is lost.
#[test]
fn a_failed_read_while_cleaning_loses_nothing() {
    let base = nearly_full(1, 72 << 20, 80);
    let how = || WritableOptions { logging: Logging::Normal, cache_bytes: 0, ..options() };
    let work = |live: &Live| {
        let fs = mount_by(live, how()).unwrap();
        let ballast = fs.lookup(Ino::ROOT, b"ballast").unwrap();
        let (mut random, mut blocks) = (fastrand::Rng::with_seed(1), BTreeMap::new());
        let first = live.log().reads;
        for number in 0..60_u8 {
            let at = random.u64(0..ballast.size / 4096 - 40);
            let done = fs.write(ballast.ino, at * 4096, &vec![number; 40 * BLOCK]).and_then(|()| {
                blocks.extend((at..at + 40).map(|at| (at, number)));
                if number % 10 == 9 { fs.fsync(ballast.ino, true) } else { Ok(()) }
            });
            if let Err(error) = done {
                assert!([Errno::Io, Errno::ReadOnly].contains(&error.errno()), "{error}");
            }
        }
        let last = live.log().reads;
        live.log().bad_read = None;
        // Written bytes are shown, whether or not they can be kept.
        let mut bytes = vec![0; BLOCK];
        for (at, number) in blocks {
            fs.read(ballast.ino, at * 4096, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == number), "block {at}");
        }
        drop(fs);
        first..last
    };
    let span = work(&Live::new(base.clone()));
    let (count, seed) = (F2FS_CLEANING_FAULTS.count().unwrap_or(12), F2FS_CLEANING_FAULTS.first_seed(1));
    let mut random = fastrand::Rng::with_seed(seed);
    F2FS_CLEANING_FAULTS.begin(seed);
    for _ in 0..count {
        let bad = random.u64(span.clone());
        let live = Live::new(base.clone());
        live.log().bad_read = Some(bad);
        work(&live);
        let report = check(vec![Box::new(live.clone())], 1, &mut |_, _| ()).unwrap();
        // The reason why writing stopped is told.
        assert!(report.findings.iter().all(|found| found.code == Code::SuperBlockErrors), "{report:?}");
        let fs = mount_by(&live, how()).unwrap();
        let ballast = fs.lookup(Ino::ROOT, b"ballast").unwrap();
        assert_eq!(
            fs.read(ballast.ino, 0, &mut vec![0; usize::try_from(ballast.size).unwrap()]).unwrap() as u64,
            ballast.size
        );
    }
    F2FS_CLEANING_FAULTS.ran(seed..seed + 1, count);
}

/// A write fails while sections are cleaned, by a call that needs room or in idle time. Nothing more is written, the
/// files are shown, and the next mount finds the file as it was behind one of the calls since the last fsync.
#[test]
fn a_failed_write_while_cleaning_loses_nothing() {
    const CALLS: usize = 60;
    let base = nearly_full(2, 128 << 20, 80);
    let how = || WritableOptions { logging: Logging::Normal, discard: false, ..options() };
    let bytes = |fs: &dyn FileSystem| {
        let ballast = fs.lookup(Ino::ROOT, b"ballast").unwrap();
        let mut bytes = vec![0; usize::try_from(ballast.size).unwrap()];
        assert_eq!(fs.read(ballast.ino, 0, &mut bytes).unwrap(), bytes.len());
        bytes
    };
    // The state of the file behind each call, and how many of these are older than the last fsync.
    let work = |live: &Live, bad: Option<u64>| {
        let fs = mount_by(live, how()).unwrap();
        live.log().events.clear();
        live.log().fail_writes_from(bad);
        let ballast = fs.lookup(Ino::ROOT, b"ballast").unwrap();
        let (mut now, mut random) = (bytes(&fs), fastrand::Rng::with_seed(1));
        let (mut ends, mut promised, mut idle) = (vec![crc::checksum(&now)], 0, 0);
        let mut call = |number: usize| {
            let at = random.usize(0..now.len() / BLOCK - 40) * BLOCK;
            let piece = vec![u8::try_from(number).unwrap(); 40 * BLOCK];
            fs.write(ballast.ino, at as u64, &piece)?;
            now[at..at + piece.len()].copy_from_slice(&piece);
            ends.push(crc::checksum(&now));
            idle += usize::from(fs.maintain()?) + usize::from(fs.maintain()?);
            if number % 10 == 9 {
                fs.fsync(ballast.ino, true)?;
                promised = number + 1;
            }
            Ok::<(), pumice_vfs::FsError>(())
        };
        let failed = (0..CALLS).find_map(|number| call(number).err());
        assert!(failed.is_none_or(|error| error.errno() == Errno::Io), "another error");
        assert_eq!(crc::checksum(&bytes(&fs)), *ends.last().unwrap());
        (fs, ends, promised, idle)
    };
    let (count, seed) = (F2FS_CLEANING_FAULTS.count().unwrap_or(6), F2FS_CLEANING_FAULTS.first_seed(1));
    let (fault_free, mut random) = (Live::new(base.clone()), fastrand::Rng::with_seed(seed));
    F2FS_CLEANING_FAULTS.begin(seed);
    let (_, _, promised, idle) = work(&fault_free, None);
    assert!(promised == CALLS && idle > 0, "{idle} idle steps");
    for _ in 0..count {
        let bad = random.usize(0..fault_free.count());
        let live = Live::new(base.clone());
        let (fs, ends, promised, _) = work(&live, Some(bad as u64));
        live.log().fail_writes_from(None);
        let ballast = fs.lookup(Ino::ROOT, b"ballast").unwrap().ino;
        for refused in [fs.write(ballast, 0, &[1]), fs.fsync(ballast, false), fs.sync()] {
            assert_eq!(refused.unwrap_err().errno(), Errno::ReadOnly, "write {bad}");
        }
        assert!(
            !fs.maintain().unwrap() && live.count() == bad,
            "write {bad}: something was written behind it"
        );
        drop(fs);
        ours(&live);
        let left = crc::checksum(&bytes(&mount_by(&live, how()).unwrap()));
        assert!(ends[promised..].contains(&left), "write {bad}: the file is as it never was since its fsync");
    }
    F2FS_CLEANING_FAULTS.ran(seed..seed + 1, count);
}

/// Names move and go, files are cut and written over, on a volume without a free block, as in Linux; a power cut behind all of
/// that loses nothing.
fn exercise_names(mut full: Full) {
    full.fill_with_names();
    full.fs().sync().unwrap();
    let names: Vec<Vec<u8>> = full.model.keys().cloned().collect();
    let moved = names.iter().take(60).filter(|name| {
        let to = [b"moved ", name.as_slice()].concat();
        full.rename(name, &to)
    });
    let (moved, all) = (moved.count(), names.len().min(60));
    assert_eq!(moved, all, "renames of {} files", names.len());
    // A new name for the first file takes no block where the directory has a place.
    let first = full.ino(full.model.keys().next().unwrap());
    let mut links: Vec<String> = (0..60).map(|at| format!("link {at}")).collect();
    links.retain(|name| full.fs().link(first, Ino::ROOT, name.as_bytes()).is_ok());
    assert!(links.len() > 40, "{links:?}");
    for name in &links {
        full.fs().unlink(Ino::ROOT, name.as_bytes()).unwrap();
    }
    full.fs().sync().unwrap();
    drop(full.fs.take());
    full.fs = Some(mount_by(&full.live, (full.how)()).unwrap());
    full.compare();
    for name in full.model.keys().take(40).cloned().collect::<Vec<_>>() {
        if full.model[&name].is_empty() {
            full.fs().unlink(Ino::ROOT, &name).unwrap();
            full.model.remove(&name);
        } else {
            full.write(&name, 0, 1);
            let size = Some(0);
            full.fs().set_attr(full.ino(&name), &SetAttr { size, ..SetAttr::default() }).unwrap();
            full.model.get_mut(&name).unwrap().clear();
        }
    }
    full.fill_with_names();
    full.remount();
}

#[test]
fn names_move_on_a_volume_full_of_data() {
    for shape in [Shape::default(), QUOTA] {
        let mut full = Full::new(64 << 20, &shape, options, 3);
        full.fill();
        exercise_names(full);
    }
}

#[test]
fn names_move_on_a_volume_full_of_names() {
    for shape in [Shape::default(), QUOTA] {
        exercise_names(Full::new(64 << 20, &shape, options, 4));
    }
}

/// As many sequences as are asked for.
fn exercise(bytes: u64, shape: &Shape, how: fn() -> WritableOptions) {
    let seeds = F2FS_NEARLY_FULL.seeds(1..2);
    for seed in seeds.clone() {
        F2FS_NEARLY_FULL.begin(seed);
        let mut full = Full::new(bytes, shape, how, seed);
        full.fill();
        for _ in 0..2 {
            for _ in 0..4000 {
                full.step();
            }
            full.remount();
            full.fill();
        }
    }
    F2FS_NEARLY_FULL.ran(seeds.clone(), seeds.end - seeds.start);
}

const QUOTA: Shape = Shape { features: &["extra_attr", "inode_checksum", "quota_ino"], ..Shape::PLAIN };

#[test]
fn adaptive_logging() {
    exercise(64 << 20, &Shape::default(), options);
    exercise(64 << 20, &QUOTA, options);
}

#[test]
fn normal_logging() {
    exercise(64 << 20, &QUOTA, || WritableOptions { logging: Logging::Normal, ..options() });
}

#[test]
fn larger_sections() {
    let shape = Shape { section_segments: Some(2), ..Shape::default() };
    exercise(160 << 20, &shape, options);
    exercise(160 << 20, &shape, || WritableOptions { logging: Logging::Normal, ..options() });
}

#[test]
fn in_place() {
    exercise(64 << 20, &Shape::default(), || WritableOptions { in_place: InPlace::Always, ..options() });
    exercise(64 << 20, &Shape::default(), || WritableOptions { in_place: InPlace::Fsync, ..options() });
}

#[test]
fn fewer_logs() {
    exercise(64 << 20, &QUOTA, || WritableOptions { streams: Streams::Four, ..options() });
    exercise(64 << 20, &QUOTA, || WritableOptions { streams: Streams::FourByCold, ..options() });
    exercise(64 << 20, &QUOTA, || WritableOptions { streams: Streams::Two, ..options() });
}

/// Compressed files are promised as much as others.
#[test]
fn compressed() {
    let how = || WritableOptions { compression: rule("lz4", 4), ..options() };
    exercise(64 << 20, &SHAPE, how);
    exercise(64 << 20, &SHAPE, || WritableOptions {
        logging: Logging::Normal,
        compression: rule("lz4", 2),
        ..options()
    });
}

/// Free blocks of data are in the way where nodes are to go, and the other way round: only the cleaner helps, with adaptive logging,
/// too.
#[test]
fn holes_of_one_sort_are_room_for_the_other() {
    let mut full = Full::new(64 << 20, &Shape::default(), options, 1);
    full.create(b"large");
    let mut blocks = 0;
    while full.write(b"large", blocks, 1) {
        blocks += 1;
    }
    let ino = full.ino(b"large");
    for at in (0..blocks).step_by(2) {
        full.fs().allocate(ino, SpaceMode::PunchHole, (at * BLOCK) as u64, BLOCK as u64).unwrap();
        full.model.get_mut(&b"large"[..]).unwrap()[at] = 0;
    }
    let (mut number, shared) =
        (0, |number: u32| format!("a name that is as long as others, {number}").into_bytes());
    while full.create(&shared(number)) {
        number += 1;
    }
    let free = full.free();
    assert!(free < 16 && number as usize > blocks * 2 / 5, "{free} free, {number} nodes of {blocks}");
    full.remount();
    for number in (0..number).step_by(2) {
        full.fs().unlink(Ino::ROOT, &shared(number)).unwrap();
        full.model.remove(&shared(number));
    }
    for at in (0..blocks).step_by(2) {
        if !full.write(b"large", at, 1) {
            assert!(full.fs().space().unwrap().free_bytes < 16 * BLOCK as u64);
            break;
        }
    }
    full.remount();
}
