//! Compressed files that are written to: by the kernel's rules of clusters, beside a model, full, and cut off.

use std::{collections::BTreeMap, ops::Range};

use pumice_f2fs::{
    CompressionRule, F2fs, Logging, MountOptions, WritableF2fs, WritableOptions,
    compress::Method,
    crypt::Keyring,
    layout::{InlineFlags, Inode, InodeFlags},
};
use pumice_knobs::F2FS_COMPRESSED;
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, SetAttr, SpaceMode, conformance::TestClock};

use super::{
    crash::{mount_by, options},
    linux::{golden, open},
    policy::key,
    power::Live,
    subject::{Shape, node, ours, sound, theirs, volume},
};

const BLOCK: usize = 4096;

pub(crate) const SHAPE: Shape =
    Shape { features: &["extra_attr", "inode_checksum", "quota_ino", "compression"], ..Shape::PLAIN };

/// All files, by a method.
pub(crate) fn rule(method: &str, log_blocks: u8) -> CompressionRule {
    let method = Method::parse(method).unwrap();
    let (extensions, not) = (vec!["*".into()], vec!["raw".into()]);
    CompressionRule { method, log_blocks, checksum: log_blocks.is_multiple_of(2), extensions, not }
}

fn how(rule: &CompressionRule) -> WritableOptions {
    WritableOptions { compression: rule.clone(), ..options() }
}

/// Words that compress well, other ones for each seed.
fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let line = |number: usize| format!("{seed} says {} and {}\n", number % 7, number / 7 % 3).into_bytes();
    let mut period = (0..21).flat_map(line).collect::<Vec<u8>>();
    period = period.repeat(bytes.div_ceil(period.len()));
    period.truncate(bytes);
    period
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    fastrand::Rng::with_seed(seed).fill(&mut noise);
    noise
}

/// An inode as it is on the medium.
fn inode(live: &Live, name: &[u8]) -> Inode {
    let options = MountOptions { cache_bytes: 1 << 20, keys: key(), recover: None };
    let fs = F2fs::mount(vec![Box::new(live.clone())], options).unwrap();
    fs.inode(fs.lookup(Ino::ROOT, name).unwrap().ino).unwrap().0
}

fn read(fs: &dyn FileSystem, ino: Ino) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(fs.attr(ino).unwrap().size).unwrap()];
    assert_eq!(fs.read(ino, 0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn set_size(fs: &dyn FileSystem, ino: Ino, size: usize) -> pumice_vfs::Result<()> {
    fs.set_attr(ino, &SetAttr { size: Some(size as u64), ..SetAttr::default() }).map(drop)
}

/// Saved and counted blocks are as in the kernel: partial clusters, and those that save nothing, are plain.
#[test]
fn clusters_are_made_by_the_kernels_rules() {
    let live = Live::new(volume(64 << 20, &SHAPE, &TestClock::new()));
    let rule = rule("lz4", 2);
    let mut free = None;
    // Changes a file of the same name; then it has so many blocks, of which so many are saved.
    let mut after = |what: &str, blocks: u64, saved: u64, change: &mut dyn FnMut(&WritableF2fs, Ino)| {
        let fs = mount_by(&live, how(&rule)).unwrap();
        let file = match fs.lookup(Ino::ROOT, b"file") {
            Ok(file) => file.ino,
            Err(_) => fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino,
        };
        change(&fs, file);
        let wanted = read(&fs, file);
        let room = fs.space().unwrap().free_bytes / 4096 + blocks;
        assert_eq!(*free.get_or_insert(room), room, "{what}: what is saved stays reserved");
        fs.unmount().unwrap();
        sound(&live);
        let found = inode(&live, b"file");
        assert!(found.flags.has(InodeFlags::COMPRESSED) && !found.has_inline_data());
        assert_eq!((found.blocks, found.extra.unwrap().saved_blocks), (blocks + 1, saved), "{what}");
        assert!(read(&mount_by(&live, how(&rule)).unwrap(), file) == wanted, "{what}");
    };
    let write = |at: usize, bytes: Vec<u8>| {
        move |fs: &WritableF2fs, ino: Ino| fs.write(ino, (at * BLOCK) as u64, &bytes).unwrap()
    };
    let blocks = |count: usize| count * BLOCK;
    after("nothing", 0, 0, &mut |_, _| ());
    after("two clusters and a half", 10, 6, &mut write(0, text(1, blocks(10))));
    after("what stands plain stays so", 12, 6, &mut write(10, text(2, blocks(2))));
    after("a cluster is whole with its last byte", 16, 9, &mut write(12, text(3, blocks(3) + 1)));
    after("one byte of a cluster", 16, 9, &mut |fs, ino| fs.write(ino, 5, b"x").unwrap());
    after("noise", 16, 6, &mut write(4, noise(4, blocks(4))));
    after("noise in one block", 16, 5, &mut write(1, noise(5, blocks(1))));
    after("over all of it", 16, 12, &mut write(0, text(6, blocks(16))));
    after("to the middle of a cluster", 10, 6, &mut |fs, ino| set_size(fs, ino, blocks(10)).unwrap());
    after("to a byte in the first", 1, 0, &mut |fs, ino| set_size(fs, ino, 100).unwrap());
    after("a hole behind it", 1, 0, &mut |fs, ino| set_size(fs, ino, blocks(16)).unwrap());
    after("behind the hole", 5, 3, &mut write(12, text(7, blocks(4))));
    let range = |blocks: Range<usize>| ((blocks.start * BLOCK) as u64, (blocks.len() * BLOCK) as u64);
    after("a hole in a cluster", 4, 0, &mut |fs, ino| {
        let (offset, length) = range(13..14);
        fs.allocate(ino, SpaceMode::PunchHole, offset, length).unwrap();
    });
    after("a cluster that is reserved", 8, 0, &mut |fs, ino| {
        let (offset, length) = range(4..8);
        fs.allocate(ino, SpaceMode::Reserve { keep_size: false }, offset, length).unwrap();
    });
    after("to nothing", 0, 0, &mut |fs, ino| set_size(fs, ino, 0).unwrap());
    after("and again", 8, 6, &mut write(0, text(8, blocks(8))));
}

#[test]
fn names_say_what_is_compressed() {
    let live = Live::new(volume(64 << 20, &SHAPE, &TestClock::new()));
    let rule = CompressionRule { extensions: vec!["txt".into(), "db".into()], ..rule("zstd:5", 3) };
    let fs = mount_by(&live, how(&rule)).unwrap();
    for (name, is_compressed) in [("a.txt", true), ("a.raw", false), ("a.db", false), ("a", false)] {
        let file = fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &text(1, 40_000)).unwrap();
        fs.sync().unwrap();
        let found = inode(&live, name.as_bytes());
        assert_eq!(found.flags.has(InodeFlags::COMPRESSED), is_compressed, "{name}");
        let extra = found.extra.unwrap();
        assert_eq!((extra.algorithm, extra.log_cluster), if is_compressed { (2, 3) } else { (0, 0) });
        assert_eq!(extra.saved_blocks > 0, is_compressed, "{name}");
    }
    fs.unmount().unwrap();
    sound(&live);
}

/// Linux's own volume: its directories hand compression down, by the mount's options and not as their own files are
/// compressed. Files that gave their room back cannot be written to, but made empty.
#[test]
fn directories_of_linux_hand_compression_down() {
    let disk = golden("compress", 4096);
    let fs = open(&disk).unwrap();
    let dir = fs.lookup(Ino::ROOT, b"zstd-10-4").unwrap().ino;
    let below = fs.create(dir, b"below", &node(FileKind::Dir)).unwrap().ino;
    let made = fs.create(below, b"new", &node(FileKind::File)).unwrap().ino;
    fs.write(made, 0, &text(1, 100_000)).unwrap();
    let not = fs.create(dir, b"new.db", &node(FileKind::File)).unwrap().ino;
    let released = fs.lookup(dir, b"released").unwrap().ino;
    let errno = |done: pumice_vfs::Result<()>| done.unwrap_err().errno();
    assert_eq!(errno(fs.write(released, 0, b"x")), Errno::Perm);
    assert_eq!(errno(fs.allocate(released, SpaceMode::PunchHole, 0, 4096)), Errno::Perm);
    assert_eq!(errno(set_size(&fs, released, 70_000)), Errno::Invalid);
    let before = read(&fs, released);
    set_size(&fs, released, 16 << 12).unwrap();
    assert!(read(&fs, released) == before[..16 << 12]);
    fs.unmount().unwrap();
    ours(&disk);
    theirs(&disk);
    let fs = open(&disk).unwrap();
    set_size(&fs, released, 0).unwrap();
    fs.write(released, 0, &text(2, 200_000)).unwrap();
    fs.unmount().unwrap();
    ours(&disk);
    theirs(&disk);
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    let fs = F2fs::mount(vec![Box::new(disk)], options).unwrap();
    let of = |ino: Ino| fs.inode(ino).unwrap().0;
    assert!(of(below).flags.has(InodeFlags::COMPRESSED) && !of(not).flags.has(InodeFlags::COMPRESSED));
    let extra = of(made).extra.unwrap();
    assert!(extra.algorithm == 1 && extra.log_cluster == 2 && extra.saved_blocks > 10, "{extra:?}");
    assert!(of(released).extra.unwrap().saved_blocks > 20);
    assert!(!of(released).inline.has(InlineFlags::RELEASED));
    assert!(read(&fs, released) == text(2, 200_000));
}

/// Files beside a model.
struct Beside {
    live: Live,
    rule: CompressionRule,
    logging: Logging,
    fs: Option<WritableF2fs>,
    model: BTreeMap<String, Vec<u8>>,
    random: fastrand::Rng,
}

impl Beside {
    fn new(shape: &Shape, rule: CompressionRule, logging: Logging, seed: u64) -> Beside {
        let live = Live::new(volume(64 << 20, shape, &TestClock::new()));
        let random = fastrand::Rng::with_seed(seed);
        let mut beside = Beside { live, rule, logging, fs: None, model: BTreeMap::new(), random };
        beside.open();
        beside
    }

    fn open(&mut self) {
        let how = WritableOptions { logging: self.logging, ..how(&self.rule) };
        self.fs = Some(mount_by(&self.live, how).unwrap());
    }

    fn fs(&self) -> &WritableF2fs {
        self.fs.as_ref().unwrap()
    }

    fn ino(&self, name: &str) -> Ino {
        self.fs().lookup(Ino::ROOT, name.as_bytes()).unwrap().ino
    }

    /// Bytes that compress in part.
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let (seed, kind) = (self.random.u64(..1000), self.random.u8(..4));
        let mut bytes = match kind {
            0 => noise(seed, count),
            1 => vec![seed.to_le_bytes()[0]; count],
            _ => text(seed, count),
        };
        if kind == 2 {
            bytes.chunks_mut(BLOCK).step_by(5).zip(0..).for_each(|(block, number)| {
                block.copy_from_slice(&noise(seed + number, block.len()));
            });
        }
        bytes
    }

    /// A range of a file; often of whole blocks.
    fn range(&mut self, length: usize) -> Range<usize> {
        let unit = if self.random.bool() { BLOCK } else { 1 };
        let start = self.random.usize(..=length) / unit * unit;
        let log = self.random.u32(1..19);
        let count = self.random.usize(1..=1 << log);
        start..start + count.next_multiple_of(unit)
    }

    fn write(&mut self, name: &str, range: Range<usize>) -> bool {
        let bytes = self.bytes(range.len());
        match self.fs().write(self.ino(name), range.start as u64, &bytes) {
            Ok(()) => {}
            // Pieces of a long one may have been written.
            Err(error) if error.errno() == Errno::NoSpace && bytes.len() <= 1 << 20 => return false,
            Err(error) => panic!("{error}"),
        }
        let file = self.model.get_mut(name).unwrap();
        file.resize(file.len().max(range.end), 0);
        file[range].copy_from_slice(&bytes);
        true
    }

    fn step(&mut self) {
        let name = format!("file{}", self.random.u8(..10));
        let Some(length) = self.model.get(&name).map(Vec::len) else {
            self.fs().create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap();
            self.model.insert(name, Vec::new());
            return;
        };
        let ino = self.ino(&name);
        match self.random.u8(..40) {
            0 => {
                self.fs().unlink(Ino::ROOT, name.as_bytes()).unwrap();
                self.model.remove(&name);
            }
            1..5 => {
                let size = if self.random.u8(..4) > 0 { self.random.usize(..=length) } else { length + 9000 };
                set_size(self.fs(), ino, size).unwrap();
                self.model.get_mut(&name).unwrap().resize(size, 0);
            }
            5..8 => {
                let range = self.range(length);
                let (offset, count) = (range.start as u64, range.len() as u64);
                let mode = if self.random.bool() {
                    SpaceMode::PunchHole
                } else {
                    SpaceMode::Zero { keep_size: true }
                };
                match self.fs().allocate(ino, mode, offset, count) {
                    Ok(()) => {
                        let end = range.end.min(length);
                        self.model.get_mut(&name).unwrap()[range.start.min(end)..end].fill(0);
                    }
                    Err(error) => assert_eq!(error.errno(), Errno::NoSpace),
                }
            }
            8 => {
                let data_only = self.random.bool();
                self.fs().fsync(ino, data_only).unwrap();
            }
            9 => self.fs().sync().unwrap(),
            10 | 11 => drop(self.fs().maintain().unwrap()),
            12 if self.random.u8(..4) == 0 => self.remount(),
            13..17 => {
                let range = self.range(0);
                self.write(&name, length..length + range.end);
            }
            _ => {
                let range = self.range(length);
                if range.end < 3 << 20 {
                    self.write(&name, range);
                }
            }
        }
    }

    fn remount(&mut self) {
        self.compare();
        self.fs.take().unwrap().unmount().unwrap();
        ours(&self.live);
        self.live.log().events.clear();
        self.open();
        self.compare();
    }

    fn compare(&self) {
        for (name, bytes) in &self.model {
            let found = read(self.fs(), self.ino(name));
            let wrong = found.iter().zip(bytes).position(|(found, wanted)| found != wanted);
            assert!(
                found.len() == bytes.len() && wrong.is_none(),
                "{name}: byte {wrong:?} of {}",
                bytes.len()
            );
        }
    }

    /// Blocks that are saved.
    fn saved(&self) -> u64 {
        let of = |name: &String| inode(&self.live, name.as_bytes()).extra.unwrap().saved_blocks;
        self.model.keys().map(of).sum()
    }
}

/// One sequence on a volume of a shape.
pub(crate) fn keep_what_was_written(shape: &Shape, steps: usize) {
    let mut beside = Beside::new(shape, rule("lz4", 2), Logging::Adaptive, 1);
    (0..steps).for_each(|_| beside.step());
    let whole = beside.fs().create(Ino::ROOT, b"whole", &node(FileKind::File)).unwrap().ino;
    beside.fs().write(whole, 0, &text(1, 3 << 20)).unwrap();
    beside.model.insert("whole".into(), text(1, 3 << 20));
    beside.remount();
    assert!(beside.saved() > 100);
    theirs(&beside.live);
}

/// Sequences by each method.
#[test]
fn random_sequences_keep_what_was_written() {
    let seeds = F2FS_COMPRESSED.seeds(1..2);
    let methods = [("lz4", 2), ("zstd:3", 4), ("lzo-rle", 2), ("lz4:9", 3), ("lzo", 5), ("zstd", 8)];
    for (method, log_blocks) in methods {
        for seed in seeds.clone() {
            F2FS_COMPRESSED.begin(seed);
            let mut beside = Beside::new(&SHAPE, rule(method, log_blocks), Logging::Adaptive, seed);
            (0..600).for_each(|_| beside.step());
            // The largest clusters of the others were hardly ever written as a whole.
            let whole = beside.fs().create(Ino::ROOT, b"whole", &node(FileKind::File)).unwrap().ino;
            beside.fs().write(whole, 0, &text(seed, 3 << 20)).unwrap();
            beside.model.insert("whole".into(), text(seed, 3 << 20));
            beside.remount();
            assert!(beside.saved() > 100, "{method}");
            theirs(&beside.live);
        }
    }
    F2FS_COMPRESSED.ran(seeds.clone(), (seeds.end - seeds.start) * methods.len() as u64);
}

/// Sections are cleaned under compressed files on a volume that is nearly full: pieces of clusters move as they are.
#[test]
fn pieces_of_clusters_are_moved_by_the_cleaner() {
    for (method, log_blocks) in [("lz4", 2), ("zstd", 4)] {
        let mut beside =
            Beside::new(&SHAPE, rule(method, log_blocks), Logging::Normal, F2FS_COMPRESSED.first_seed(1));
        // Clusters and plain blocks, mixed in every segment.
        for round in 0.. {
            for name in ["text", "mixed.raw"].map(|name| format!("{round}-{name}")) {
                beside.fs().create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap();
                beside.model.insert(name.clone(), Vec::new());
                beside.write(&name, 0..256 << 10);
            }
            beside.fs().sync().unwrap();
            let space = beside.fs().space().unwrap();
            if space.free_bytes < space.total_bytes / 8 {
                break;
            }
        }
        beside.remount();
        let saved = beside.saved();
        let names: Vec<String> = beside.model.keys().filter(|name| name.ends_with("raw")).cloned().collect();
        for _ in 0..3000 {
            let (at, name) = (beside.random.usize(..64) * BLOCK, beside.random.usize(..names.len()));
            beside.write(&names[name], at..at + BLOCK);
            beside.fs().maintain().unwrap();
        }
        beside.remount();
        // Nothing of it was taken apart.
        assert!(saved > 500 && beside.saved() == saved, "{saved} saved, and {} then", beside.saved());
        sound(&beside.live);
    }
}
