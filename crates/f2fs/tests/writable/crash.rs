//! Power cuts: the volume is as its last checkpoint left it with all that fsync promised since, or as the call that was under way
//! leaves it, and nobody finds anything, before and after it is rolled forward.
//!
//! `PUMICE_F2FS_CUTS=N` looks at N states, distinct by content, instead of a few; the named families come first and whole, unless N
//! is less. `PUMICE_SEED` draws other workloads and other states.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use pumice_f2fs::{
    F2fs, MountOptions, WritableF2fs, WritableOptions, check::check, crypt::Keyring, layout::SuperBlock,
    read_super_block,
};
use pumice_vfs::{
    FileKind, FileSystem, Ino, RenameMode, SetAttr, SpaceMode, Timestamp, XattrMode, conformance::TestClock,
};

use crate::{
    power::{Event, Image, Live, Part, Replay, part},
    subject::{Shape, node, volume},
    tree::{Tree, record, tree},
};

/// What is promised once a call has returned, and how many events there were when it began and when it returned.
struct Promise {
    begin: usize,
    end: usize,
    tree: Tree,
}

/// A workload that was recorded.
pub(crate) struct Recorded {
    sb: SuperBlock,
    base: Image,
    events: Vec<Event>,
    promises: Vec<Promise>,
    /// fsyncs that made no checkpoint.
    pub(crate) chained: usize,
}

pub(crate) fn mount(live: &Live, in_place: bool) -> pumice_f2fs::Result<WritableF2fs> {
    let options = WritableOptions { cache_bytes: 1 << 20, clock: TestClock::new().clock(), in_place };
    WritableF2fs::mount(Box::new(live.clone()), options)
}

/// Mounts with a cache of so many bytes.
pub(crate) fn mount_with(live: &Live, cache_bytes: usize) -> pumice_f2fs::Result<WritableF2fs> {
    let options = WritableOptions { cache_bytes, clock: TestClock::new().clock(), in_place: false };
    WritableF2fs::mount(Box::new(live.clone()), options)
}

/// What is shown of a volume, rolled forward or not.
pub(crate) fn shown(image: &Arc<Image>, recover: bool) -> pumice_f2fs::Result<Tree> {
    let recover = recover.then(Timestamp::default);
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover };
    let fs = F2fs::mount(vec![Box::new(image.clone())], options)?;
    assert!(fs.warnings().is_empty(), "{:?}", fs.warnings());
    Ok(tree(&fs))
}

/// A workload under way.
struct Run<'a> {
    fs: &'a WritableF2fs,
    live: &'a Live,
    sb: &'a SuperBlock,
    random: fastrand::Rng,
    dirs: Vec<Vec<u8>>,
    /// Where the last of what a file has begins.
    far: u64,
    promises: Vec<Promise>,
    chained: usize,
}

impl Run<'_> {
    fn dir(&mut self) -> (String, Ino) {
        let at = self.random.usize(0..=self.dirs.len());
        let Some(name) = at.checked_sub(1).and_then(|at| self.dirs.get(at)).cloned() else {
            return (".".into(), Ino::ROOT);
        };
        match self.fs.lookup(Ino::ROOT, &name) {
            Ok(attr) => (format!("./{}", String::from_utf8(name).unwrap()), attr.ino),
            Err(_) => (".".into(), Ino::ROOT),
        }
    }

    fn name(&mut self) -> Vec<u8> {
        vec![b'a' + self.random.u8(0..12)]
    }

    /// A file, if the name that was drawn leads to one.
    fn file(&mut self) -> Option<(String, Ino)> {
        let ((path, dir), name) = (self.dir(), self.name());
        let attr = self.fs.lookup(dir, &name).ok().filter(|attr| attr.kind == FileKind::File)?;
        Some((format!("{path}/{}", String::from_utf8(name).unwrap()), attr.ino))
    }

    fn write(&mut self, ino: Ino) {
        let (offset, most) = match self.random.u8(0..10) {
            0..=3 => (self.random.u64(0..2000), 1500),
            4..=6 => (self.random.u64(0..40_000), 20_000),
            // Behind what stands in the inode, and behind the first two nodes.
            7 => (self.far.min(3_900_000) + self.random.u64(0..8000), 9000),
            8 => (self.far, 4000),
            _ => (self.random.u64(0..300_000), 70_000),
        };
        let bytes = vec![self.random.u8(1..); self.random.usize(1..most)];
        self.fs.write(ino, offset, &bytes).unwrap();
    }

    /// One call that changes something; those that make no sense at the moment do nothing.
    fn change(&mut self) {
        let fs = self.fs;
        match self.random.u8(0..20) {
            0..=4 => {
                let ((_, dir), name) = (self.dir(), self.name());
                if let Ok(attr) = fs.create(dir, &name, &node(FileKind::File)) {
                    self.write(attr.ino);
                }
            }
            5..=9 => {
                if let Some((_, ino)) = self.file() {
                    self.write(ino);
                }
            }
            10 | 11 => {
                let ((_, dir), name) = (self.dir(), self.name());
                let _ = fs.unlink(dir, &name);
            }
            12 | 13 => {
                let ((_, dir), name, (_, to), new) = (self.dir(), self.name(), self.dir(), self.name());
                let modes = [RenameMode::Replace, RenameMode::NoReplace, RenameMode::Exchange];
                let _ = fs.rename(dir, &name, to, &new, modes[self.random.usize(0..3)]);
            }
            14 => {
                let (file, (_, dir), name) = (self.file(), self.dir(), self.name());
                let _ = file.map(|(_, ino)| fs.link(ino, dir, &name));
            }
            15 => {
                let size = self.random.u64(0..30_000);
                let size = if self.random.bool() { 0 } else { size };
                if let Some((_, ino)) = self.file() {
                    fs.set_attr(ino, &SetAttr { size: Some(size), ..SetAttr::default() }).unwrap();
                }
            }
            16 => {
                let (bytes, ino) = (self.random.usize(1..900), self.file());
                let _ = ino.map(|(_, ino)| fs.set_xattr(ino, b"user.a", &vec![7; bytes], XattrMode::Either));
            }
            17 => {
                if let Some((_, ino)) = self.file() {
                    let _ = fs.remove_xattr(ino, b"user.a");
                }
            }
            18 => {
                let (file, offset) = (self.file(), self.random.u64(0..60_000));
                let modes = [
                    SpaceMode::Reserve { keep_size: true },
                    SpaceMode::Reserve { keep_size: false },
                    SpaceMode::PunchHole,
                    SpaceMode::Zero { keep_size: false },
                ];
                let mode = modes[self.random.usize(0..4)];
                let _ = file.map(|(_, ino)| fs.allocate(ino, mode, offset, 30_000));
            }
            _ => {
                let at = self.random.usize(0..self.dirs.len());
                let (name, other) =
                    (self.dirs[at].clone(), self.dirs[self.random.usize(0..self.dirs.len())].clone());
                let _ = match self.random.u8(0..4) {
                    0 => fs.rmdir(Ino::ROOT, &name),
                    1 => fs.rename(Ino::ROOT, &name, Ino::ROOT, &other, RenameMode::Replace),
                    _ => fs.create(Ino::ROOT, &name, &node(FileKind::Dir)).map(drop),
                };
            }
        }
    }

    fn keep(&mut self) {
        let begin = self.live.count();
        if self.random.u8(0..12) == 0 {
            self.fs.sync().unwrap();
            let end = self.live.count();
            self.promises.push(Promise { begin, end, tree: tree(self.fs) });
            return;
        }
        let Some((path, ino)) = self.file() else { return };
        self.fs.fsync(ino, self.random.bool()).unwrap();
        let end = self.live.count();
        let tree = if self.made_checkpoint(begin) {
            tree(self.fs)
        } else {
            self.chained += 1;
            let mut tree = self.promises.last().unwrap().tree.clone();
            tree.insert(path, record(self.fs, ino));
            tree
        };
        self.promises.push(Promise { begin, end, tree });
    }

    fn made_checkpoint(&self, begin: usize) -> bool {
        self.live.log().events[begin..].iter().any(|event| match event {
            Event::Write { first, pages, .. } => part(self.sb, *first, &pages[0]) == Part::Checkpoint,
            Event::Flush => false,
        })
    }
}

/// Records a workload; `far` is a byte that files may reach.
pub(crate) fn run(seed: u64, steps: usize, far: u64) -> Recorded {
    let features = &["extra_attr", "inode_checksum", "quota_ino"];
    let shapes = [Shape::default(), Shape { features, ..Shape::default() }];
    let base = volume(64 << 20, &shapes[usize::from(seed.is_multiple_of(2))], &TestClock::new());
    let live = Live::new(base.clone());
    let sb = read_super_block(&base).unwrap();
    let fs = mount(&live, false).unwrap();
    let dirs = vec![b"D".to_vec(), b"E".to_vec(), b"F".to_vec()];
    fs.create(Ino::ROOT, b"D", &node(FileKind::Dir)).unwrap();
    fs.create(Ino::ROOT, b"E", &node(FileKind::Dir)).unwrap();
    fs.sync().unwrap();
    let base = live.image();
    live.log().events.clear();
    let first = Promise { begin: 0, end: 0, tree: tree(&fs) };
    let random = fastrand::Rng::with_seed(seed);
    let mut run = Run { fs: &fs, live: &live, sb: &sb, random, dirs, far, promises: vec![first], chained: 0 };
    for _ in 0..steps {
        for _ in 0..run.random.usize(0..4) {
            let begin = live.count();
            run.change();
            assert!(!run.made_checkpoint(begin), "a change made a checkpoint");
        }
        run.keep();
    }
    let Run { promises, chained, .. } = run;
    drop(fs);
    let events = std::mem::take(&mut live.log().events);
    Recorded { sb, base, events, promises, chained }
}

#[track_caller]
fn sound(what: &str, image: &Arc<Image>) {
    let report = check(vec![Box::new(image.clone())], 1, &mut |_, _| ()).unwrap();
    assert_eq!(report.count, 0, "{what}: {:#?}", report.findings);
}

#[track_caller]
fn same(what: &str, found: &Tree, wanted: &[&Tree]) {
    if wanted.contains(&found) {
        return;
    }
    let differ = |wanted: &&Tree| -> Vec<String> {
        let paths = wanted.keys().chain(found.keys()).collect::<std::collections::BTreeSet<_>>();
        let lines = paths.into_iter().filter(|path| found.get(*path) != wanted.get(*path));
        lines.map(|path| format!("{path}: {:?}, want {:?}", found.get(path), wanted.get(path))).collect()
    };
    panic!("{what}: {:#?}", wanted.iter().map(differ).collect::<Vec<_>>());
}

impl Recorded {
    /// What may be found when `count` events were begun, the last of them perhaps not ended.
    fn wanted(&self, count: usize) -> Vec<&Tree> {
        let last = self.promises.iter().rposition(|promise| promise.end <= count).unwrap();
        let next = self.promises.get(last + 1).filter(|promise| promise.begin < count);
        [Some(&self.promises[last]), next].into_iter().flatten().map(|promise| &promise.tree).collect()
    }

    /// A state is as it must be; `deep` says that power fails while it is rolled forward, too.
    #[track_caller]
    fn judge(&self, what: &str, count: usize, image: Image, deep: Option<&mut fastrand::Rng>) {
        let what = format!("{what} of {count}");
        let image = Arc::new(image);
        sound(&what, &image);
        let found = shown(&image, true).unwrap_or_else(|error| panic!("{what}: {error}"));
        same(&what, &found, &self.wanted(count));
        let live = Live::new((*image).clone());
        let fs = mount(&live, false).unwrap_or_else(|error| panic!("{what}: {error}"));
        let recovery = live.log().events.clone();
        let after = Arc::new(live.image());
        if fs.recovery().inodes > 0 {
            let what = format!("{what}, rolled forward");
            sound(&what, &after);
            same(&what, &shown(&after, false).unwrap(), &[&found]);
        }
        let made = fs.create(Ino::ROOT, b"after", &node(FileKind::File)).unwrap();
        fs.write(made.ino, 0, &[1; 9000]).unwrap();
        fs.fsync(made.ino, false).unwrap();
        fs.write(made.ino, 0, &[2; 100]).unwrap();
        fs.fsync(made.ino, false).unwrap();
        drop(fs);
        let end = Arc::new(live.image());
        let what = format!("{what}, written to");
        sound(&what, &end);
        let mut left = shown(&end, true).unwrap();
        assert!(left.remove("./after").is_some(), "{what}");
        same(&what, &left, &[&found]);
        if let Some(random) = deep {
            self.cut_recovery(&what, (*image).clone(), &recovery, &found, random);
        }
    }

    fn cut_recovery(
        &self,
        what: &str,
        image: Image,
        events: &[Event],
        wanted: &Tree,
        random: &mut fastrand::Rng,
    ) {
        let mut replay = Replay::new(&self.sb, image);
        for (number, event) in events.iter().enumerate() {
            replay.step(event);
            let image = Arc::new(replay.draw(random));
            let what = format!("{what}, cut again after {number}");
            sound(&what, &image);
            same(&what, &shown(&image, true).unwrap_or_else(|error| panic!("{what}: {error}")), &[wanted]);
        }
    }

    /// Looks at states until there were `most`, as far as there are so many; `share` of 256 of those of the named families.
    fn judge_all(
        &self,
        most: usize,
        share: u8,
        random: &mut fastrand::Rng,
        seen: &mut HashSet<u64>,
    ) -> usize {
        let before = seen.len();
        let mut replay = Replay::new(&self.sb, self.base.clone());
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, event) in self.events.iter().enumerate() {
            replay.step(event);
            let mut chosen = Vec::new();
            replay.families(&mut |name, make| {
                if random.u8(..) < share && seen.len() - before + chosen.len() < most {
                    chosen.push((name, make()));
                }
            });
            for _ in 0..2 {
                if random.u8(..) < share {
                    chosen.push(("drawn", replay.draw(random)));
                }
            }
            for (name, image) in chosen {
                if seen.insert(image.hash()) {
                    *counts.entry(name).or_default() += 1;
                    let deep = (random.u8(0..16) == 0).then_some(&mut *random);
                    self.judge(name, number + 1, image, deep);
                }
            }
        }
        seen.len() - before
    }

    /// States, drawn, evenly spread over the workload: for others to look at.
    pub(crate) fn samples(&self, count: usize, random: &mut fastrand::Rng) -> Vec<Image> {
        let mut replay = Replay::new(&self.sb, self.base.clone());
        let mut images = Vec::new();
        let step = (self.events.len() / count).max(1);
        for (event, number) in self.events.iter().zip(1..) {
            replay.step(event);
            if number % step == 0 && images.len() < count {
                images.push(replay.draw(random));
            }
        }
        images
    }
}

pub(crate) fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().unwrap())
}

#[test]
fn a_power_cut_leaves_what_was_promised() {
    let most = usize::try_from(number("PUMICE_F2FS_CUTS", 300)).unwrap();
    let share = if most > 1000 { u8::MAX } else { 4 };
    let (mut seen, mut chained) = (HashSet::new(), 0);
    for seed in number("PUMICE_SEED", 1).. {
        let recorded = run(seed, 60, 12_200_000);
        chained += recorded.chained;
        let mut random = fastrand::Rng::with_seed(seed);
        recorded.judge_all(most - seen.len(), share, &mut random, &mut seen);
        if seen.len() >= most {
            break;
        }
    }
    assert!(chained > 0, "no fsync was a chain's");
    eprintln!("{} states of workloads with {chained} chained fsyncs", seen.len());
}
