//! Power cuts after operations of random workloads that clean and wrap around the log.
//!
//! # The paper's promises
//!
//! Directory updates are applied to flash at once, and an operation that is not complete is undone (4.2, 4.5). The
//! names found are those after the last call that returned, or after the one that was cut. That is more than fsync
//! promises. It promises less of files than a file system that orders all writes. Each inode is found as it was at some
//! call since it was last written for sure: by fsync, by a checkpoint, or because one of its names changed. Two files
//! may be of different calls. Within one file nothing is torn: all its blocks are those of that call. The attributes of
//! directories other than links (mode, times) may be of different calls, too.
//!
//! Left out: cuts that leave pages which only seem sound (`CutMode::Unstable`). The paper keeps one copy of each
//! checkpoint, and no check that reads it once can tell that it will fade.

use std::collections::BTreeMap;

use crate::common::image::{Image, Node};
use crate::common::shared::Shared;
use crate::common::step::{Held, Step};
use crate::common::{CACHE_BYTES, formatted};
use pumice_knobs::SCALEFFS_CUTS;
use pumice_media::{CutMode, Nand, SimChip};
use pumice_scaleffs::{MountOptions, ScaleFs, check};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::model::MemFs;
use pumice_vfs::{FileKind, Ino, RenameMode, Result};

/// 896 KiB of log: the workloads write it more than once.
const ERASE_BLOCKS: u32 = 64;
const STEPS: usize = 260;
/// Cuts of each workload in each mode, spread evenly.
const CUTS: u64 = 60;

fn mount<N: Nand + Send + 'static>(nand: N, clock: &TestClock) -> Result<ScaleFs<N>> {
    let options = MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock: clock.clock() };
    ScaleFs::mount(nand, options)
}

/// A workload: calls that the model accepts, the tree after each, and the inodes that each makes outlive a cut.
struct Workload {
    steps: Vec<Step>,
    images: Vec<Image>,
    /// The inodes of the model that each call promises: they may not be found as they were before it.
    promises: Vec<Vec<Ino>>,
}

fn path(rng: &mut fastrand::Rng) -> String {
    let name = rng.u8(0..5);
    match rng.u8(0..3) {
        0 => format!("/f{name}"),
        dir => format!("/d{dir}/f{name}"),
    }
}

fn step(rng: &mut fastrand::Rng) -> Step {
    let dir = |rng: &mut fastrand::Rng| format!("/d{}", rng.u8(1..4));
    match rng.u8(0..40) {
        0..=5 => Step::Create(path(rng)),
        6 | 7 => Step::Make(dir(rng), FileKind::Dir),
        8..=19 => Step::Write(path(rng), rng.u64(0..30_000), rng.u32(1..24_000)),
        20 | 21 => Step::Truncate(path(rng), rng.u64(0..30_000)),
        22..=24 => Step::Unlink(path(rng)),
        25 => Step::Rmdir(dir(rng)),
        26..=29 => Step::Rename(path(rng), path(rng), RenameMode::Replace),
        30 => Step::Rename(path(rng), path(rng), RenameMode::Exchange),
        31 => Step::Rename(dir(rng), dir(rng), RenameMode::Replace),
        32 => Step::Link(path(rng), path(rng)),
        33 => Step::Chmod(path(rng), rng.u32(0..0o1000)),
        34 => Step::SetXattr(path(rng), 1, rng.u32(1..3000)),
        35 => Step::Sync,
        36 => Step::Remount,
        _ => Step::Fsync(path(rng)),
    }
}

impl Workload {
    fn new(seed: u64) -> Workload {
        let mut rng = fastrand::Rng::with_seed(seed);
        let clock = TestClock::new();
        let model = MemFs::new(clock.clock());
        let mut workload = Workload { steps: Vec::new(), images: Vec::new(), promises: Vec::new() };
        workload.images.push(Image::take(&model, &Image::default()).unwrap());
        while workload.steps.len() < STEPS {
            let next = step(&mut rng);
            clock.tick();
            if next.apply(&model, workload.steps.len(), &mut Held::new()).is_err() {
                continue;
            }
            let before = workload.images.last().unwrap();
            let after = Image::take(&model, &Image::default()).unwrap();
            let naming = matches!(
                next,
                Step::Create(_)
                    | Step::Make(..)
                    | Step::Unlink(_)
                    | Step::Rmdir(_)
                    | Step::Rename(..)
                    | Step::Link(..)
            );
            let written = |ino: &Ino| match &next {
                Step::Sync | Step::Remount => true,
                Step::Fsync(path) => {
                    pumice_vfs::conformance::resolve(&model, path).is_ok_and(|attr| attr.ino == *ino)
                }
                _ => naming && before.0.get(ino) != after.0.get(ino),
            };
            workload.promises.push(after.0.keys().copied().filter(written).collect());
            workload.images.push(after);
            workload.steps.push(next);
        }
        workload
    }

    /// The states of an inode that may be found after `done` calls: those since its last promise.
    fn candidates(&self, ino: Ino, done: usize, cut: usize) -> impl Iterator<Item = &Node> {
        let promised =
            self.promises[..done].iter().rposition(|inos| inos.contains(&ino)).map_or(0, |at| at + 1);
        self.images[promised..=cut].iter().filter_map(move |image| image.0.get(&ino).map(|node| &**node))
    }

    fn judge(&self, found: &Image, done: usize) -> std::result::Result<(), String> {
        let cut = (done + 1).min(self.steps.len());
        let mut wrong = Vec::new();
        for after in [done, cut] {
            match self.judge_names(found, after, done, cut) {
                Ok(()) => return Ok(()),
                Err(what) => wrong.push(format!("as after call {after}: {what}")),
            }
        }
        Err(wrong.join("\n"))
    }

    fn judge_names(
        &self,
        found: &Image,
        after: usize,
        done: usize,
        cut: usize,
    ) -> std::result::Result<(), String> {
        let want = &self.images[after];
        let mut met: BTreeMap<Ino, Ino> = BTreeMap::new();
        let mut pending = vec![(String::new(), Ino::ROOT, Ino::ROOT)];
        while let Some((path, ino, other)) = pending.pop() {
            match met.insert(ino, other) {
                Some(before) if before == other => continue,
                Some(_) => return Err(format!("{path}: linked to another inode")),
                None => {}
            }
            let (node, have) = (&want.0[&ino], &found.0[&other]);
            if !node.entries.keys().eq(have.entries.keys()) {
                return Err(format!(
                    "{path}: names {:?}, want {:?}",
                    have.entries.keys(),
                    node.entries.keys()
                ));
            }
            let is_dir = node.attr.kind == FileKind::Dir;
            let sound = self
                .candidates(ino, done, cut)
                .any(|then| if is_dir { alike(then, have) } else { same(then, have) });
            if !sound || node.attr.nlink != have.attr.nlink {
                return Err(format!("{path}: as at no call, {:?}", have.attr));
            }
            let below = node.entries.iter().zip(have.entries.values());
            pending.extend(below.map(|((name, a), b)| (format!("{path}/{}", name.escape_ascii()), *a, *b)));
        }
        Ok(())
    }
}

fn same(a: &Node, b: &Node) -> bool {
    a.attr == b.attr && a.content == b.content && a.xattrs == b.xattrs
}

/// Directories: kind, owner and birth.
fn alike(a: &Node, b: &Node) -> bool {
    (a.attr.kind, a.attr.uid, a.attr.btime) == (b.attr.kind, b.attr.uid, b.attr.btime)
}

/// Runs the steps on a chip until its power goes; returns how many were done.
fn run(workload: &Workload, chip: &Shared) -> usize {
    let clock = TestClock::new();
    let Ok(mut fs) = mount(chip.clone(), &clock) else { return 0 };
    let mut times = workload.images.iter().skip(1);
    for (number, step) in workload.steps.iter().enumerate() {
        // The model's clock ticked for refused calls too.
        while times.len() > 0 && clock.now() < newest(&workload.images[number + 1]) {
            clock.tick();
        }
        times.next();
        let done = match step {
            Step::Remount => match fs.unmount().and_then(|chip| mount(chip, &clock)) {
                Ok(mounted) => {
                    fs = mounted;
                    continue;
                }
                Err(_) => return number,
            },
            step => step.apply(&fs, number, &mut Held::new()),
        };
        if let Err(error) = done {
            assert!(!chip.0.lock().unwrap().is_powered(), "call {number}, {step:?}: {error}");
            return number;
        }
    }
    workload.steps.len()
}

fn newest(image: &Image) -> pumice_vfs::Timestamp {
    image.0.values().map(|node| node.attr.ctime.max(node.attr.mtime)).max().unwrap_or_default()
}

fn verify(workload: &Workload, mut chip: SimChip, done: usize) -> std::result::Result<(), String> {
    chip.power_on();
    let clock = TestClock::new();
    let report = check(chip.clone()).map_err(|error| format!("check: {error}"))?;
    if !report.findings.is_empty() {
        return Err(format!("check: {:?}", report.findings));
    }
    let fs = mount(chip, &clock).map_err(|error| format!("mount: {error}"))?;
    let found = Image::take(&fs, &Image::default()).map_err(|error| format!("reading: {error}"))?;
    workload.judge(&found, done)?;
    let work = [
        Step::Create("/.work".into()),
        Step::Write("/.work".into(), 100, 9000),
        Step::Fsync("/.work".into()),
        Step::Rename("/.work".into(), "/.other".into(), RenameMode::Replace),
        Step::Unlink("/.other".into()),
    ];
    for (number, step) in work.iter().enumerate() {
        step.apply(&fs, 1000 + number, &mut Held::new()).map_err(|error| format!("{step:?}: {error}"))?;
    }
    let chip = fs.unmount().map_err(|error| format!("unmount: {error}"))?;
    if chip.stats().violations > 0 {
        return Err("a rule of the chip was broken".into());
    }
    let report = check(chip.clone()).map_err(|error| format!("second check: {error}"))?;
    if !report.findings.is_empty() || report.recovered {
        return Err(format!("second check: {report:?}"));
    }
    let fs = mount(chip, &clock).map_err(|error| format!("second mount: {error}"))?;
    let mut again = Image::take(&fs, &Image::default()).map_err(|error| format!("reading again: {error}"))?;
    let (mtime, ctime) = (found.0[&Ino::ROOT].attr.mtime, found.0[&Ino::ROOT].attr.ctime);
    if let Some(root) = again.edit(Ino::ROOT) {
        (root.attr.mtime, root.attr.ctime) = (mtime, ctime);
    }
    found.compare(&again).map_err(|what| format!("after the second mount: {what:?}"))
}

/// Cuts a workload in one operation.
fn cut(workload: &Workload, start: &SimChip, at: u64, mode: CutMode) -> std::result::Result<(), String> {
    let chip = Shared::new(start.clone());
    chip.0.lock().unwrap().cut_after(at, mode);
    let done = run(workload, &chip);
    verify(workload, chip.copy(), done).map_err(|what| format!("{done} done: {what}"))
}

/// Cuts a workload in many of its operations; how often.
fn cut_everywhere(seed: u64) -> u64 {
    SCALEFFS_CUTS.begin(seed);
    let workload = Workload::new(seed);
    let start = formatted(ERASE_BLOCKS, TestClock::new().now());
    let whole = Shared::new(start.clone());
    assert_eq!(run(&workload, &whole), workload.steps.len());
    let total = whole.copy().operations() - start.operations();
    let wraps = whole.copy().stats().erases > u64::from(ERASE_BLOCKS) * 3 / 2;
    assert!(wraps || !SCALEFFS_CUTS.is_usual(), "the log did not wrap around");
    verify(&workload, whole.copy(), workload.steps.len())
        .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    let step = usize::try_from(total / CUTS).unwrap().max(1);
    let mut cuts = 0;
    for kind in 0..5 {
        for at in (kind..total).step_by(step) {
            let mode = match kind {
                0 => CutMode::Nothing,
                1 => CutMode::Complete,
                2 => CutMode::Torn { seed: at },
                3 => CutMode::Garbage { seed: at },
                _ => CutMode::Half { seed: at },
            };
            cut(&workload, &start, at, mode)
                .unwrap_or_else(|what| panic!("seed {seed}, cut {at} of {total} ({mode:?}), {what}"));
            cuts += 1;
        }
    }
    cuts
}

/// An unmount behind a sync writes a checkpoint and nothing else: its torn page looks erased.
#[test]
fn a_torn_checkpoint_that_nothing_announces() {
    let start = formatted(ERASE_BLOCKS, TestClock::new().now());
    cut(&Workload::new(29_927_287), &start, 494, CutMode::Half { seed: 494 }).unwrap();
}

/// Every second workload, from the first or the second on: two tests are two threads.
fn workloads(from: usize) {
    let seeds = SCALEFFS_CUTS.seeds(1..3);
    let made = seeds.clone().skip(from).step_by(2).map(cut_everywhere).sum();
    SCALEFFS_CUTS.ran(seeds, made);
}

#[test]
fn odd_workloads() {
    workloads(0);
}

#[test]
fn even_workloads() {
    workloads(1);
}
