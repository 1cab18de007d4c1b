//! Power cuts after operations of random workloads. What may be found after one is the paper's promise: each crate
//! judges it.
//!
//! Left out: cuts that leave pages which only seem sound (`CutMode::Unstable`). No paper reads a page twice.

use core::ops::Range;

use pumice_knobs::Campaign;
use pumice_media::{CutMode, Nand, SimChip};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::model::MemFs;
use pumice_vfs::{FileKind, Ino, RenameMode, Timestamp};

use super::image::Image;
use super::shared::Shared;
use super::step::{Held, Step};
use super::{Subject, try_mount};

/// The fault found, if there is one.
pub(crate) type Verdict = std::result::Result<(), String>;

/// A judge of the tree found after so many calls and a cut.
pub(crate) type Judge<'w> = Box<dyn Fn(&Image, usize) -> Verdict + 'w>;

/// A campaign of cuts.
pub(crate) struct Cuts<S> {
    pub(crate) subject: S,
    pub(crate) campaign: &'static Campaign,
    /// Calls of a workload.
    pub(crate) steps: usize,
    /// Cuts of each workload in each mode, spread evenly.
    pub(crate) spread: u64,
    /// Erases that a workload needs at least, so that something is cleaned.
    pub(crate) erases: u64,
    /// A call drawn from 40 kinds, of those that are not of [`common`].
    pub(crate) own: fn(&mut fastrand::Rng, u8) -> Step,
    /// The judge of a workload.
    pub(crate) judge: fn(&Workload) -> Judge<'_>,
}

/// A workload: calls that the model accepts, and the tree after each.
pub(crate) struct Workload {
    pub(crate) steps: Vec<Step>,
    pub(crate) images: Vec<Image>,
    /// The number of the first call: what a call writes follows from its number.
    pub(crate) first: usize,
}

pub(crate) fn path(rng: &mut fastrand::Rng) -> String {
    let name = rng.u8(0..5);
    match rng.u8(0..3) {
        0 => format!("/f{name}"),
        dir => format!("/d{dir}/f{name}"),
    }
}

pub(crate) fn dir(rng: &mut fastrand::Rng) -> String {
    format!("/d{}", rng.u8(1..4))
}

/// The call of a kind, of those that all papers have.
fn common(rng: &mut fastrand::Rng, kind: u8, own: fn(&mut fastrand::Rng, u8) -> Step) -> Step {
    match kind {
        0..=5 => Step::Create(path(rng)),
        6 | 7 => Step::Make(dir(rng), FileKind::Dir),
        8..=19 => Step::Write(path(rng), rng.u64(0..30_000), rng.u32(1..24_000)),
        20 | 21 => Step::Truncate(path(rng), rng.u64(0..30_000)),
        22..=24 => Step::Unlink(path(rng)),
        25 => Step::Rmdir(dir(rng)),
        26..=29 => Step::Rename(path(rng), path(rng), RenameMode::Replace),
        30..=34 => own(rng, kind),
        35 => Step::Sync,
        36 => Step::Remount,
        _ => Step::Fsync(path(rng)),
    }
}

impl Workload {
    /// Calls on a tree that is there: the model of it goes by the clock.
    pub(crate) fn on(
        model: &MemFs,
        clock: &TestClock,
        rng: &mut fastrand::Rng,
        steps: Range<usize>,
        own: fn(&mut fastrand::Rng, u8) -> Step,
    ) -> Workload {
        let mut workload = Workload { steps: Vec::new(), images: Vec::new(), first: steps.start };
        workload.images.push(Image::take(model, &Image::default()).unwrap());
        while workload.steps.len() < steps.len() {
            let kind = rng.u8(0..40);
            let next = common(rng, kind, own);
            clock.tick();
            if next.apply(model, workload.first + workload.steps.len(), &mut Held::new()).is_err() {
                continue;
            }
            workload.images.push(Image::take(model, &Image::default()).unwrap());
            workload.steps.push(next);
        }
        workload
    }
}

/// Runs the steps on a chip until its power goes; returns how many were done.
pub(crate) fn run<S: Subject>(workload: &Workload, chip: &Shared) -> usize {
    let clock = TestClock::new();
    let Ok(mut fs) = try_mount::<S, _>(chip.clone(), clock.clock()) else { return 0 };
    let mut times = workload.images.iter().skip(1);
    for (number, step) in workload.steps.iter().enumerate() {
        // The model's clock ticked for refused calls too.
        while times.len() > 0 && clock.now() < newest(&workload.images[number + 1]) {
            clock.tick();
        }
        times.next();
        let done = match step {
            Step::Remount => match fs.unmount().and_then(|chip| try_mount::<S, _>(chip, clock.clock())) {
                Ok(mounted) => {
                    fs = mounted;
                    continue;
                }
                Err(_) => return number,
            },
            step => step.apply(&fs, workload.first + number, &mut Held::new()),
        };
        if let Err(error) = done {
            assert!(!chip.is_powered(), "call {number}, {step:?}: {error}");
            return number;
        }
    }
    workload.steps.len()
}

/// One of five ways in which an operation is cut.
pub(crate) fn mode(kind: u64, seed: u64) -> CutMode {
    match kind {
        0 => CutMode::Nothing,
        1 => CutMode::Complete,
        2 => CutMode::Torn { seed },
        3 => CutMode::Garbage { seed },
        _ => CutMode::Half { seed },
    }
}

fn newest(image: &Image) -> Timestamp {
    image.0.values().map(|node| node.attr.ctime.max(node.attr.mtime)).max().unwrap_or_default()
}

/// Mounts a chip that lost its power, judges it, works on it, and mounts it once more.
pub(crate) fn verify<S: Subject>(mut chip: SimChip, judge: &dyn Fn(&Image) -> Verdict) -> Verdict {
    chip.power_on();
    let clock = TestClock::new();
    let report = S::check(chip.clone()).map_err(|error| format!("check: {error}"))?;
    if !report.findings.is_empty() {
        return Err(format!("check: {:?}", report.findings));
    }
    let fs = try_mount::<S, _>(chip, clock.clock()).map_err(|error| format!("mount: {error}"))?;
    let mut found = Image::take(&fs, &Image::default()).map_err(|error| format!("reading: {error}"))?;
    judge(&found)?;
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
    let report = S::check(chip.clone()).map_err(|error| format!("second check: {error}"))?;
    // CFFS has one block for the list that its mount believes, and does without where that is bad.
    let counts = chip.fault_counts();
    let is_worn = counts.program_failures + counts.erase_failures > 0;
    if !report.findings.is_empty() || (report.recovered && !is_worn) {
        return Err(format!("second check: {report:?}"));
    }
    let fs = try_mount::<S, _>(chip, clock.clock()).map_err(|error| format!("second mount: {error}"))?;
    let mut again = Image::take(&fs, &Image::default()).map_err(|error| format!("reading again: {error}"))?;
    for image in [&mut found, &mut again] {
        // The root's times are those of the work.
        let root = image.edit(Ino::ROOT).ok_or("no root")?;
        (root.attr.mtime, root.attr.ctime) = Default::default();
    }
    found.compare(&again).map_err(|what| format!("after the second mount: {what:?}"))
}

impl<S: Subject> Cuts<S> {
    pub(crate) fn workload(&self, seed: u64) -> (Workload, SimChip) {
        let (clock, mut rng) = (TestClock::new(), fastrand::Rng::with_seed(seed));
        let model = MemFs::new(clock.clock());
        let workload = Workload::on(&model, &clock, &mut rng, 0..self.steps, self.own);
        (workload, self.subject.formatted(TestClock::new().now()))
    }

    /// Cuts a workload in one operation.
    pub(crate) fn cut(&self, workload: &Workload, start: &SimChip, at: u64, mode: CutMode) -> Verdict {
        let chip = Shared::new(start.clone());
        chip.0.lock().unwrap().cut_after(at, mode);
        let done = run::<S>(workload, &chip);
        let judge = (self.judge)(workload);
        verify::<S>(chip.copy(), &|found| judge(found, done)).map_err(|what| format!("{done} done: {what}"))
    }

    /// Cuts a workload in many of its operations; how often.
    fn cut_everywhere(&self, seed: u64) -> u64 {
        self.campaign.begin(seed);
        let (workload, start) = self.workload(seed);
        let whole = Shared::new(start.clone());
        let all = run::<S>(&workload, &whole);
        assert_eq!(all, workload.steps.len());
        let total = whole.copy().operations() - start.operations();
        let erases = whole.copy().stats().erases;
        assert!(erases > self.erases || !self.campaign.is_usual(), "little was cleaned: {erases} erases");
        let judge = (self.judge)(&workload);
        verify::<S>(whole.copy(), &|found| judge(found, all))
            .unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let step = usize::try_from(total / self.spread).unwrap().max(1);
        let mut cuts = 0;
        for kind in 0..5 {
            for at in (kind..total).step_by(step) {
                let mode = mode(kind, at);
                self.cut(&workload, &start, at, mode)
                    .unwrap_or_else(|what| panic!("seed {seed}, cut {at} of {total} ({mode:?}), {what}"));
                cuts += 1;
            }
        }
        cuts
    }

    /// Every second workload, from the first or the second on: two tests are two threads.
    pub(crate) fn workloads(&self, from: usize) {
        let seeds = self.campaign.seeds(1..3);
        let made = seeds.clone().skip(from).step_by(2).map(|seed| self.cut_everywhere(seed)).sum();
        self.campaign.ran(seeds, made);
    }
}
