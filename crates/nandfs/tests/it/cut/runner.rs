//! Runs a scenario once and cuts the power in the middle of the chip's operations: in every mode at some, and of the others
//! at one in three, in one mode after the other.
//!
//! One run does it: the chip crashes in clones (see `probe`). A few cuts are made the plain way too, with the power
//! gone for good and the error coming up through the file system. A case is named
//! `scenario:geometry:n:mode`, or with a second cut in the recovery `scenario:geometry:n:mode:m:mode`;
//! `PUMICE_CUT` set to that runs it alone, the plain way. With `PUMICE_CUTS=all` every operation is cut in every mode.

use std::sync::{Arc, Mutex};

use pumice_knobs::{CUT, NANDFS_CUTS, Part};
use pumice_media::{BlockId, ChipSpec, CutMode, Pairing, SimChip};
use pumice_nandfs::{Compression, FormatOptions, FsyncProtection, format};
use pumice_vfs::FileSystem;
use pumice_vfs::conformance::TestClock;

use super::image::Image;
use super::player::{Notes, Player};
use super::probe::{Hook, Probe};
use super::scenarios::{ALL, scenario};
use super::shared::Shared;
use super::step::Step;
use super::verify::{mount, settle, verify};

/// Modes by their letters.
pub const MODES: [(char, CutMode); 6] = [
    ('n', CutMode::Nothing),
    ('c', CutMode::Complete),
    ('t', CutMode::Torn { seed: 1 }),
    ('g', CutMode::Garbage { seed: 2 }),
    ('h', CutMode::Half { seed: 3 }),
    ('u', CutMode::Unstable { seed: 4 }),
];

/// The modes with traces that show at once.
const PLAIN: &[(char, CutMode)] = MODES.split_at(5).0;

/// Chips with small blocks, so that cuts hit changes of blocks; by name, for replaying.
pub const CHIPS: [(&str, &str); 4] = [
    // A tag in the spare area.
    ("spare", "2048+64:8:96"),
    // Four small pages in a log page.
    ("gang", "512+16:32:96"),
    // The tag in the page, of two chip pages.
    ("page", "1024+16:16:96"),
    // Several blocks of files in a page.
    ("slots", "16384+1952:4:80"),
];

/// Pages of the chips with pairs that are sold, in small blocks; and more blocks, with room for parity.
const OTHERS: [(&str, &str); 5] = [
    ("mlc", "8192+448:16:72"),
    ("tlc", "16384+2208:12:72"),
    ("spares", "2048+64:8:400"),
    ("gangs", "512+16:32:400"),
    ("inpage", "2048+16:8:400"),
];

fn letter(mode: CutMode) -> char {
    MODES.iter().find(|(_, known)| *known == mode).map_or('?', |(letter, _)| *letter)
}

/// Erase blocks of a chip that is sold: as many as a scenario needs.
const SOLD_BLOCKS: u64 = 64;

/// A name without its parity: `+K` at the end, how many pages that is, or `+Know`, and fsync is protected at once.
fn without_parity(name: &str) -> (&str, u8, FsyncProtection) {
    let Some((chip, parity)) = name.split_once('+').filter(|_| !name.contains(':')) else {
        return (name, 0, FsyncProtection::AtClose);
    };
    let (pages, from) = match parity.strip_suffix("now") {
        Some(pages) => (pages, FsyncProtection::Now),
        None => (parity, FsyncProtection::AtClose),
    };
    (chip, pages.parse().unwrap_or_else(|_| panic!("no parity {parity}")), from)
}

/// A name without `@lz4` or `@zstd` at its end, which says how blocks of files are compressed.
fn without_compression(name: &str) -> (&str, Option<Compression>) {
    match name.split_once('@') {
        Some((chip, method)) => (chip, Some(method.parse().unwrap())),
        None => (name, None),
    }
}

/// A chip of this name: one of [`CHIPS`] or [`OTHERS`], a geometry, or one that is sold, with few blocks. `/dist3`,
/// `/by3` or `/by4` behind one of the first two pairs its pages. `+K` behind a name gives volumes on it K parity pages,
/// `+Know` those with copies; `@lz4` or `@zstd` at the end has them compress.
pub fn spec(name: &str) -> ChipSpec {
    let (name, _) = without_compression(name);
    let (name, ..) = without_parity(name);
    let (layout, pairing) = name.split_once('/').unwrap_or((name, ""));
    let known = CHIPS.iter().chain(&OTHERS).find(|(known, _)| *known == layout);
    let geometry = known.map_or(layout, |(_, geometry)| *geometry);
    let pairing = match pairing {
        "" => Pairing::Unpaired,
        "dist3" => Pairing::Dist3,
        "by3" => Pairing::WordLine { pages: 3 },
        "by4" => Pairing::WordLine { pages: 4 },
        other => panic!("no pairing {other}"),
    };
    if geometry.contains(':') {
        return ChipSpec::parse_geometry(geometry).unwrap().with_pairing(pairing).unwrap();
    }
    let sold = ChipSpec::named(geometry).unwrap();
    let bytes = sold.geometry().block_bytes() * SOLD_BLOCKS;
    sold.with_size(bytes).unwrap()
}

/// A fresh chip of this name (see [`spec`]).
pub fn chip(name: &str, clock: &TestClock) -> SimChip {
    chip_with_bad(name, clock, [])
}

/// The same with these blocks bad from the factory.
pub fn chip_with_bad(name: &str, clock: &TestClock, bad: impl IntoIterator<Item = BlockId>) -> SimChip {
    let mut chip = SimChip::new(&spec(name));
    chip.faults_mut().factory_bad.extend(bad);
    format(&mut chip, &options(name, clock), &mut |_, _| {}).unwrap();
    chip
}

/// The format options for a chip of this name.
pub fn options(name: &str, clock: &TestClock) -> FormatOptions {
    let (protected, compression) = without_compression(name);
    let (_, parity_pages, fsync_protection) = without_parity(protected);
    FormatOptions::default().with(|it| {
        it.uuid = *b"0123456789abcdef";
        it.created = clock.now();
        it.erased = true;
        it.parity_pages = parity_pages;
        it.fsync_protection = fsync_protection;
        it.compression = compression;
    })
}

/// Cuts a scenario on a chip in a third of its operations, in about `budget` of them in all modes, or in all as the knob
/// asks; returns how many cuts were made.
pub fn cut_everywhere(name: &str, chip_name: &str, budget: u64) -> u64 {
    if let Some(case) = CUT.text() {
        replay(&case);
        return 0;
    }
    let plan = Plan { modes: PLAIN, budget, every: 3, again: SELDOM };
    let (operations, tally) = crash(name, chip_name, plan);
    if let Some(what) = tally.failures.first() {
        panic!("{what}");
    }
    for n in [operations / 3, operations * 4 / 5] {
        plain(name, chip_name, (n, MODES[2].1), None);
    }
    eprintln!("{name}:{chip_name}: {operations} operations, {} cuts", tally.cuts);
    NANDFS_CUTS.ran_part(tally.cuts);
    tally.cuts
}

/// The choice of operations to cut, and of the modes.
#[derive(Clone, Copy)]
pub struct Plan {
    pub modes: &'static [(char, CutMode)],
    /// Operations that are cut in each mode, spread evenly.
    pub budget: u64,
    /// One in so many others is cut, in one mode.
    pub every: u64,
    /// One in so many cuts of operations that are cut in each mode has its recovery cut again.
    pub again: u64,
}

/// [`Plan::again`] where time is short.
pub const SELDOM: u64 = 61;

/// Cuts a scenario on a chip by a plan, and returns the tally.
pub fn tally(name: &str, chip_name: &str, plan: Plan) -> Tally {
    crash(name, chip_name, plan).1
}

/// Plays a scenario on a chip that crashes all the time; returns its operations, too.
fn crash(name: &str, chip_name: &str, plan: Plan) -> (u64, Tally) {
    let steps = scenario(name);
    let operations = uncut(&steps, chip_name);
    let stride = operations.div_ceil(plan.budget).max(1);
    let clock = TestClock::new();
    let start = chip(chip_name, &clock);
    let id = format!("PUMICE_CUT={name}:{chip_name}");
    let watch = Watch { whole: NANDFS_CUTS.whole(), ..Watch::new(id, stride, plan) };
    let watch = Arc::new(Mutex::new(watch));
    let hook: Arc<Mutex<dyn Hook + Send>> = watch.clone();
    let mut player = Player::new(Probe::new(start, hook), clock);
    watch.lock().unwrap().notes = Some(player.notes.clone());
    for step in &steps {
        player.play(step).unwrap_or_else(|error| panic!("{name}:{chip_name} uncut: {step:?}: {error}"));
    }
    let tally = std::mem::take(&mut watch.lock().unwrap().tally);
    (operations, tally)
}

/// Cuts every operation of `steps` in every plain mode, after a prologue that is not cut.
pub fn crash_steps(id: &str, chip_name: &str, prologue: &[Step], steps: &[Step]) -> Tally {
    let clock = TestClock::new();
    let plan = Plan { modes: PLAIN, budget: u64::MAX, every: 1, again: SELDOM };
    let watch = Watch::new(id.to_owned(), 1, plan);
    let watch = Arc::new(Mutex::new(watch));
    let hook: Arc<Mutex<dyn Hook + Send>> = watch.clone();
    let mut player = Player::new(Probe::new(chip(chip_name, &clock), hook), clock);
    for (at, step) in prologue.iter().chain(steps).enumerate() {
        if at == prologue.len() {
            watch.lock().unwrap().notes = Some(player.notes.clone());
        }
        player.play(step).unwrap_or_else(|error| panic!("{id} uncut: {step:?}: {error}"));
    }
    std::mem::take(&mut watch.lock().unwrap().tally)
}

/// The outcome of the cuts of a run.
#[derive(Default)]
pub struct Tally {
    pub cuts: u64,
    /// Cuts after which something was lost that had been promised, or that could not be recovered from; each with the
    /// value of `PUMICE_CUT` that brings it back.
    pub failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, verdict: Result<(), String>) {
        self.cuts += 1;
        self.failures.extend(verdict.err());
    }
}

/// Runs a scenario without a cut and compares the end with the model; returns the operations of the chip.
fn uncut(steps: &[Step], chip_name: &str) -> u64 {
    let clock = TestClock::new();
    let shared = Shared::new(chip(chip_name, &clock));
    let before = shared.0.lock().unwrap().operations();
    let mut player = Player::new(shared.clone(), clock);
    for step in steps {
        player.play(step).unwrap_or_else(|error| panic!("{chip_name} uncut: {step:?}: {error}"));
    }
    player.compare().unwrap();
    let operations = shared.0.lock().unwrap().operations();
    operations - before
}

/// Judges the crashed clones of a run.
struct Watch {
    /// The request for the cuts again, but for operation and mode.
    id: String,
    stride: u64,
    plan: Plan,
    /// The part of the operations of which all are cut, in place of the plan.
    whole: Option<Part>,
    tally: Tally,
    /// Cuts of the run itself where it is cut in all modes.
    cuts: u64,
    /// None before the first mount is through: format has promised an empty tree.
    notes: Option<Notes>,
}

impl Watch {
    fn new(id: String, stride: u64, plan: Plan) -> Watch {
        Watch { id, stride, plan, whole: None, tally: Tally::default(), cuts: 0, notes: None }
    }

    fn is_cut_in_all(&self, n: u64) -> bool {
        let is_sampled = || n < self.plan.budget.min(24) || n.is_multiple_of(self.stride);
        self.whole.map_or_else(is_sampled, |part| part.takes(n))
    }
}

impl Hook for Watch {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        if self.notes.is_none() {
            return Vec::new();
        }
        let modes = self.plan.modes;
        let take = match self.is_cut_in_all(n) {
            true => modes.len(),
            false => usize::from(self.whole.is_none() && n.is_multiple_of(self.plan.every)),
        };
        let turn = modes.iter().cycle().skip(usize::try_from(n).unwrap() % modes.len());
        turn.take(take).map(|(_, mode)| *mode).collect()
    }

    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip) {
        let Some(notes) = &self.notes else { return };
        let id = format!("{}:{n}:{}", self.id, letter(mode));
        let is_in_all = self.is_cut_in_all(n);
        let is_chosen = is_in_all && self.cuts.is_multiple_of(self.plan.again);
        self.cuts += u64::from(is_in_all);
        let again = is_chosen.then(|| chip.clone());
        self.tally.add(judged(&id, notes, chip));
        if let Some(chip) = again {
            let (notes, is_whole) = (notes.clone(), self.whole.is_some());
            let again = Again { id, notes, modes: self.plan.modes, is_whole, tally: Tally::default() };
            cut_recovery(again, chip, &mut self.tally);
        }
    }
}

fn judged(id: &str, notes: &Notes, chip: SimChip) -> Result<(), String> {
    let promise = notes.promise();
    let judge = |found: &Image| notes.history.lock().unwrap().judge(found, promise);
    let told = |what| format!("{id}: in a call that promises {promise:?}: {what}");
    verify(chip, &judge).map(drop).map_err(told)
}

/// Judges the crashed clones of a mount after a cut.
struct Again {
    id: String,
    notes: Notes,
    modes: &'static [(char, CutMode)],
    /// None of its operations is left out.
    is_whole: bool,
    tally: Tally,
}

/// Cuts the first sync after a cut at its operations: a mount has none. What a sync has promised is there after a mount.
fn cut_recovery(again: Again, chip: SimChip, tally: &mut Tally) {
    let id = again.id.clone();
    let again = Arc::new(Mutex::new(again));
    let hook: Arc<Mutex<dyn Hook + Send>> = again.clone();
    if let Err(what) = synced(Probe::new(chip, hook)) {
        tally.failures.push(format!("{id}: a sync: {what}"));
    }
    let again = std::mem::take(&mut again.lock().unwrap().tally);
    tally.cuts += again.cuts;
    tally.failures.extend(again.failures);
}

/// Syncs a chip that lost its power, leaves it, and verifies that it is as it was seen.
fn synced(chip: Probe) -> Result<(), String> {
    let fs = mount(chip, &TestClock::new()).map_err(|error| error.to_string())?;
    let seen = Image::take(&fs, &Image::default()).map_err(|error| error.to_string())?;
    fs.sync().map_err(|error| error.to_string())?;
    let chip = fs.abandon().ok_or("no chip")?.chip;
    verify(chip, &|found| seen.compare(found).map_err(|what| format!("{what:?}"))).map(drop)
}

impl Hook for Again {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        // The sync of a full chip ends with much cleaning.
        if n >= 16 && !n.is_multiple_of(37) && !self.is_whole {
            return Vec::new();
        }
        self.modes.iter().map(|(_, mode)| *mode).collect()
    }

    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip) {
        self.tally.add(judged(&format!("{}:{n}:{}", self.id, letter(mode)), &self.notes, chip));
    }
}

/// A cut: the number of operations let through, and the state that it leaves of the next.
type Cut = (u64, CutMode);

/// Cuts the plain way: everything fails from the cut on, the host gives up, the power comes back.
fn plain(name: &str, chip_name: &str, cut: Cut, second: Option<Cut>) {
    let clock = TestClock::new();
    let shared = Shared::new(chip(chip_name, &clock));
    let mut player = Player::new(shared.clone(), clock);
    shared.0.lock().unwrap().cut_after(cut.0, cut.1);
    let played = scenario(name).iter().try_for_each(|step| player.play(step));
    assert!(played.is_err() && !shared.is_powered(), "the cut did not come up: {played:?}");
    let notes = player.notes.clone();
    drop(player);
    shared.0.lock().unwrap().power_on();
    let mut id = format!("PUMICE_CUT={name}:{chip_name}:{}:{}", cut.0, letter(cut.1));
    if let Some((n, mode)) = second {
        id = format!("{id}:{n}:{}", letter(mode));
        shared.0.lock().unwrap().cut_after(n, mode);
        assert!(settle(shared.clone(), &TestClock::new()).is_err(), "the second cut did not come up");
        shared.0.lock().unwrap().power_on();
    }
    judged(&id, &notes, shared.copy()).unwrap_or_else(|what| panic!("{what}"));
}

/// The cuts that an id names, and their scenario.
type Case<'a> = (&'a str, &'a str, Cut, Option<Cut>);

fn case(id: &str) -> Option<Case<'_>> {
    let cut = |n: &str, mode: &str| {
        let mode = MODES.iter().find(|(letter, _)| mode == letter.to_string())?;
        Some((n.parse().ok()?, mode.1))
    };
    let fields: Vec<&str> = id.split(':').collect();
    let (name, chip, first, second) = match fields[..] {
        [name, chip, n, mode] => (name, chip, cut(n, mode)?, None),
        [name, chip, n, mode, m, again] => (name, chip, cut(n, mode)?, Some(cut(m, again)?)),
        _ => return None,
    };
    let is_random = || name.strip_prefix("random").is_some_and(|seed| seed.parse::<u64>().is_ok());
    (ALL.contains(&name) || is_random()).then_some((name, chip, first, second))
}

/// Makes the cuts of a case, the plain way; one that is none fails the test.
pub fn replay(id: &str) {
    println!("PUMICE_CUT={id}");
    let wanted = "scenario:chip:n:mode, or scenario:chip:n:mode:m:mode, of a scenario that there is";
    let (name, chip, first, second) = case(id).unwrap_or_else(|| CUT.unknown(wanted));
    plain(name, chip, first, second);
}

/// No wrong id makes no cut.
#[test]
fn ids_of_cuts_are_read_whole() {
    for id in ["names:spare:7:t", "random12:mlc/dist3:0:g:3:n"] {
        assert!(case(id).is_some(), "{id}");
    }
    for id in [
        "nonsense",
        "names:spare:7",
        "names:spare:7:x",
        "names:spare:x:t",
        "nonsense:spare:7:t",
        "random:spare:7:t",
        "names:spare:7:t:3",
        "names:spare:7:t:3:x",
        "names:spare:7:t:",
        "",
    ] {
        assert!(case(id).is_none(), "{id}");
    }
}
