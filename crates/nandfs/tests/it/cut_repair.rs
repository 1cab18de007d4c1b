//! A repair cut off in every operation and mode, on volumes that have aged and were damaged: the next repair keeps as
//! much as an uncut one. A scrub that is cut loses nothing either.

use std::fmt::Write;

use pumice_knobs::NANDFS_REPAIR_CUTS;
use pumice_media::{BitFlip, BlockId, CutMode, PageId, SimChip};
use pumice_nandfs::{RepairOptions, check, repair};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::{FileKind, Finding, FsError, Timestamp};

use crate::campaign::programmed;
use crate::cut::image::Image;
use crate::cut::player::Player;
use crate::cut::random::Random;
use crate::cut::runner::chip;
use crate::cut::shared::Shared;
use crate::cut::step::Step;
use crate::cut::verify::mount;
use crate::repair::{Part, wipe};

/// Chips of every layout. The parts of those in front can be told by their spare areas.
const CHIPS: [&str; 10] = [
    "spare",
    "2048+64:8:96@lz4",
    "slots",
    "spare/dist3",
    "gang",
    "page",
    "slots/dist3",
    "spares+1",
    "spares+1now",
    "mlc/dist3",
];
const TOLD: u64 = 4;

/// Cuts of a repair.
const CUTS: u64 = 12;
/// Files get about this long, in bytes.
const FILE_BYTES: u64 = 20_000;

/// A damaged volume.
struct Case {
    name: &'static str,
    random: Random,
    clock: TestClock,
    what: String,
    /// Repairs that found too little room.
    refused: u64,
}

impl Case {
    fn new(seed: u64) -> Case {
        let name = CHIPS[(seed % CHIPS.len() as u64) as usize];
        Case { name, random: Random(seed), clock: TestClock::new(), what: String::new(), refused: 0 }
    }

    /// Something happens on a fresh volume, with a remount now and then, up to an unmount, a stop of the host, or a cut.
    fn age(&mut self) -> SimChip {
        let shared = Shared::new(chip(self.name, &self.clock));
        let mut player = Player::new(shared.clone(), self.clock.clone());
        let calls = 20 + self.random.below(300);
        let bulk = self.random.below(calls);
        for call in 0..calls {
            if call == bulk {
                self.bulk(&mut player);
            }
            player.play(&self.random.step(FILE_BYTES)).unwrap();
        }
        match self.random.below(3) {
            0 => drop(player.fs.take().unwrap().unmount().unwrap()),
            1 => {}
            _ => {
                let (after, mode) = (self.random.below(40), self.random.cut_mode());
                shared.0.lock().unwrap().cut_after(after, mode);
                while player.play(&self.random.step(FILE_BYTES)).is_ok() {}
            }
        }
        drop(player);
        let mut chip = shared.copy();
        chip.power_on();
        chip
    }

    /// Many tiny files in directories of their own, of which some go.
    fn bulk(&mut self, player: &mut Player<Shared>) {
        let dir = format!("/bulk{}", self.random.below(3));
        let number = self.random.below(120);
        let mut steps = vec![Step::Make(dir.clone(), FileKind::Dir)];
        steps.extend((0..number).map(|at| Step::Create(format!("{dir}/b{at}"))));
        steps.extend((0..number).step_by(3).map(|at| Step::Write(format!("{dir}/b{at}"), 0, 700)));
        steps.push(Step::Sync);
        steps.extend((0..number).step_by(5).map(|at| Step::Unlink(format!("{dir}/b{at}"))));
        for step in steps {
            player.play(&step).unwrap();
        }
    }

    fn harm(&mut self, chip: &mut SimChip, is_told: bool) {
        let written = programmed(chip);
        let mut kill = |chip: &mut SimChip, pages: &[PageId]| {
            write!(self.what, "dead pages {pages:?}, ").unwrap();
            chip.faults_mut().unreadable.extend(pages.iter().copied());
        };
        match self.random.below(if is_told { 9 } else { 6 }) {
            0 => {
                (0..4).for_each(|block| pumice_media::Nand::erase(chip, BlockId(block)).unwrap());
                self.what += "without anchors, ";
            }
            1..4 => {
                let count = 1 + self.random.below(5);
                let pages: Vec<PageId> =
                    (0..count).map(|_| written[self.random.below(written.len() as u64) as usize]).collect();
                kill(chip, &pages);
            }
            4 => {
                let per_block = pumice_media::Nand::geometry(chip).pages_per_block;
                let block = written[self.random.below(written.len() as u64) as usize].0 / per_block;
                let pages: Vec<PageId> = (block * per_block..(block + 1) * per_block).map(PageId).collect();
                kill(chip, &pages);
            }
            5 => {}
            _ => {
                let parts: Vec<Part> = [Part::Anchors, Part::Records, Part::Tables]
                    .into_iter()
                    .filter(|_| self.random.below(2) == 0)
                    .collect();
                for part in &parts {
                    wipe(chip, *part);
                }
                write!(self.what, "without {parts:?}, ").unwrap();
            }
        }
    }

    /// Repairs a chip; returns the findings.
    fn mend(shared: &Shared) -> Result<Vec<Finding>, FsError> {
        let now = Timestamp { seconds: 2_000_000_000, nanos: 0 };
        repair(shared.clone(), RepairOptions::default().with(|it| it.now = now)).map(|(_, found)| found)
    }

    fn tree(&self, shared: &Shared) -> Result<Image, String> {
        let report = check(shared.copy(), &mut |_, _| {}).map_err(|error| format!("check: {error}"))?;
        if !report.findings.is_empty() {
            return Err(format!("the check finds {:?}", report.findings));
        }
        let fs = mount(shared.copy(), &self.clock).map_err(|error| format!("mount: {error}"))?;
        Image::take(&fs, &Image::default()).map_err(|error| format!("reading: {error}"))
    }

    /// The mode of the next cut.
    fn mode(&mut self) -> CutMode {
        match self.random.below(4) {
            0 => CutMode::Unstable { seed: self.random.next() },
            _ => self.random.cut_mode(),
        }
    }

    /// Cuts the repair of a chip; returns how often.
    fn cut(&mut self, damaged: &SimChip) -> u64 {
        let whole = Shared::new(damaged.clone());
        let before = damaged.operations();
        let mended = Case::mend(&whole);
        if let Err(error) = &mended {
            let did = whole.copy().lifetime_stats();
            let was = damaged.lifetime_stats();
            assert_eq!((did.programs, did.erases), (was.programs, was.erases), "{}: {error}", self.what);
            self.refused += 1;
            return 0;
        }
        let operations = whole.copy().operations() - before;
        let want = self.tree(&whole).unwrap_or_else(|what| panic!("{}uncut: {what}", self.what));
        let cuts = operations.min(CUTS);
        for cut in 0..cuts {
            let after = if operations <= CUTS { cut } else { self.random.below(operations) };
            let shared = Shared::new(damaged.clone());
            let mut how = format!("{}, {}cut after {after} of {operations} operations", self.name, self.what);
            let mut after = Some(after);
            while let Some(operation) = after {
                let mode = self.mode();
                write!(how, " {mode:?}").unwrap();
                shared.0.lock().unwrap().cut_after(operation, mode);
                let done = Case::mend(&shared);
                let powered = shared.is_powered();
                assert!(done.is_ok() || !powered, "{how}: {done:?}");
                shared.0.lock().unwrap().power_on();
                shared.0.lock().unwrap().faults_mut().power_cut = None;
                after = (self.random.below(5) == 0).then(|| self.random.below(operations));
            }
            let again = Case::mend(&shared).unwrap_or_else(|error| panic!("{how}: {error}"));
            let found = self.tree(&shared).unwrap_or_else(|what| panic!("{how}: {what}"));
            if let Err(what) = want.compare(&found) {
                panic!("{how}: {what:?}; found {again:?}, uncut {mended:?}");
            }
        }
        cuts
    }
}

/// Cuts, and repairs that were refused.
fn repairs(seed: u64) -> (u64, u64) {
    let mut case = Case::new(seed);
    let mut chip = case.age();
    case.harm(&mut chip, seed % (CHIPS.len() as u64) < TOLD);
    (case.cut(&chip), case.refused)
}

/// Cuts a scrub of a volume with weak pages; then all files are there.
fn scrubs(seed: u64) -> u64 {
    let mut case = Case::new(seed);
    let shared = Shared::new(chip(case.name, &case.clock));
    let mut player = Player::new(shared.clone(), case.clock.clone());
    for _ in 0..20 + case.random.below(200) {
        player.play(&case.random.step(FILE_BYTES)).unwrap();
    }
    player.play(&Step::Sync).unwrap();
    let mut weak = programmed(&mut shared.0.lock().unwrap());
    weak.retain(|_| case.random.below(6) == 0);
    // Only one wrong bit can be put right there.
    let flips = weak.iter().map(|page| BitFlip { page: *page, bit: 100 });
    shared.0.lock().unwrap().faults_mut().flips.extend(flips);
    let (after, mode) = (case.random.below(120), case.mode());
    shared.0.lock().unwrap().cut_after(after, mode);
    let done = player.fs.as_ref().unwrap().scrub(&mut |_, _| {});
    let powered = shared.is_powered();
    assert!(done.is_ok() || !powered, "{}: {done:?}", case.name);
    let notes = player.notes.clone();
    drop(player);
    shared.0.lock().unwrap().power_on();
    shared.0.lock().unwrap().faults_mut().power_cut = None;
    let found = case.tree(&shared).unwrap_or_else(|what| panic!("{}: {what}", case.name));
    let judged = notes.history.lock().unwrap().judge(&found, notes.promise());
    judged.unwrap_or_else(|what| panic!("{}: after {after} operations {mode:?}: {what}", case.name));
    u64::from(!powered)
}

#[test]
fn repairs_of_damaged_volumes() {
    let seeds = NANDFS_REPAIR_CUTS.seeds(0..40);
    let (mut cuts, mut refused) = (0, 0);
    for seed in seeds.clone() {
        NANDFS_REPAIR_CUTS.begin(seed);
        let (cut, none) = repairs(seed);
        (cuts, refused) = (cuts + cut, refused + none);
    }
    eprintln!("{cuts} cuts of repairs, {refused} of {} volumes refused", seeds.end - seeds.start);
    NANDFS_REPAIR_CUTS.ran(seeds, cuts);
}

/// Two pages of a full block are dead: copies of parity bring back more than the block's own, and must stay.
#[test]
fn a_repair_leaves_what_it_found() {
    repairs(10028);
}

/// A cut leaves a block without parity, and the table that tells of it is on a dead block.
#[test]
fn a_repair_needs_no_block_table() {
    repairs(300_118);
}

/// The ids of two directories were given out again behind the checkpoint that a repair begins with. The repair gives up
/// their new nodes, which the next one finds, one within the other.
#[test]
fn a_repair_gives_up_directories_for_good() {
    repairs(7_700_602);
}

#[test]
fn scrubs_of_weak_volumes() {
    let seeds = NANDFS_REPAIR_CUTS.seeds(0..60);
    let mut cuts = 0;
    for seed in seeds.clone() {
        NANDFS_REPAIR_CUTS.begin(seed);
        cuts += scrubs(seed);
    }
    NANDFS_REPAIR_CUTS.ran(seeds, cuts);
}
