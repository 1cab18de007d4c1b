//! Power cuts: the volume is as its last checkpoint left it with all promises of fsync since, or as the call that was
//! under way leaves it. No check finds anything, before and after it is rolled forward.
//!
//! `PUMICE_F2FS_CUTS=N` looks at N states, distinct by content, instead of a few; the named families come first and
//! whole, unless N is less.

mod ahead;
mod in_place;
mod recovery;

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    sync::Arc,
};

use pumice_f2fs::{
    DiscardUnit, F2fs, InPlace, Logging, MountOptions, WritableF2fs, WritableOptions, check::check,
    layout::SuperBlock, read_super_block,
};
use pumice_knobs::{Campaign, F2FS_FULL_STATES, F2FS_STATES};
use pumice_vfs::{
    Clock, Errno, FileKind, FileSystem, Ino, RenameMode, SetAttr, SpaceMode, Timestamp, XattrMode,
    conformance::TestClock,
};

use super::{
    compressed::{SHAPE, rule},
    over::Touches,
    policy::{key, keys},
    power::{Event, Image, Live, Part, Replay, part},
    subject::{Shape, node, volume},
    tree::{Tree, record, tree},
};

/// The promise of a call that has returned, and the number of events when it began and when it returned.
struct Promise {
    begin: usize,
    end: usize,
    tree: Tree,
    /// The file that alone is promised anew.
    of: Option<Ino>,
}

/// A workload that was recorded.
pub(crate) struct Recorded {
    sb: SuperBlock,
    base: Image,
    events: Vec<Event>,
    promises: Vec<Promise>,
    /// fsyncs that made no checkpoint.
    pub(crate) chained: usize,
    /// Checkpoints that calls made for want of room: events from the first to behind the last. If there are any, only
    /// states near them are looked at.
    cleaned: Vec<Range<usize>>,
    /// Calls while nobody waited that cleaned something.
    idle: usize,
    /// The possible contents of files that are written in place.
    touches: Option<Touches>,
}

pub(crate) fn mount(live: &Live, in_place: bool) -> pumice_f2fs::Result<WritableF2fs> {
    let in_place = if in_place { InPlace::Fsync } else { InPlace::Never };
    mount_by(live, WritableOptions { in_place, ..options() })
}

/// Ways to mount, with a small cache and the key.
pub(crate) fn options() -> WritableOptions {
    let options = WritableOptions::new(TestClock::new().clock());
    WritableOptions { cache_bytes: 1 << 20, keys: Some(keys()), ..options }
}

/// With a strict fsync a new file takes the other names of its directory along; otherwise these may be older.
#[test]
fn a_strict_fsync_keeps_all_names() {
    let kept = |strict_fsync| {
        let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
        let fs = mount_by(&live, WritableOptions { strict_fsync, ..options() }).unwrap();
        fs.create(Ino::ROOT, b"old", &node(FileKind::File)).unwrap();
        fs.sync().unwrap();
        fs.rename(Ino::ROOT, b"old", Ino::ROOT, b"moved", RenameMode::Replace).unwrap();
        let new = fs.create(Ino::ROOT, b"new", &node(FileKind::File)).unwrap().ino;
        fs.fsync(new, false).unwrap();
        drop(fs);
        let fs = mount_by(&live, options()).unwrap();
        fs.lookup(Ino::ROOT, b"new").unwrap();
        fs.lookup(Ino::ROOT, b"moved").is_ok()
    };
    assert!(kept(true) && !kept(false));
}

/// A clock that goes on whenever it is asked.
pub(crate) fn ticking() -> Clock {
    let clock = TestClock::new();
    Box::new(move || {
        clock.tick();
        clock.now()
    })
}

pub(crate) fn mount_by(live: &Live, options: WritableOptions) -> pumice_f2fs::Result<WritableF2fs> {
    WritableF2fs::mount(Box::new(live.clone()), options)
}

/// Mounts with a cache of so many bytes, and without discards, which may fail and do no harm.
pub(crate) fn mount_with(live: &Live, cache_bytes: usize) -> pumice_f2fs::Result<WritableF2fs> {
    mount_by(live, WritableOptions { cache_bytes, discard: false, ..options() })
}

/// The files of a volume, rolled forward or not.
pub(crate) fn shown(image: &Arc<Image>, recover: bool) -> pumice_f2fs::Result<Tree> {
    let recover = recover.then(Timestamp::default);
    let options = MountOptions { cache_bytes: 1 << 20, keys: key(), recover };
    let fs = F2fs::mount(vec![Box::new(image.clone())], options)?;
    assert!(fs.warnings().is_empty(), "{:?}", fs.warnings());
    Ok(tree(&fs))
}

/// Events behind a checkpoint that are near it.
const NEAR: usize = 20;
/// Blocks that are written over at a time where a volume is full.
const CHURN: usize = 40;
/// The ways to move a name.
const MODES: [RenameMode; 4] = [
    RenameMode::Replace,
    RenameMode::NoReplace,
    RenameMode::Exchange,
    RenameMode::Whiteout { uid: 1, gid: 2 },
];

/// A workload under way.
struct Run<'a> {
    fs: &'a WritableF2fs,
    live: &'a Live,
    sb: &'a SuperBlock,
    random: fastrand::Rng,
    dirs: Vec<Vec<u8>>,
    /// The beginning of the last block of a file.
    far: u64,
    promises: Vec<Promise>,
    chained: usize,
    /// Calls that change something may make checkpoints of the state before: the events then, and that state.
    before: Option<(usize, Tree)>,
    /// Checkpoints that calls made for want of room.
    cleaned: Vec<Range<usize>>,
    idle: usize,
    touches: Touches,
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

    /// One of a few names. Two are of cold files, which are written over where they stand.
    fn name(&mut self) -> Vec<u8> {
        let letter = b'a' + self.random.u8(0..12);
        if letter < b'k' { vec![letter] } else { [&[letter], &b".mp3"[..]].concat() }
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
            // Behind the blocks in the inode, and behind the first two nodes.
            7 => (self.far.min(3_900_000) + self.random.u64(0..8000), 9000),
            8 => (self.far, 4000),
            _ => (self.random.u64(0..300_000), 70_000),
        };
        let bytes = vec![self.random.u8(1..); self.random.usize(1..most)];
        self.touch(ino, offset..offset + bytes.len() as u64, bytes[0]);
        match self.fs.write(ino, offset, &bytes) {
            Err(error) if self.before.is_some() => assert_eq!(error.errno(), Errno::NoSpace),
            done => done.unwrap(),
        }
    }

    fn touch(&mut self, ino: Ino, range: Range<u64>, byte: u8) {
        self.touches.note(self.live.count(), ino, range, byte);
    }

    /// Writes over some of the ballast of a full volume.
    fn churn(&mut self) {
        let Ok(ballast) = self.fs.lookup(Ino::ROOT, b"ballast") else { return };
        let at = self.random.u64(0..ballast.size / 4096 - CHURN as u64);
        self.fs.write(ballast.ino, at * 4096, &vec![self.random.u8(1..); CHURN * 4096]).unwrap();
        self.note_return();
        for _ in 0..self.random.u8(0..4) {
            self.idle += usize::from(self.fs.maintain().unwrap());
            self.note_return();
        }
    }

    /// A call that changes something has returned.
    fn note_return(&mut self) {
        let Some((begin, tree_before)) = self.before.take() else { return };
        let end = self.live.count();
        if self.made_checkpoint(begin) {
            self.promises.push(Promise { begin, end, tree: tree_before, of: None });
            self.cleaned.push(begin..end);
        }
        self.before = Some((end, tree(self.fs)));
    }

    /// One call that changes something; those that make no sense at the moment do nothing.
    fn change(&mut self) {
        let fs = self.fs;
        match self.random.u8(0..20) {
            0..=4 => {
                let ((_, dir), name) = (self.dir(), self.name());
                if let Ok(attr) = fs.create(dir, &name, &node(FileKind::File)) {
                    self.note_return();
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
                let _ = fs.rename(dir, &name, to, &new, MODES[self.random.usize(0..MODES.len())]);
            }
            14 => {
                let (file, (_, dir), name) = (self.file(), self.dir(), self.name());
                let _ = file.map(|(_, ino)| fs.link(ino, dir, &name));
            }
            15 => {
                let size = self.random.u64(0..30_000);
                let size = if self.random.bool() { 0 } else { size };
                if let Some((_, ino)) = self.file() {
                    self.touch(ino, size..u64::MAX, 0);
                    let done = fs.set_attr(ino, &SetAttr { size: Some(size), ..SetAttr::default() });
                    assert!(done.is_ok() || self.before.is_some(), "{done:?}");
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
                if let Some((_, ino)) = file {
                    self.touch(ino, offset..offset + 30_000, 0);
                    let _ = fs.allocate(ino, mode, offset, 30_000);
                }
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
        if self.random.u8(0..12) == 0 {
            let begin = self.live.count();
            self.fs.sync().unwrap();
            let end = self.live.count();
            self.promises.push(Promise { begin, end, tree: tree(self.fs), of: None });
            return self.look();
        }
        if let Some((path, ino)) = self.file() {
            self.keep_file(path, ino);
        }
    }

    fn keep_file(&mut self, path: String, ino: Ino) {
        let begin = self.live.count();
        self.fs.fsync(ino, self.random.bool()).unwrap();
        let end = self.live.count();
        let (tree, of) = if self.made_checkpoint(begin) {
            (tree(self.fs), None)
        } else {
            self.chained += 1;
            let mut tree = self.promises.last().unwrap().tree.clone();
            tree.insert(path, record(self.fs, ino));
            (tree, Some(ino))
        };
        self.promises.push(Promise { begin, end, tree, of });
        self.look();
    }

    /// Takes note that all writes so far were promised.
    fn look(&mut self) {
        if self.before.is_some() {
            self.before = Some((self.live.count(), tree(self.fs)));
        }
    }

    fn made_checkpoint(&self, begin: usize) -> bool {
        self.live.log().events[begin..].iter().any(|event| match event {
            Event::Write { first, pages, .. } => part(self.sb, *first, &pages[0]) == Part::Checkpoint,
            Event::Flush | Event::Discard { .. } => false,
        })
    }
}

/// Records a workload; `far` is a byte that files may reach.
pub(crate) fn run(seed: u64, steps: usize, far: u64) -> Recorded {
    let features = &["extra_attr", "inode_checksum", "quota_ino"];
    let shapes = [Shape::default(), Shape { features, ..Shape::default() }];
    let base = volume(64 << 20, &shapes[usize::from(seed.is_multiple_of(2))], &TestClock::new());
    run_on(&base, options(), seed, &Length { steps, far, is_full: false })
}

/// The length of a workload.
pub(crate) struct Length {
    pub(crate) steps: usize,
    /// A byte that files may reach.
    pub(crate) far: u64,
    /// The volume is full: calls may find no room, and make checkpoints to have some.
    pub(crate) is_full: bool,
}

/// Records a workload on a volume.
pub(crate) fn run_on(base: &Image, options: WritableOptions, seed: u64, length: &Length) -> Recorded {
    let Length { steps, far, is_full } = *length;
    let live = Live::new(base.clone());
    let sb = read_super_block(base).unwrap();
    let is_over = options.in_place != InPlace::Never;
    let fs = mount_by(&live, options).unwrap();
    let dirs = vec![b"D".to_vec(), b"E".to_vec(), b"F".to_vec()];
    for name in [b"D", b"E"] {
        // An aged volume may have it.
        let made = fs.create(Ino::ROOT, name, &node(FileKind::Dir));
        assert!(made.is_ok() || fs.lookup(Ino::ROOT, name).is_ok(), "{made:?}");
    }
    fs.sync().unwrap();
    let base = live.image();
    live.log().events.clear();
    let first = Promise { begin: 0, end: 0, tree: tree(&fs), of: None };
    let random = fastrand::Rng::with_seed(seed);
    let mut run = Run {
        fs: &fs,
        live: &live,
        sb: &sb,
        random,
        dirs,
        far,
        promises: vec![first],
        chained: 0,
        before: is_full.then(|| (0, tree(&fs))),
        cleaned: Vec::new(),
        idle: 0,
        touches: Touches::default(),
    };
    for _ in 0..steps {
        for _ in 0..run.random.usize(0..4) {
            let begin = live.count();
            run.change();
            run.note_return();
            run.churn();
            assert!(is_full || !run.made_checkpoint(begin), "a change made a checkpoint");
        }
        run.keep();
    }
    let Run { promises, chained, cleaned, idle, touches, .. } = run;
    drop(fs);
    let events = std::mem::take(&mut live.log().events);
    Recorded { sb, base, events, promises, chained, cleaned, idle, touches: is_over.then_some(touches) }
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

/// Writes to a rolled-forward volume.
#[track_caller]
fn write_on(what: &str, fs: WritableF2fs, live: &Live, found: &Tree) {
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
    same(&what, &left, &[found]);
}

/// A volume that a mount rolled forward.
pub(crate) struct Rolled {
    /// Its files, before and after that.
    found: Tree,
    /// Inodes that had something to roll forward.
    inodes: usize,
    /// The mount's writes and flushes.
    events: Vec<Event>,
}

/// Mounts a state, which is sound before and after it is rolled forward, and writes to it; `fits` judges its files.
#[track_caller]
fn roll(what: &str, image: Image, fits: impl FnOnce(&Tree)) -> Rolled {
    let (live, image) = (Live::new(image.clone()), Arc::new(image));
    sound(what, &image);
    let found = shown(&image, true).unwrap_or_else(|error| panic!("{what}: {error}"));
    fits(&found);
    let fs = mount(&live, false).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (inodes, events) = (fs.recovery().inodes, live.log().events.clone());
    if inodes > 0 {
        let (what, after) = (format!("{what}, rolled forward"), Arc::new(live.image()));
        sound(&what, &after);
        same(&what, &shown(&after, false).unwrap(), &[&found]);
    }
    if fs.space().unwrap().free_bytes >= 24 * 4096 {
        write_on(what, fs, &live, &found);
    }
    Rolled { found, inodes, events }
}

impl Recorded {
    /// The trees that may be found when `count` events were begun, the last of them perhaps not ended.
    fn wanted(&self, count: usize) -> Vec<&Tree> {
        let last = self.promises.iter().rposition(|promise| promise.end <= count).unwrap();
        let next = self.promises.get(last + 1).filter(|promise| promise.begin < count);
        [Some(&self.promises[last]), next].into_iter().flatten().map(|promise| &promise.tree).collect()
    }

    /// The number of events when the last call began that had promised an inode after `count` of them.
    fn promised(&self, ino: Ino, count: usize) -> usize {
        let covers = |promise: &&Promise| promise.end <= count && promise.of.is_none_or(|of| of == ino);
        self.promises.iter().rfind(covers).unwrap().begin
    }

    /// Checks that the tree found after `count` events is a possible one.
    #[track_caller]
    fn fits(&self, what: &str, found: &Tree, count: usize) {
        let wanted = self.wanted(count);
        let since = |ino| self.promised(ino, count);
        let may_be = |touches: &Touches| wanted.iter().any(|tree| touches.allow(found, tree, &since, count));
        if !self.touches.as_ref().is_some_and(may_be) {
            same(what, found, &wanted);
        }
    }

    /// A state that a power cut leaves after `count` events is as it must be.
    #[track_caller]
    pub(crate) fn judge(&self, what: &str, count: usize, image: Image) -> Rolled {
        let what = format!("{what} of {count}");
        roll(&what, image, |found| self.fits(&what, found, count))
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
            let is_near = |span: &Range<usize>| (span.start..span.end + NEAR).contains(&number);
            if !self.cleaned.is_empty() && !self.cleaned.iter().any(is_near) {
                continue;
            }
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
                    self.judge(name, number + 1, image);
                }
            }
        }
        seen.len() - before
    }

    /// A state that a power cut leaves, and the number of events that were begun by then.
    pub(crate) fn cut(&self, random: &mut fastrand::Rng) -> (usize, Image) {
        let count = random.usize(0..=self.events.len());
        let mut replay = Replay::new(&self.sb, self.base.clone());
        self.events[..count].iter().for_each(|event| replay.step(event));
        (count, replay.one_of_family(random).1)
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

/// The number of states that a campaign looks at.
fn states(campaign: &Campaign, usual: usize) -> usize {
    campaign.count().map_or(usual, |count| usize::try_from(count).unwrap())
}

#[test]
fn a_power_cut_leaves_what_was_promised() {
    let most = states(&F2FS_STATES, 300);
    let share = if most > 1000 { u8::MAX } else { 4 };
    let (mut seen, mut chained, first, mut next) = (HashSet::new(), 0, F2FS_STATES.first_seed(1), 0);
    for seed in first.. {
        F2FS_STATES.begin(seed);
        next = seed + 1;
        let recorded = run(seed, 60, 12_200_000);
        chained += recorded.chained;
        let mut random = fastrand::Rng::with_seed(seed);
        recorded.judge_all(most - seen.len(), share, &mut random, &mut seen);
        if seen.len() >= most {
            break;
        }
    }
    F2FS_STATES.ran(first..next, seen.len() as u64);
    assert!(chained > 0 || !F2FS_STATES.is_usual(), "no fsync was a chain's");
    eprintln!("{} states of workloads with {chained} chained fsyncs", seen.len());
}

/// Power fails on the foot of a checkpoint, and again on the checkpoint that the next mount makes: the rest of the
/// first foot is not taken for the second's.
#[test]
fn power_may_fail_on_one_checkpoint_after_the_other() {
    let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
    let sb = read_super_block(&live).unwrap();
    let fs = mount(&live, false).unwrap();
    let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    fs.sync().unwrap();
    fs.write(file, 0, &[1; 9000]).unwrap();
    fs.fsync(file, false).unwrap();
    let (mut replay, begin) = (Replay::new(&sb, live.image()), live.count());
    fs.sync().unwrap();
    let events = live.log().events.split_off(begin);
    let foot = events.iter().rposition(|event| matches!(event, Event::Write { .. })).unwrap();
    events[..=foot].iter().for_each(|event| replay.step(event));
    let mut torn = None;
    replay.families(&mut |name, make| torn = if name == "torn" { Some(make()) } else { torn.take() });
    let torn = torn.unwrap();
    let wanted = shown(&Arc::new(torn.clone()), true).unwrap();
    let again = Live::new(torn.clone());
    let recovered = mount(&again, false).unwrap().recovery().inodes;
    assert!(recovered == 1, "the checkpoint was there as a whole");
    let (mut replay, mut states) = (Replay::new(&sb, torn), 0);
    for event in &again.log().events {
        replay.step(event);
        let Event::Write { first, pages, .. } = event else { continue };
        if part(&sb, *first, &pages[0]) != Part::Checkpoint || pages.len() > 16 {
            continue;
        }
        replay.families(&mut |name, make| {
            let image = Arc::new(make());
            sound(name, &image);
            same(name, &shown(&image, true).unwrap(), &[&wanted]);
            states += 1;
        });
    }
    assert!(states > 20, "{states} states");
}

/// The same where blocks are written over where they stand, as an fsync does it, and always.
#[test]
fn a_power_cut_leaves_what_was_promised_in_place() {
    for in_place in [InPlace::Fsync, InPlace::Always] {
        let how = || WritableOptions { in_place, clock: ticking(), ..options() };
        short_workloads(&Shape::default(), how);
    }
}

/// The same where all files are compressed, and every fsync is a checkpoint.
#[test]
fn a_power_cut_leaves_what_was_promised_compressed() {
    short_workloads(&SHAPE, || WritableOptions { compression: rule("lz4", 2), ..options() });
}

/// A file that lay in its inode grew far beyond it: fsync writes the new node first, and the inode behind it.
#[test]
fn a_file_that_left_its_inode() {
    let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
    let fs = mount(&live, false).unwrap();
    let file = fs.create(Ino::ROOT, b"file", &node(FileKind::File)).unwrap().ino;
    fs.write(file, 0, &[1; 600]).unwrap();
    fs.sync().unwrap();
    fs.write(file, 12_200_000, &[2; 3000]).unwrap();
    fs.fsync(file, false).unwrap();
    let image = Arc::new(live.image());
    sound("rolled forward", &image);
    same("rolled forward", &shown(&image, true).unwrap(), &[&tree(&fs)]);
}

/// Looks at states of workloads that free runs of blocks, whole segments among them. Returns the number of discards.
pub(crate) fn discarding_workloads(unit: DiscardUnit) -> usize {
    const BALLAST: u64 = 2500;
    let most = states(&F2FS_STATES, 100);
    let live = Live::new(volume(64 << 20, &Shape::default(), &TestClock::new()));
    let fs = mount(&live, false).unwrap();
    let ballast = fs.create(Ino::ROOT, b"ballast", &node(FileKind::File)).unwrap().ino;
    (0..BALLAST).for_each(|at| fs.write(ballast, at * 4096, &[1; 4096]).unwrap());
    fs.unmount().unwrap();
    let (mut seen, mut discards) = (HashSet::new(), 0);
    let (first, mut next) = (F2FS_STATES.first_seed(1), 0);
    for seed in first.. {
        F2FS_STATES.begin(seed);
        next = seed + 1;
        let how = WritableOptions { discard_unit: unit, ..options() };
        let length = Length { steps: 60, far: 500_000, is_full: true };
        let recorded = run_on(&live.image(), how, seed, &length);
        discards += recorded.events.iter().filter(|event| matches!(event, Event::Discard { .. })).count();
        let mut random = fastrand::Rng::with_seed(seed);
        recorded.judge_all(most - seen.len(), if most > 1000 { 8 } else { 2 }, &mut random, &mut seen);
        if seen.len() >= most {
            break;
        }
    }
    F2FS_STATES.ran(first..next, seen.len() as u64);
    discards
}

/// Looks at states of short workloads on small volumes that are mounted like this.
pub(crate) fn short_workloads(made: &Shape, how: impl Fn() -> WritableOptions) {
    let most = states(&F2FS_STATES, 100);
    let share = if most > 1000 { u8::MAX } else { 8 };
    let (mut seen, first, mut next) = (HashSet::new(), F2FS_STATES.first_seed(1), 0);
    for seed in first.. {
        F2FS_STATES.begin(seed);
        next = seed + 1;
        let base = volume(64 << 20, made, &TestClock::new());
        let length = Length { steps: 60, far: 500_000, is_full: false };
        let recorded = run_on(&base, how(), seed, &length);
        let mut random = fastrand::Rng::with_seed(seed);
        recorded.judge_all(most - seen.len(), share, &mut random, &mut seen);
        if seen.len() >= most {
            break;
        }
    }
    F2FS_STATES.ran(first..next, seen.len() as u64);
}

/// A volume of `bytes` bytes: `share` per cent of the users' room is one file, in pieces that lie everywhere.
pub(crate) fn nearly_full(seed: u64, bytes: u64, share: u64) -> Image {
    let features = &["extra_attr", "inode_checksum", "quota_ino"];
    let shapes = [Shape::default(), Shape { features, ..Shape::default() }];
    let base = volume(bytes, &shapes[usize::from(seed.is_multiple_of(2))], &TestClock::new());
    let live = Live::new(base);
    let mut random = fastrand::Rng::with_seed(seed);
    let fs = mount_by(&live, WritableOptions { logging: Logging::Normal, ..options() }).unwrap();
    let ballast = fs.create(Ino::ROOT, b"ballast", &node(FileKind::File)).unwrap().ino;
    let blocks = fs.space().unwrap().free_bytes * share / 100 / 4096;
    for at in 0..blocks {
        fs.write(ballast, at * 4096, &[1; 4096]).unwrap();
    }
    for _ in 0..2 * blocks {
        fs.write(ballast, random.u64(0..blocks) * 4096, &[random.u8(1..); 4096]).unwrap();
    }
    fs.unmount().unwrap();
    live.image()
}

/// Looks at `most` states of workloads of `steps` steps on nearly full volumes; returns checkpoints that were made for want of room, and steps of
/// cleaning while nobody waited.
fn cut_while_cleaning(base: fn(u64) -> Image, steps: usize, most: usize) -> (usize, usize) {
    let (mut seen, mut cleaned, mut idle) = (HashSet::new(), 0, 0);
    let (first, mut next) = (F2FS_FULL_STATES.first_seed(1), 0);
    for seed in first.. {
        F2FS_FULL_STATES.begin(seed);
        next = seed + 1;
        let how = WritableOptions { logging: Logging::Normal, ..options() };
        let length = Length { steps, far: 500_000, is_full: true };
        let recorded = run_on(&base(seed), how, seed, &length);
        if recorded.cleaned.is_empty() {
            continue;
        }
        cleaned += recorded.cleaned.len();
        idle += recorded.idle;
        let mut random = fastrand::Rng::with_seed(seed);
        recorded.judge_all(most - seen.len(), if most > 1000 { u8::MAX } else { 2 }, &mut random, &mut seen);
        if seen.len() >= most {
            break;
        }
    }
    eprintln!("{} states of workloads with {cleaned} checkpoints and {idle} idle steps", seen.len());
    F2FS_FULL_STATES.ran(first..next, seen.len() as u64);
    (cleaned, idle)
}

/// The same while sections are cleaned.
#[test]
fn a_power_cut_while_cleaning_leaves_what_was_promised() {
    let most = states(&F2FS_FULL_STATES, 24);
    let (cleaned, _) = cut_while_cleaning(|seed| nearly_full(seed, 72 << 20, 93), 60, most);
    assert!(cleaned > 0, "nothing was cleaned");
}

/// The same while sections are cleaned that nobody waits for.
#[test]
fn a_power_cut_while_nobody_waits_leaves_what_was_promised() {
    let most = states(&F2FS_FULL_STATES, 6);
    let (_, idle) = cut_while_cleaning(|seed| nearly_full(seed, 128 << 20, 80), 12, most);
    assert!(idle > 0 || !F2FS_FULL_STATES.is_usual(), "nothing was cleaned");
}
