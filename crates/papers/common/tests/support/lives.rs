//! Volumes that live for years, by seed: session after session of random calls, the power gone somewhere in each, and
//! now and then again while the volume is mounted. Blocks grow bad.
//!
//! After every session the check finds nothing and the paper's promise is kept, of all that the life has brought.
//! Emptied, the volume has the space of a fresh one, and the reads of a mount have their bound.

use pumice_knobs::Campaign;
use pumice_media::{Nand, Rate, SimChip};
use pumice_vfs::conformance::TestClock;
use pumice_vfs::{FileKind, FileSystem, Ino};

use super::cut::{Cuts, Workload, mode, run, verify};
use super::image::Image;
use super::rebuild::rebuild;
use super::shared::Shared;
use super::{Subject, try_mount};

/// Sessions of a life in `make test`, and of ten years at one a week.
const SHORT: u64 = 24;
const LONG: u64 = 520;
/// Calls of a session, if its power lasts.
const CALLS: usize = 60;

/// Lives of a paper's file system.
pub(crate) struct Lives<S> {
    pub(crate) campaign: &'static Campaign,
    /// Its workloads and their judge. The chip holds all their files twice: nothing is refused for want of room.
    pub(crate) cuts: Cuts<S>,
    /// Reads that a mount takes at most.
    pub(crate) most_reads: u64,
    /// Programs and erases that fail, of a billion.
    pub(crate) failing: u32,
}

struct Life<'a, S> {
    lives: &'a Lives<S>,
    rng: fastrand::Rng,
    clock: TestClock,
    chip: Shared,
    /// The tree on it.
    tree: Image,
    /// Free bytes of the empty volume.
    fresh: u64,
    /// The most reads of a mount.
    reads: u64,
    cuts: u64,
}

impl<S: Subject> Lives<S> {
    /// Every second life, from the first or the second on: two tests are two threads.
    pub(crate) fn lead(&self, from: usize) {
        let sessions = self.campaign.lives(if self.campaign.is_usual() { SHORT } else { LONG });
        self.campaign.every_second(1..3, from, |seed| self.life(seed, sessions));
    }

    /// One life.
    pub(crate) fn life(&self, seed: u64, sessions: u64) {
        Life::new(self, seed).lead(sessions);
    }
}

impl<'a, S: Subject> Life<'a, S> {
    fn new(lives: &'a Lives<S>, seed: u64) -> Life<'a, S> {
        let (rng, clock) = (fastrand::Rng::with_seed(seed), TestClock::new());
        let mut chip = lives.cuts.subject.formatted(clock.now());
        let faults = chip.faults_mut();
        faults.program_fail_rate = Some(Rate { per_billion: lives.failing, seed });
        faults.erase_fail_rate = Some(Rate { per_billion: lives.failing, seed: seed + 1 });
        let fs = try_mount::<S, _>(chip, clock.clock()).unwrap();
        let (fresh, tree) = (fs.space().unwrap().free_bytes, Image::take(&fs, &Image::default()).unwrap());
        let chip = Shared::new(fs.unmount().unwrap());
        Life { lives, rng, clock, chip, tree, fresh, reads: 0, cuts: 0 }
    }

    fn lead(mut self, sessions: u64) {
        for session in 0..sessions {
            let doing = core::panic::AssertUnwindSafe(|| {
                self.session(session);
                if self.rng.u8(..8) == 0 || session + 1 == sessions {
                    self.empty();
                }
            });
            if let Err(what) = std::panic::catch_unwind(doing) {
                eprintln!("session {session} of this life");
                std::panic::resume_unwind(what);
            }
        }
        let counts = self.chip.copy().fault_counts();
        eprintln!(
            "LIFE: {sessions} sessions, {} cuts, {} reads of a mount; {counts:?}",
            self.cuts, self.reads
        );
    }

    /// Calls until the power goes, the mounts after it, and a look at everything.
    fn session(&mut self, session: u64) {
        let model = rebuild(&self.tree, &self.clock).unwrap();
        let first = usize::try_from(session).unwrap() * CALLS;
        let own = self.lives.cuts.own;
        let workload = Workload::on(&model, &self.clock, &mut self.rng, first..first + CALLS, own);
        self.arm();
        let done = run::<S>(&workload, &self.chip);
        while self.is_cut_in_a_mount() {}
        let judge = (self.lives.cuts.judge)(&workload);
        verify::<S>(self.chip.copy(), &|found| judge(found, done))
            .unwrap_or_else(|what| panic!("{done} done: {what}"));
        drop(judge);
        self.go_on();
    }

    /// Cuts in some operation soon; near ones more often, so that what a cut left is met by the next.
    fn arm(&mut self) {
        let reach = [4, 30, 300, 2000][self.rng.usize(..4)];
        let (after, mode) = (self.rng.u64(..reach), mode(self.rng.u64(..5), self.rng.u64(..)));
        self.chip.0.lock().unwrap().cut_after(after, mode);
    }

    /// Gives the power back; it may go again while the volume is mounted.
    fn is_cut_in_a_mount(&mut self) -> bool {
        self.cuts += u64::from(!self.chip.is_powered());
        self.chip.power_on();
        if self.rng.u8(..3) > 0 {
            return false;
        }
        self.arm();
        match try_mount::<S, _>(self.chip.clone(), self.clock.clock()) {
            Err(error) if self.chip.is_powered() => panic!("mount: {error}"),
            Ok(fs) => drop(fs),
            Err(_) => {}
        }
        true
    }

    /// Mounts it for the next session, ended in order or not.
    fn go_on(&mut self) {
        let before = self.chip.stats();
        let fs = try_mount::<S, _>(self.chip.clone(), self.clock.clock()).unwrap();
        let now = self.chip.stats();
        let reads = now.page_reads + now.spare_reads - before.page_reads - before.spare_reads;
        assert!(reads <= self.lives.most_reads, "{reads} reads of a mount");
        self.reads = self.reads.max(reads);
        self.tree = Image::take(&fs, &Image::default()).unwrap();
        if self.rng.bool() {
            fs.unmount().unwrap();
        } else {
            fs.abandon().unwrap();
        }
        assert_eq!(self.chip.stats().violations, 0);
    }

    /// A copy of the volume, emptied, has the space of a fresh one but for its bad blocks.
    fn empty(&self) {
        let chip = self.chip.copy();
        let counts = chip.fault_counts();
        let block = chip.geometry().block_bytes();
        let bad = (counts.program_failures + counts.erase_failures) * block;
        let fs = try_mount::<S, SimChip>(chip, self.clock.clock()).unwrap();
        empty(&fs, Ino::ROOT);
        fs.sync().unwrap();
        let free = fs.space().unwrap().free_bytes;
        let least = self.fresh - bad - (self.fresh / 100).max(block);
        assert!(free >= least, "{free} bytes are free when it is emptied, {} at first", self.fresh);
    }
}

/// Removes all that is in a directory.
fn empty(fs: &dyn FileSystem, dir: Ino) {
    for (name, ino, kind) in pumice_vfs::conformance::list(fs, dir).unwrap() {
        if kind == FileKind::Dir {
            empty(fs, ino);
            fs.rmdir(dir, &name).unwrap();
        } else {
            fs.unlink(dir, &name).unwrap();
        }
    }
}
