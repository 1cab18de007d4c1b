//! Check and repair: anchors, records and checkpoints wiped, alone and together, on every layout, closed and cut off,
//! with a model in memory as the judge. The repair is cut, too, and a sound disk has no finding.

use std::sync::{Arc, Mutex};

use crate::campaign::newest::Newest;
use crate::common::probe::{Hook, Probe};
use crate::common::raw::block_kind;
use crate::common::shared::Shared;
use crate::common::{CASES, Case, Model, Step, chip_of, policies, start};
use pumice_ftl::{CheckReport, Finding, Ftl, FtlError, OpenOptions, RepairOptions, check, repair};
use pumice_media::{BitFlip, BlockDevice, BlockId, CutMode, Lba, Nand, PageId, SimChip};

/// The wiped structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wiped {
    anchors: bool,
    records: bool,
    checkpoint: bool,
}

impl Wiped {
    fn all() -> impl Iterator<Item = Wiped> {
        (1..8).map(|bits| Wiped { anchors: bits & 1 > 0, records: bits & 2 > 0, checkpoint: bits & 4 > 0 })
    }

    /// A chip without them.
    fn wipe(self, case: Case, chip: &SimChip) -> SimChip {
        let mut chip = chip.clone();
        for block in 0..chip.geometry().blocks {
            let is_wiped = match block_kind(case, &mut chip, block) {
                _ if block < 4 => self.anchors,
                Some(14) => self.records,
                Some(4) => self.checkpoint,
                _ => false,
            };
            if is_wiped {
                chip.erase(BlockId(block)).unwrap();
            }
        }
        chip
    }

    /// True if the place of a checkpoint is not known any more.
    fn forgets_trims(self) -> bool {
        self.records || self.checkpoint
    }
}

const OPTIONS: RepairOptions = RepairOptions { dry_run: false, uuid: [5; 16] };

fn examine(chip: SimChip) -> Result<CheckReport, FtlError> {
    check(chip, &mut |_, _| {})
}

fn mend<N: Nand + Send + 'static>(chip: N) -> Result<(N, Vec<Finding>), FtlError> {
    repair(chip, OPTIONS, &mut |_, _| {})
}

/// A disk in use, closed or with the power cut off, all of it flushed.
fn used(case: Case, seed: u64, is_closed: bool) -> (SimChip, Model) {
    let chip = case.chip(650, &policies("cost-benefit", "sepbit", "even"));
    let mut disk = start(chip);
    let blocks = disk.blocks();
    let mut model = Model::new(blocks, case.block_bytes);
    let mut rng = fastrand::Rng::with_seed(seed);
    // The last block tells how large the disk is at the least.
    disk.write(Lba(blocks - 1), &model.write(blocks - 1)).unwrap();
    for number in 0..600 {
        match Step::random(&mut rng, blocks) {
            Step::Write { first, count } => {
                for lba in first..(first + count).min(blocks) {
                    disk.write(Lba(lba), &model.write(lba)).unwrap();
                }
            }
            Step::Trim { first, count } if number % 3 == 0 => {
                let count = count.min(blocks - first);
                (first..first + count).for_each(|lba| model.trim(lba));
                disk.discard(Lba(first), count).unwrap();
            }
            _ => {
                disk.flush().unwrap();
                model.flush();
            }
        }
    }
    disk.flush().unwrap();
    model.flush();
    let chip = if is_closed { disk.close().unwrap() } else { chip_of(&disk).clone() };
    (chip, model)
}

/// The blocks that a repair says it gave up.
fn given_up(fixes: &[Finding]) -> Vec<u64> {
    let given = fixes.iter().filter(|fix| fix.code == "given-up");
    given.map(|fix| fix.detail.split(' ').nth(1).unwrap().parse().unwrap()).collect()
}

/// Nothing is found any more, everything is there, and the disk can be written.
fn judge(id: &str, chip: SimChip, model: &Model, given: &[u64], forgot: bool) {
    let report = examine(chip.clone()).unwrap();
    assert!(report.findings.is_empty(), "{id}: a second check: {:?}", report.findings);
    let mut disk = start(chip);
    assert!(disk.blocks() >= model.blocks(), "{id}: {} blocks", disk.blocks());
    model.compare_repaired(&mut disk, given, forgot).unwrap_or_else(|what| panic!("{id}: {what}"));
    let mut model = model.clone();
    for lba in 0..model.blocks() {
        disk.write(Lba(lba), &model.write(lba)).unwrap_or_else(|error| panic!("{id}: block {lba}: {error}"));
    }
    disk.flush().unwrap();
    let mut disk = start(disk.close().unwrap());
    model.compare(&mut disk).unwrap_or_else(|what| panic!("{id}: written on: {what}"));
}

#[test]
fn what_is_wiped_is_found_and_comes_back() {
    for (number, case) in (0..).zip(CASES) {
        for is_closed in [true, false] {
            let (chip, model) = used(case, number, is_closed);
            for wiped in Wiped::all() {
                let id = format!("{} closed {is_closed} {wiped:?}", case.name);
                let hurt = wiped.wipe(case, &chip);
                let report = examine(hurt.clone()).unwrap_or_else(|error| panic!("{id}: {error}"));
                let found = |code| report.findings.iter().any(|finding| finding.code == code);
                assert!(!wiped.anchors || found("anchors"), "{id}: {:?}", report.findings);
                assert!(!wiped.records || found("records"), "{id}: {:?}", report.findings);
                assert!(!wiped.checkpoint || wiped.records || found("checkpoint"), "{id}");
                let (mended, fixes) = mend(hurt).unwrap_or_else(|error| panic!("{id}: {error}"));
                assert!(given_up(&fixes).is_empty(), "{id}: {fixes:?}");
                judge(&id, mended, &model, &[], wiped.forgets_trims());
            }
        }
    }
}

/// The same with a page of blocks unreadable besides: its blocks are named, or older by name.
#[test]
fn what_is_lost_besides_is_named() {
    // With parity nothing is.
    for (number, case) in (0..).zip(CASES).filter(|(_, case)| case.parity == 0) {
        let (chip, model) = used(case, number, number % 2 == 0);
        for wiped in Wiped::all().chain([Wiped { anchors: false, records: false, checkpoint: false }]) {
            let mut hurt = wiped.wipe(case, &chip);
            let lost = newest_pages(case, &mut hurt, &model);
            hurt.faults_mut().unreadable.extend(lost);
            let id = format!("{} {wiped:?}", case.name);
            let (mended, fixes) = mend(hurt).unwrap_or_else(|error| panic!("{id}: {error}"));
            let given = given_up(&fixes);
            assert!(!given.is_empty(), "{id}: {fixes:?}");
            judge(&id, mended, &model, &given, wiped.forgets_trims());
        }
    }
}

/// A page that holds a block of which it has the only copy: a search by making one after the other unreadable.
fn newest_pages(case: Case, chip: &mut SimChip, model: &Model) -> Vec<PageId> {
    let gang = case.block_bytes.div_ceil(chip.geometry().page_bytes);
    let pages = u32::try_from(chip.geometry().pages()).unwrap();
    for page in (5 * chip.geometry().pages_per_block..pages).step_by(gang as usize) {
        let all: Vec<PageId> = (page..page + gang).map(PageId).collect();
        if !chip.page_state(PageId(page)).unwrap().is_written() {
            continue;
        }
        let mut hurt = chip.clone();
        hurt.faults_mut().unreadable.extend(all.iter().copied());
        let Ok(report) = examine(hurt) else { continue };
        if report.findings.iter().any(|finding| finding.code == "lost") && model.blocks() > 0 {
            return all;
        }
    }
    panic!("{}: no page holds a block", case.name);
}

/// Repairs chips again after their repair was cut off.
struct Again {
    id: String,
    model: Model,
    forgot: bool,
    step: u64,
    cuts: u32,
}

impl Hook for Again {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        let modes = [
            CutMode::Nothing,
            CutMode::Complete,
            CutMode::Torn { seed: n },
            CutMode::Garbage { seed: n },
            CutMode::Half { seed: n },
        ];
        let count = usize::from(n < 4 || n.is_multiple_of(self.step));
        modes.iter().cycle().skip(usize::try_from(n).unwrap() % 5).take(count).copied().collect()
    }

    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip) {
        self.cuts += 1;
        let id = format!("{}, cut {n} {mode:?}", self.id);
        let (mended, fixes) = mend(chip).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(given_up(&fixes).is_empty(), "{id}: {fixes:?}");
        judge(&id, mended, &self.model, &[], self.forgot);
    }
}

#[test]
fn a_repair_that_is_cut_off_loses_nothing() {
    for (number, case) in (0..).zip(CASES) {
        let (chip, model) = used(case, number, number % 2 == 1);
        for wiped in Wiped::all() {
            let id = format!("{} {wiped:?}", case.name);
            let forgot = wiped.forgets_trims();
            let again = Again { id, model: model.clone(), forgot, step: 7, cuts: 0 };
            let hook = Arc::new(Mutex::new(again));
            let probe = Probe::new(wiped.wipe(case, &chip), hook.clone());
            mend(probe).unwrap();
            assert!(hook.lock().unwrap().cuts > 0);
        }
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let case = Case::named("summary");
    let (chip, _) = used(case, 3, true);
    let hurt = Wiped { anchors: true, records: true, checkpoint: true }.wipe(case, &chip);
    let before = hurt.operations();
    let (after, fixes) = repair(hurt, RepairOptions { dry_run: true, ..OPTIONS }, &mut |_, _| {}).unwrap();
    assert!(!fixes.is_empty() && after.operations() == before);
}

#[test]
fn a_chip_without_a_disk_is_none() {
    let chip = SimChip::new(&Case::named("tags").spec());
    assert_eq!(mend(chip.clone()).map(|_| ()), Err(FtlError::Foreign));
    assert_eq!(examine(chip).map(|_| ()), Err(FtlError::Foreign));
}

/// Checks the chip after each of some cuts.
struct Sound {
    id: String,
    findings: Vec<String>,
    cuts: u32,
}

impl Hook for Sound {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        let modes = [
            CutMode::Nothing,
            CutMode::Torn { seed: n },
            CutMode::Garbage { seed: n },
            CutMode::Half { seed: n },
        ];
        modes
            .into_iter()
            .skip(usize::try_from(n / 11).unwrap() % 4)
            .take(usize::from(n.is_multiple_of(11)))
            .collect()
    }

    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip) {
        self.cuts += 1;
        let mut say = |when: &str, chip: SimChip| match examine(chip) {
            Ok(report) if report.findings.is_empty() => {}
            Ok(report) => {
                self.findings.push(format!("{} cut {n} {mode:?} {when}: {:?}", self.id, report.findings));
            }
            Err(error) => self.findings.push(format!("{} cut {n} {mode:?} {when}: {error}", self.id)),
        };
        say("at once", chip.clone());
        if n.is_multiple_of(3) {
            let disk = Ftl::open(chip, OpenOptions::default()).unwrap();
            say("closed", disk.close().unwrap());
        }
    }
}

/// Nothing that a power cut leaves counts as damage.
#[test]
fn no_cut_is_damage() {
    for (number, case) in (0..).zip(CASES) {
        let chip = case.chip(650, &policies("cost-benefit", "sepbit", "even"));
        let sound = Sound { id: case.name.into(), findings: Vec::new(), cuts: 0 };
        let hook = Arc::new(Mutex::new(sound));
        let mut disk = start(Probe::new(chip, hook.clone()));
        let blocks = disk.blocks();
        let mut rng = fastrand::Rng::with_seed(number);
        for _ in 0..300 {
            match Step::random(&mut rng, blocks) {
                Step::Write { first, count } => {
                    let bytes = vec![7; usize::try_from(count).unwrap() * case.block_bytes as usize];
                    disk.write(Lba(first), &bytes).unwrap();
                }
                Step::Trim { first, count } => disk.discard(Lba(first), count.min(blocks - first)).unwrap(),
                Step::Close => disk = start(disk.close().unwrap()),
                _ => disk.flush().unwrap(),
            }
        }
        let hook = hook.lock().unwrap();
        assert!(hook.cuts > 10, "{}: {} cuts", case.name, hook.cuts);
        assert!(
            hook.findings.is_empty(),
            "{} of {}: {:?}",
            hook.findings.len(),
            hook.cuts,
            hook.findings.first()
        );
    }
}

/// The newest page when the power went: ECC gives up on it, and its spare area can be read. Its blocks are an error,
/// not older in silence, until they are written again or given up.
#[test]
fn the_newest_page_is_possibly_lost() {
    for case in CASES.into_iter().filter(|case| ["gang", "tags", "summary", "slots"].contains(&case.name)) {
        let (chip, mut model) = used(case, 5, true);
        let (probe, last) = Newest::new(Shared::new(chip), 1);
        let shared = probe.chip.clone();
        let mut disk = start(probe);
        let lba = 3;
        disk.write(Lba(lba), &model.write(lba)).unwrap();
        disk.flush().unwrap();
        let before = model.clone();
        model.flush();
        disk.write(Lba(lba), &model.write(lba)).unwrap();
        disk.flush().unwrap();
        let geometry = shared.copy().geometry();
        let gang = case.block_bytes.div_ceil(geometry.page_bytes);
        let mut chip = shared.copy();
        for page in crate::campaign::newest::log_page(&last, gang) {
            let bits = (0..geometry.page_bytes * 8).step_by(16);
            chip.faults_mut().flips.extend(bits.map(|bit| BitFlip { page, bit }));
        }
        let id = case.name;
        let report = examine(chip.clone()).unwrap();
        assert_eq!(report.possibly_lost, [3], "{id}: {report:?}");
        // As it was found, over a start that writes, and over one that closes it.
        let mut bytes = vec![0; case.block_bytes as usize];
        for other in [None, Some(4)] {
            let mut disk = start(chip.clone());
            assert_eq!(disk.info().possibly_lost, [3], "{id}");
            assert!(disk.read(Lba(lba), &mut bytes).is_err(), "{id}");
            if let Some(other) = other {
                disk.write(Lba(other), &bytes).unwrap();
            }
            let mut disk = start(disk.close().unwrap());
            assert!(disk.read(Lba(lba), &mut bytes).is_err(), "{id}: closed");
            disk.write(Lba(lba), &vec![1; bytes.len()]).unwrap();
            disk.read(Lba(lba), &mut bytes).unwrap();
        }
        let (mended, fixes) = mend(chip).unwrap();
        assert!(fixes.iter().any(|fix| fix.code == "possibly-lost") && given_up(&fixes).is_empty(), "{id}");
        let mut flushed = before;
        flushed.flush();
        judge(id, mended, &flushed, &[], false);
    }
}
