//! Power cuts after operations of random workloads that are cleaned.
//!
//! # The paper's promises
//!
//! Data, inodes and mu-tree of all files are written together, and count with the root (3.1). After a crash the root
//! before the last valid parity page is the one (3.2). So all is found as it was after one of the calls: not before the
//! last fsync or sync, which end their parity group, and not after the call that was cut. The paper's own words are
//! weaker: it may lose all writes since the last whole erase block, whoever asked for them.
//!
//! Left out: cuts that leave pages which only seem sound (`CutMode::Unstable`). Nothing in the paper reads a page
//! twice.

use crate::common::image::Image;
use crate::common::shared::Shared;
use crate::common::step::{Held, Step};
use crate::common::{CACHE_BYTES, formatted};
use pumice_knobs::RCFFS_CUTS;
use pumice_media::{CutMode, Nand, SimChip};
use pumice_rcffs::{MountOptions, Rcffs, check};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::model::MemFs;
use pumice_vfs::{FileKind, RenameMode, Result};

/// 2.5 megabytes, a third of it for files: the workloads write it more than once.
const CHIP: &str = "2048+64:16:80";
const BLOCKS: u64 = 80;
const STEPS: usize = 400;
/// Cuts of each workload in each mode, spread evenly.
const CUTS: u64 = 40;

fn mount<N: Nand + Send + 'static>(nand: N, clock: &TestClock) -> Result<Rcffs<N>> {
    let options = MountOptions { read_only: false, cache_bytes: CACHE_BYTES, clock: clock.clock() };
    Rcffs::mount(nand, options)
}

/// A workload: calls that the model accepts, and the tree after each.
struct Workload {
    steps: Vec<Step>,
    images: Vec<Image>,
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
        30 => Step::Rename(dir(rng), dir(rng), RenameMode::Replace),
        31 => Step::Rename(path(rng), path(rng), RenameMode::Exchange),
        32 => Step::Link(path(rng), path(rng)),
        33 | 34 => Step::Chmod(path(rng), rng.u32(0..0o1000)),
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
        let mut workload = Workload { steps: Vec::new(), images: Vec::new() };
        workload.images.push(Image::take(&model, &Image::default()).unwrap());
        while workload.steps.len() < STEPS {
            let next = step(&mut rng);
            clock.tick();
            if next.apply(&model, workload.steps.len(), &mut Held::new()).is_err() {
                continue;
            }
            let after = Image::take(&model, &Image::default()).unwrap();
            workload.images.push(after);
            workload.steps.push(next);
        }
        workload
    }

    /// The number of calls done when everything was last made to outlive a cut.
    fn promised(&self, done: usize) -> usize {
        let lasting = |step: &Step| matches!(step, Step::Sync | Step::Remount | Step::Fsync(_));
        self.steps[..done].iter().rposition(lasting).map_or(0, |at| at + 1)
    }

    fn judge(&self, found: &Image, done: usize) -> std::result::Result<(), String> {
        let cut = (done + 1).min(self.steps.len());
        let mut best = Vec::new();
        for after in (self.promised(done)..=cut).rev() {
            match self.images[after].compare(found) {
                Ok(()) => return Ok(()),
                Err(what) => best.push((what, after)),
            }
        }
        Err(format!("promised {}: {:?}", self.promised(done), best.into_iter().max()))
    }
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
    let again = Image::take(&fs, &Image::default()).map_err(|error| format!("reading again: {error}"))?;
    let (mut found, mut again) = (found, again);
    for image in [&mut found, &mut again] {
        // The root's times are those of the work.
        let root = image.edit(pumice_vfs::Ino::ROOT).ok_or("no root")?;
        (root.attr.mtime, root.attr.ctime) = Default::default();
    }
    found.compare(&again).map_err(|what| format!("after the second mount: {what:?}"))
}

/// Cuts a workload in many of its operations; how often.
fn cut_everywhere(seed: u64) -> u64 {
    RCFFS_CUTS.begin(seed);
    let workload = Workload::new(seed);
    let start = formatted(CHIP, TestClock::new().now());
    let whole = Shared::new(start.clone());
    assert_eq!(run(&workload, &whole), workload.steps.len());
    let total = whole.copy().operations() - start.operations();
    let erases = whole.copy().stats().erases;
    assert!(erases > BLOCKS * 2 || !RCFFS_CUTS.is_usual(), "little was cleaned: {erases} erases");
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
            let chip = Shared::new(start.clone());
            chip.0.lock().unwrap().cut_after(at, mode);
            let done = run(&workload, &chip);
            verify(&workload, chip.copy(), done).unwrap_or_else(|what| {
                panic!("seed {seed}, cut {at} of {total} ({mode:?}), {done} done: {what}")
            });
            cuts += 1;
        }
    }
    cuts
}

/// Every second workload, from the first or the second on: two tests are two threads.
fn workloads(from: usize) {
    let seeds = RCFFS_CUTS.seeds(1..3);
    let made = seeds.clone().skip(from).step_by(2).map(cut_everywhere).sum();
    RCFFS_CUTS.ran(seeds, made);
}

#[test]
fn odd_workloads() {
    workloads(0);
}

#[test]
fn even_workloads() {
    workloads(1);
}
