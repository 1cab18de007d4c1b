//! Runs a scenario once and cuts the power in the middle of every operation of the chip: in every mode at some, at
//! the others in one mode after the other.
//!
//! One run does it: the chip crashes in clones (see `probe`). A few cuts are made the plain way too, with the power
//! gone for good and the error coming up through the file system. A case is named
//! `scenario:geometry:n:mode`, or with a second cut in the recovery `scenario:geometry:n:mode:m:mode`;
//! `PUMICE_CUT` set to that runs it alone, the plain way. With `PUMICE_CUTS=all` every operation is cut in every mode.

use std::cell::RefCell;
use std::rc::Rc;

use pumice_media::{ChipSpec, CutMode, SimChip};
use pumice_nandfs::{FormatOptions, format};
use pumice_vfs::conformance::TestClock;

use super::image::Image;
use super::player::{Notes, Player};
use super::probe::{Hook, Probe};
use super::scenarios::scenario;
use super::shared::Shared;
use super::step::Step;
use super::verify::{mount, verify};

/// Modes by their letters.
const MODES: [(char, CutMode); 5] = [
    ('n', CutMode::Nothing),
    ('c', CutMode::Complete),
    ('t', CutMode::Torn { seed: 1 }),
    ('g', CutMode::Garbage { seed: 2 }),
    ('h', CutMode::Half { seed: 3 }),
];

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

/// Nothing is to be left out.
fn all() -> bool {
    std::env::var("PUMICE_CUTS").is_ok_and(|cuts| cuts == "all")
}

fn letter(mode: CutMode) -> char {
    MODES.iter().find(|(_, known)| *known == mode).map_or('?', |(letter, _)| *letter)
}

/// A fresh chip of this name.
pub fn chip(name: &str, clock: &TestClock) -> SimChip {
    let geometry = CHIPS.iter().find(|(known, _)| *known == name).map_or(name, |(_, geometry)| *geometry);
    let mut chip = SimChip::new(&ChipSpec::parse_geometry(geometry).unwrap());
    let options = FormatOptions {
        uuid: *b"0123456789abcdef",
        created: clock.now(),
        erased: true,
        ..FormatOptions::default()
    };
    format(&mut chip, &options, &mut |_, _| {}).unwrap();
    chip
}

/// Cuts a scenario on a chip in all of its operations, in about `budget` of them in all modes; returns how many cuts were
/// made.
pub fn cut_everywhere(name: &str, chip_name: &str, budget: u64) -> u64 {
    if let Ok(case) = std::env::var("PUMICE_CUT") {
        replay_if(&case, name, chip_name);
        return 0;
    }
    let steps = scenario(name);
    let operations = uncut(&steps, chip_name);
    let budget = if all() { u64::MAX } else { budget };
    let stride = operations.div_ceil(budget).max(1);
    let clock = TestClock::new();
    let start = chip(chip_name, &clock);
    let watch =
        Rc::new(RefCell::new(Watch { id: format!("{name}:{chip_name}"), stride, cuts: 0, notes: None }));
    let hook: Rc<RefCell<dyn Hook>> = watch.clone();
    let mut player = Player::new(Probe::new(start, hook), clock);
    watch.borrow_mut().notes = Some(player.notes.clone());
    for step in &steps {
        player.play(step).unwrap_or_else(|error| panic!("{name}:{chip_name} uncut: {step:?}: {error}"));
    }
    for n in [operations / 3, operations * 4 / 5] {
        plain(name, chip_name, (n, MODES[2].1), None);
    }
    let watch = watch.borrow();
    eprintln!("{name}:{chip_name}: {operations} operations, {} cuts", watch.cuts);
    watch.cuts
}

/// Runs a scenario without a cut and compares the end with the model; returns the operations of the chip.
fn uncut(steps: &[Step], chip_name: &str) -> u64 {
    let clock = TestClock::new();
    let shared = Shared::new(chip(chip_name, &clock));
    let before = shared.0.borrow().operations();
    let mut player = Player::new(shared.clone(), clock);
    for step in steps {
        player.play(step).unwrap_or_else(|error| panic!("{chip_name} uncut: {step:?}: {error}"));
    }
    player.compare().unwrap();
    let operations = shared.0.borrow().operations();
    operations - before
}

/// Judges the crashed clones of a run.
struct Watch {
    id: String,
    stride: u64,
    cuts: u64,
    /// None before the first mount is through: format has promised an empty tree.
    notes: Option<Notes>,
}

/// Of so many cuts one has its recovery cut again, where cuts are made in all modes.
const AGAIN_EVERY: u64 = 61;

impl Watch {
    fn is_cut_in_all(&self, n: u64) -> bool {
        n < 24 || n.is_multiple_of(self.stride)
    }
}

impl Hook for Watch {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        if self.notes.is_none() {
            return Vec::new();
        }
        let turn = MODES.iter().cycle().skip(usize::try_from(n).unwrap() % MODES.len());
        turn.take(if self.is_cut_in_all(n) { MODES.len() } else { 1 }).map(|(_, mode)| *mode).collect()
    }

    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip) {
        let Some(notes) = &self.notes else { return };
        let id = format!("{}:{n}:{}", self.id, letter(mode));
        let is_chosen = self.is_cut_in_all(n) && self.cuts.is_multiple_of(AGAIN_EVERY);
        let again = is_chosen.then(|| chip.clone());
        self.cuts += 1;
        judged(&id, notes, chip);
        if let Some(chip) = again {
            self.cuts += cut_recovery(&id, notes, chip);
        }
    }
}

fn judged(id: &str, notes: &Notes, chip: SimChip) {
    let promise = notes.promise.get();
    let judge = |found: &Image| notes.history.borrow().judge(found, promise);
    if let Err(what) = verify(chip, &judge) {
        panic!("PUMICE_CUT={id}: in a call that promises {promise:?}: {what}");
    }
}

/// Cuts the mount after a cut at its operations.
fn cut_recovery(id: &str, notes: &Notes, chip: SimChip) -> u64 {
    let again = Rc::new(RefCell::new(Again { id: id.to_string(), notes: notes.clone(), cuts: 0 }));
    let hook: Rc<RefCell<dyn Hook>> = again.clone();
    if let Err(error) = mount(Probe::new(chip, hook), &TestClock::new()) {
        panic!("PUMICE_CUT={id}: {error}");
    }
    again.borrow().cuts
}

struct Again {
    id: String,
    notes: Notes,
    cuts: u64,
}

impl Hook for Again {
    fn modes(&mut self, n: u64) -> Vec<CutMode> {
        // The mount of a full chip ends with much cleaning.
        if n >= 16 && !n.is_multiple_of(37) && !all() {
            return Vec::new();
        }
        MODES.iter().map(|(_, mode)| *mode).collect()
    }

    fn crashed(&mut self, n: u64, mode: CutMode, chip: SimChip) {
        self.cuts += 1;
        judged(&format!("{}:{n}:{}", self.id, letter(mode)), &self.notes, chip);
    }
}

/// A cut: how many operations are let through, and what is left of the next.
type Cut = (u64, CutMode);

/// Cuts the plain way: everything fails from the cut on, the host gives up, the power comes back.
fn plain(name: &str, chip_name: &str, cut: Cut, second: Option<Cut>) {
    let clock = TestClock::new();
    let shared = Shared::new(chip(chip_name, &clock));
    let mut player = Player::new(shared.clone(), clock);
    shared.0.borrow_mut().cut_after(cut.0, cut.1);
    let played = scenario(name).iter().try_for_each(|step| player.play(step));
    assert!(played.is_err() && !shared.0.borrow().is_powered(), "the cut did not come up: {played:?}");
    let notes = player.notes.clone();
    drop(player);
    shared.0.borrow_mut().power_on();
    let mut id = format!("{name}:{chip_name}:{}:{}", cut.0, letter(cut.1));
    if let Some((n, mode)) = second {
        id = format!("{id}:{n}:{}", letter(mode));
        shared.0.borrow_mut().cut_after(n, mode);
        assert!(mount(shared.clone(), &TestClock::new()).is_err(), "the second cut did not come up");
        shared.0.borrow_mut().power_on();
    }
    judged(&id, &notes, shared.copy());
}

fn replay_if(case: &str, name: &str, chip_name: &str) {
    let fields: Vec<&str> = case.split(':').collect();
    let cut = |at: usize| -> Option<Cut> {
        let mode =
            MODES.iter().find(|(letter, _)| fields.get(at + 1) == Some(&letter.to_string().as_str()))?;
        Some((fields.get(at)?.parse().ok()?, mode.1))
    };
    if fields.get(..2) == Some(&[name, chip_name]) {
        plain(name, chip_name, cut(2).expect("PUMICE_CUT=scenario:chip:n:mode"), cut(4));
    }
}
