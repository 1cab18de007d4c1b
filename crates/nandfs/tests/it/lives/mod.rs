//! Volumes that live for years, by seed: session after session of what devices do all day, boots, cuts in series, repairs
//! and scrubs in between, on chips of every pairing and page size, with one oracle over the whole life.
//!
//! After every session: what was promised is there; the check finds nothing; a mount may write, in bounded reads and
//! memory; and the volume, were it emptied, would have the space of a fresh one.

mod asks;
mod day;

use pumice_knobs::NANDFS_LIVES;
use pumice_media::{Nand, SimChip};
use pumice_nandfs::{MountOptions, NandFs, RepairOptions, repair};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::model::MemFs;

use crate::cut::image::Image;
use crate::cut::player::{Notes, Player};
use crate::cut::random::Random;
use crate::cut::rebuild::rebuild;
use crate::cut::runner::chip;
use crate::cut::shared::Shared;
use crate::cut::verify::sound;
use asks::Asks;
use day::{DAYS, Day};

/// Chips of every layout and pairing, in small blocks; those with parity, with copies of it, and that compress.
const CHIPS: [&str; 12] = [
    "2048+64:16:96",
    "spare/dist3",
    "gang",
    "page/dist3",
    "slots",
    "spares+1",
    "mlc/dist3",
    "2048+64:16:96@lz4",
    "page",
    "slots/dist3",
    "spares+1now",
    "tlc/by3",
];

/// Sessions of a life in `make test`, and of ten years at one a week.
const SHORT: u64 = 40;
const LONG: u64 = 520;

/// Caches of mounts, in bytes: the least, and what a large board has.
const CACHES: [usize; 3] = [256 << 10, 1 << 20, 8 << 20];

/// What is known of a volume that is not mounted.
enum Past {
    /// It was closed, and must hold this.
    Closed(MemFs),
    /// The power went, or the host stopped.
    Cut(Notes),
}

/// A life.
struct Life {
    name: &'static str,
    random: Random,
    clock: TestClock,
    shared: Shared,
    asks: Asks,
    calls: usize,
}

impl Life {
    fn new(seed: u64) -> Life {
        let clock = TestClock::new();
        let name = CHIPS[(seed % CHIPS.len() as u64) as usize];
        let fresh = chip(name, &clock);
        let asks = Asks::of(name, &fresh);
        Life { name, random: Random(seed), clock, shared: Shared::new(fresh), asks, calls: 0 }
    }

    /// Cuts in some operation soon; near ones more often, so that recoveries are hit.
    fn arm(&mut self) {
        let reach = [4, 30, 300, 2000][self.random.below(4) as usize];
        let (after, mode) = (self.random.below(reach), self.random.cut_mode());
        self.shared.0.lock().unwrap().cut_after(after, mode);
    }

    /// Mounts for writing; a chip that lost its power may lose it again and again on the way.
    fn mount(&mut self, was_cut: bool) -> NandFs<Shared> {
        loop {
            self.shared.0.lock().unwrap().power_on();
            if was_cut && self.random.below(3) == 0 {
                self.arm();
            }
            let cache_bytes = CACHES[self.random.below(3) as usize];
            let options = MountOptions { read_only: false, cache_bytes, clock: self.clock.clock() };
            let before = self.shared.stats();
            match NandFs::mount(self.shared.clone(), options) {
                Ok(fs) => {
                    self.shared.0.lock().unwrap().faults_mut().power_cut = None;
                    self.asks.mounted(self.shared.stats() - before, was_cut, &fs.info().unwrap());
                    return fs;
                }
                Err(error) if self.shared.0.lock().unwrap().is_powered() => panic!("mount: {error}"),
                Err(_) => {}
            }
        }
    }

    /// A model of what a mounted volume holds, which is what was promised.
    fn model(&self, fs: &NandFs<Shared>, past: Past) -> MemFs {
        let found = Image::take(fs, &Image::default()).unwrap_or_else(|error| panic!("reading: {error}"));
        match past {
            Past::Closed(model) => {
                let want = Image::take(&model, &Image::default()).unwrap();
                want.compare(&found).unwrap_or_else(|what| panic!("after an unmount: {what:?}"));
                model
            }
            Past::Cut(notes) => {
                let judged = notes.history.lock().unwrap().judge(&found, notes.promise());
                judged.unwrap_or_else(|what| panic!("after a cut: {what}"));
                rebuild(&found, &self.clock).unwrap()
            }
        }
    }

    /// A repair of what is sound finds nothing, and leaves all that there is.
    fn repair(&self) {
        let options = RepairOptions { now: self.clock.now(), ..RepairOptions::default() };
        self.shared.0.lock().unwrap().power_on();
        let (_, found) =
            repair(self.shared.clone(), options).unwrap_or_else(|error| panic!("repair: {error}"));
        assert!(found.is_empty(), "repair of what is sound: {found:?}");
    }

    /// One session, from mount to unmount, or to where the power goes.
    fn session(&mut self, past: Past) -> Past {
        // Days go by, weeks now and then.
        let days = if self.random.below(8) == 0 { 40 } else { 1 };
        (0..days * 86_400 / 64).for_each(|_| self.clock.tick());
        if self.random.below(12) == 0 {
            self.repair();
        }
        let fs = self.mount(matches!(past, Past::Cut(_)));
        let model = self.model(&fs, past);
        let mut player = Player::of(fs, model, self.clock.clone(), self.calls);
        let will_be_cut = self.random.below(3) == 0;
        if will_be_cut {
            self.arm();
        }
        let (what, work) = DAYS[self.random.below(DAYS.len() as u64) as usize];
        let done = work(&mut Day { player: &mut player, random: &mut self.random, calls: &mut self.calls });
        self.calls += 1;
        let powered = self.shared.0.lock().unwrap().is_powered();
        assert!(done.is_ok() || !powered, "{what}: {done:?}");
        if powered {
            player.compare().unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
        }
        self.shared.0.lock().unwrap().faults_mut().power_cut = None;
        self.end(player, powered)
    }

    /// Unmounts, unless the power is gone or the host stops.
    fn end(&mut self, player: Player<Shared>, powered: bool) -> Past {
        let Player { fs, model, notes, .. } = player;
        match fs {
            Some(fs) if powered && self.random.below(4) > 0 => {
                fs.unmount().unwrap_or_else(|error| panic!("unmount: {error}"));
                model.remount();
                Past::Closed(model)
            }
            _ => Past::Cut(notes),
        }
    }

    /// The chip as it is, with its power.
    fn copy(&self) -> SimChip {
        let mut copy = self.shared.copy();
        copy.power_on();
        copy
    }

    fn live(&mut self, sessions: u64) {
        let mut past = Past::Closed(MemFs::new(self.clock.clock()));
        for session in 0..sessions {
            let doing = std::panic::AssertUnwindSafe(|| {
                past =
                    self.session(std::mem::replace(&mut past, Past::Closed(MemFs::new(self.clock.clock()))));
                sound(&self.copy(), "between sessions").unwrap_or_else(|what| panic!("{what}"));
                self.asks.between(&self.copy(), &self.clock);
            });
            if let Err(what) = std::panic::catch_unwind(doing) {
                eprintln!("{}, session {session} of this life", self.name);
                std::panic::resume_unwind(what);
            }
        }
        assert_eq!(self.shared.stats().violations, 0, "a rule of the chip was broken");
        eprintln!("LIFE on {}: {sessions} sessions, {} calls; {}", self.name, self.calls, self.asks);
    }
}

/// Every second seed from the first or the second on: two tests are two threads.
fn run(from: usize) {
    let seeds = NANDFS_LIVES.seeds(0..CHIPS.len() as u64);
    let sessions = NANDFS_LIVES.lives(if NANDFS_LIVES.is_usual() { SHORT } else { LONG });
    let mine: Vec<u64> = seeds.clone().skip(from).step_by(2).collect();
    for seed in &mine {
        NANDFS_LIVES.begin(*seed);
        Life::new(*seed).live(sessions);
    }
    NANDFS_LIVES.ran(seeds, mine.len() as u64);
}

#[test]
fn even_seeds() {
    run(0);
}

#[test]
fn odd_seeds() {
    run(1);
}
