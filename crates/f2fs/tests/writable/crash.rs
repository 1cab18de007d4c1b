//! Power cuts at every write: the volume is as its last checkpoint left it, or as the next one does, and nobody finds anything.
//!
//! What a completed flush has covered stays; of all that was written since, each sector of 512 bytes may be there or not.
//! `PUMICE_F2FS_CUTS=N` looks at N states of each kind instead of a few, `PUMICE_SEED` draws others.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use pumice_f2fs::{F2fs, MountOptions, WritableF2fs, WritableOptions, check::check, crypt::Keyring};
use pumice_media::{BlockDevice, BlockError, BlockShape, Lba, ReadAt};
use pumice_vfs::{FileKind, FileSystem, Ino, RenameMode, SetAttr, XattrMode, conformance::TestClock};

use crate::{
    disk::SharedDisk,
    subject::{Card, Shape, node},
    walk,
};

const SECTOR: usize = 512;

/// What a device was told.
enum Event {
    Write { at: usize, bytes: Vec<u8> },
    Flush,
}

/// A disk that remembers what it was told, in order.
#[derive(Clone)]
struct Recorder {
    disk: SharedDisk,
    events: Arc<Mutex<Vec<Event>>>,
}

impl BlockDevice for Recorder {
    fn block_bytes(&self) -> u32 {
        self.disk.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.disk.blocks()
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.disk.read(first, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        let at = usize::try_from(first.0).unwrap() * self.block_bytes() as usize;
        self.events.lock().unwrap().push(Event::Write { at, bytes: buffer.to_vec() });
        self.disk.write(first, buffer)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.events.lock().unwrap().push(Event::Flush);
        Ok(())
    }

    fn discard(&mut self, first: Lba, count: u64) -> Result<(), BlockError> {
        self.disk.discard(first, count)
    }
}

/// What is on a disk after a power cut: an older state, and some sectors that were written since.
#[derive(Clone)]
struct Cut {
    base: Arc<Vec<u8>>,
    sectors: BTreeMap<usize, Vec<u8>>,
}

impl Cut {
    fn put(&mut self, at: usize, bytes: &[u8], keep: &mut dyn FnMut() -> bool) {
        for (sector, part) in (at / SECTOR..).zip(bytes.chunks(SECTOR)) {
            if keep() {
                self.sectors.insert(sector, part.to_vec());
            }
        }
    }
}

impl ReadAt for Cut {
    fn bytes(&self) -> u64 {
        self.base.len() as u64
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let start = usize::try_from(at).unwrap();
        let Some(found) = self.base.get(start..start + buffer.len()) else {
            return Err(BlockError::OutOfRange { first: Lba(at), count: 1, blocks: self.bytes() });
        };
        buffer.copy_from_slice(found);
        let end = start + buffer.len();
        for (sector, bytes) in self.sectors.range(start / SECTOR..end.div_ceil(SECTOR)) {
            for (byte, place) in bytes.iter().zip(sector * SECTOR..) {
                if (start..end).contains(&place) {
                    buffer[place - start] = *byte;
                }
            }
        }
        Ok(())
    }
}

/// The same, to write to.
struct Revived(Cut);

impl BlockDevice for Revived {
    fn block_bytes(&self) -> u32 {
        4096
    }

    fn blocks(&self) -> u64 {
        self.0.bytes() / 4096
    }

    fn read(&mut self, first: Lba, buffer: &mut [u8]) -> Result<(), BlockError> {
        let shape = BlockShape { block_bytes: 4096, blocks: self.blocks() };
        self.0.read_at(shape.locate(first, buffer.len())?, buffer)
    }

    fn write(&mut self, first: Lba, buffer: &[u8]) -> Result<(), BlockError> {
        self.0.put(usize::try_from(first.0).unwrap() * 4096, buffer, &mut || true);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn discard(&mut self, _: Lba, _: u64) -> Result<(), BlockError> {
        Ok(())
    }
}

/// Everything that is shown of a volume, in words.
fn shown(disk: Box<dyn ReadAt>) -> String {
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let records = walk::records(&F2fs::mount(vec![disk], options).unwrap());
    let lines: Vec<String> = records.iter().map(|(path, record)| format!("{path} {record:?}")).collect();
    lines.join("\n")
}

/// A workload that was recorded: the state before it, what the device was told, and what was shown at each checkpoint, with
/// how many events there were then.
struct Recorded {
    base: Arc<Vec<u8>>,
    events: Vec<Event>,
    states: Vec<(usize, String)>,
}

fn record() -> Recorded {
    let mut card = Card::new(64 << 20, &Shape { features: &["extra_attr", "quota_ino"], ..Shape::default() });
    card.close();
    let disk = card.disk().clone();
    let base = Arc::new(disk.bytes_now());
    let recorder = Recorder { disk: disk.clone(), events: Arc::default() };
    let options = WritableOptions { cache_bytes: 1 << 20, clock: TestClock::new().clock() };
    let fs = WritableF2fs::mount(Box::new(recorder.clone()), options).unwrap();
    let mut states = vec![(0, shown(Box::new(disk.clone())))];
    for round in 0..8_u8 {
        work(&fs, round);
        fs.sync().unwrap();
        states.push((recorder.events.lock().unwrap().len(), shown(Box::new(disk.clone()))));
    }
    drop(fs);
    let events = std::mem::take(&mut *recorder.events.lock().unwrap());
    Recorded { base, events, states }
}

fn work(fs: &dyn FileSystem, round: u8) {
    let dir = fs.create(Ino::ROOT, &[b'A' + round], &node(FileKind::Dir)).unwrap().ino;
    for number in 0..40_u8 {
        let file = fs.create(dir, &[b'0' + number], &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &vec![number ^ round; usize::from(number) * 300]).unwrap();
        if number % 8 == 0 {
            fs.set_xattr(file, b"user.large", &[round; 600], XattrMode::Either).unwrap();
        }
    }
    let large = fs.create(dir, b"large.db", &node(FileKind::File)).unwrap().ino;
    fs.write(large, 4_000_000, &vec![round; 900_000]).unwrap();
    if round > 0 {
        let before = fs.lookup(Ino::ROOT, &[b'A' + round - 1]).unwrap().ino;
        for number in (0..40_u8).step_by(2) {
            fs.unlink(before, &[b'0' + number]).unwrap();
        }
        fs.rename(before, b"large.db", dir, b"moved", RenameMode::Replace).unwrap();
        let moved = fs.lookup(dir, b"moved").unwrap().ino;
        fs.set_attr(moved, &SetAttr { size: Some(4_100_000), ..SetAttr::default() }).unwrap();
    }
}

impl Recorded {
    /// The state after `count` events, of which those behind the last flush pass through `keep`.
    fn cut(&self, count: usize, keep: &mut dyn FnMut(usize, bool) -> bool) -> Cut {
        let flushed =
            self.events[..count].iter().rposition(|event| matches!(event, Event::Flush)).unwrap_or(0);
        let mut cut = Cut { base: self.base.clone(), sectors: BTreeMap::new() };
        for (number, event) in self.events[..count].iter().enumerate() {
            if let Event::Write { at, bytes } = event {
                cut.put(*at, bytes, &mut || number < flushed || keep(number, number + 1 == count));
            }
        }
        cut
    }

    /// The volume is as one of the two checkpoints around `count` events left it; true if as the later.
    #[track_caller]
    fn judge(&self, what: &str, count: usize, cut: Cut) -> bool {
        let report = check(vec![Box::new(cut.clone())], 1, &mut |_, _| ()).unwrap();
        assert_eq!(report.count, 0, "{what} of {count}: {:#?}", report.findings);
        let now = shown(Box::new(cut.clone()));
        let old = self.states.iter().rposition(|(events, _)| *events <= count).unwrap();
        let is_old = self.states[old].1 == now;
        let is_new = self.states.get(old + 1).is_some_and(|(_, state)| *state == now);
        assert!(is_old || is_new, "{what} of {count}: it is as neither checkpoint left it");
        let options = WritableOptions { cache_bytes: 1 << 20, clock: TestClock::new().clock() };
        let fs = WritableF2fs::mount(Box::new(Revived(cut)), options).unwrap();
        fs.create(Ino::ROOT, b"after", &node(FileKind::Dir)).unwrap();
        fs.unmount().unwrap();
        is_new
    }
}

fn count(usual: usize) -> usize {
    std::env::var("PUMICE_F2FS_CUTS").map_or(usual, |count| count.parse().unwrap())
}

#[test]
fn a_power_cut_leaves_the_old_or_the_new_state() {
    let recorded = record();
    let seed = std::env::var("PUMICE_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let events = recorded.events.len();
    let mut new = BTreeSet::new();
    // Each prefix, evenly spread; then any subset of sectors behind the last flush; then one write alone lost; then the last
    // one torn.
    for at in 0..count(10) {
        let behind = 1 + at * events / count(10);
        new.insert(recorded.judge("the prefix", behind, recorded.cut(behind, &mut |_, _| true)));
        let behind = random.usize(1..=events);
        let some = recorded.cut(behind, &mut |_, _| random.bool());
        new.insert(recorded.judge("a subset", behind, some));
        let behind = random.usize(1..=events);
        let lost = random.usize(0..behind);
        let cut = recorded.cut(behind, &mut |number, _| number != lost);
        new.insert(recorded.judge("one lost", behind, cut));
        let behind = random.usize(1..=events);
        let cut = recorded.cut(behind, &mut |_, is_last| !is_last || random.bool());
        new.insert(recorded.judge("the last torn", behind, cut));
    }
    // Around each checkpoint, where it is decided.
    let states: Vec<usize> = recorded.states.iter().map(|(events, _)| *events).skip(1).collect();
    for end in states.into_iter().step_by(3) {
        for behind in end.saturating_sub(5)..=end {
            new.insert(recorded.judge("near", behind, recorded.cut(behind, &mut |_, _| true)));
            let cut = recorded.cut(behind, &mut |_, is_last| !is_last || random.bool());
            new.insert(recorded.judge("near, torn", behind, cut));
        }
    }
    assert_eq!(new.len(), 2, "the foot alone decides, and both outcomes were seen");
}
