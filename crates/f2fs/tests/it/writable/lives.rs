//! Volumes that live for years, by seed: session after session of random work, mounted in other ways each time. The power
//! goes somewhere in each, and now and then again while the volume is rolled forward.
//!
//! After every session all that was promised is there, the check finds nothing, and the volume is written on. Emptied, it
//! has the space of a fresh one, and a mount takes the reads of the first year.

use std::{collections::HashSet, sync::Arc};

use pumice_f2fs::{DiscardUnit, InPlace, Logging, WritableF2fs, WritableOptions};
use pumice_knobs::F2FS_LIVES;
use pumice_vfs::{FileKind, FileSystem, Ino, conformance::TestClock};

use super::{
    crash::{Length, mount_by, options, run_on, ticking},
    power::{Image, Live},
    subject::{Shape, ours, volume},
};

const FEATURES: &[&str] = &["extra_attr", "inode_checksum", "quota_ino"];
const BYTES: u64 = 64 << 20;

/// Sessions of a life in `make test`, and of ten years at one a week.
const SHORT: u64 = 8;
const LONG: u64 = 520;
/// Sessions of a year.
const YEAR: u64 = 52;
/// Reads that any mount may take more than those of the first year: a chain that is rolled forward is longer or shorter.
const READS: u64 = 400;
/// Space that directories of the root may hold on to: one segment.
const SEGMENT: u64 = 2 << 20;

struct Life {
    random: fastrand::Rng,
    image: Image,
    /// What users could fill at first.
    fresh: u64,
    first_reads: u64,
    cuts: u64,
}

impl Life {
    fn new(seed: u64) -> Life {
        let shapes = [
            Shape::default(),
            Shape { features: FEATURES, ..Shape::default() },
            Shape { dir_level: 2, ..Shape::default() },
        ];
        let image = volume(BYTES, &shapes[usize::try_from(seed % 3).unwrap()], &TestClock::new());
        let fs = mount_by(&Live::new(image.clone()), options()).unwrap();
        let fresh = fs.space().unwrap().free_bytes;
        Life { random: fastrand::Rng::with_seed(seed), image, fresh, first_reads: 0, cuts: 0 }
    }

    /// Ways to mount.
    fn options(&mut self) -> WritableOptions {
        let random = &mut self.random;
        WritableOptions {
            cache_bytes: [256 << 10, 1 << 20, 8 << 20][random.usize(..3)],
            logging: [Logging::Adaptive, Logging::Normal][random.usize(..2)],
            in_place: [InPlace::Never, InPlace::Fsync, InPlace::Always][random.usize(..3)],
            discard: random.bool(),
            discard_unit: [DiscardUnit::Block, DiscardUnit::Segment][random.usize(..2)],
            strict_fsync: random.bool(),
            clock: ticking(),
            ..options()
        }
    }

    /// One session, to where the power goes or to its end.
    fn session(&mut self, seed: u64) {
        let how = self.options();
        let length = Length { steps: self.random.usize(1..12), far: 500_000, is_full: true };
        let recorded = run_on(&self.image, how, seed, &length);
        let (count, state) = recorded.cut(&mut self.random);
        let goes_again = self.random.u8(..8) == 0;
        let rolled = recorded.judge("cut", count, state.clone());
        if goes_again {
            recorded.cut_recovery("cut", &state, &rolled, &mut self.random, &mut HashSet::new());
        }
        self.image = state;
        self.cuts += 1;
    }

    /// An orderly day: a mount and its end.
    fn rest(&mut self, is_first_year: bool) {
        let live = Live::new(self.image.clone());
        let fs = mount_by(&live, self.options()).unwrap();
        let reads = live.log().reads;
        if is_first_year {
            self.first_reads = self.first_reads.max(reads);
        }
        assert!(
            reads <= self.first_reads * 3 / 2 + READS,
            "{reads} reads, {} in the first year",
            self.first_reads
        );
        fs.unmount().unwrap();
        self.image = live.image();
        ours(&Arc::new(self.image.clone()));
    }

    /// A copy of the volume, emptied, has the space of a fresh one.
    fn empty(&self) {
        let live = Live::new(self.image.clone());
        let fs = mount_by(&live, options()).unwrap();
        empty(&fs, Ino::ROOT);
        fs.sync().unwrap();
        let free = fs.space().unwrap().free_bytes;
        let least = self.fresh - (self.fresh / 100).max(SEGMENT);
        assert!(free >= least, "{free} bytes are free when it is emptied, {} at first", self.fresh);
    }

    fn live(mut self, seed: u64, sessions: u64) {
        for session in 0..sessions {
            let seed = seed * LONG + session;
            let doing = std::panic::AssertUnwindSafe(|| {
                self.session(seed);
                if self.random.bool() {
                    self.rest(session < YEAR);
                }
                if self.random.u8(..8) == 0 || session + 1 == sessions {
                    self.empty();
                }
            });
            if let Err(what) = std::panic::catch_unwind(doing) {
                eprintln!("session {session} of this life");
                std::panic::resume_unwind(what);
            }
        }
        eprintln!(
            "LIFE: {sessions} sessions, {} cuts, {} reads of a mount in the first year",
            self.cuts, self.first_reads
        );
    }
}

/// Removes all that is in a directory.
pub(crate) fn empty(fs: &WritableF2fs, dir: Ino) {
    let mut names = Vec::new();
    fs.readdir(dir, 0, &mut |entry| {
        names.push(entry.name.to_vec());
        true
    })
    .unwrap();
    for name in names {
        let attr = fs.lookup(dir, &name).unwrap();
        if attr.kind == FileKind::Dir {
            empty(fs, attr.ino);
            fs.rmdir(dir, &name).unwrap();
        } else {
            fs.unlink(dir, &name).unwrap();
        }
    }
}

fn run(from: usize) {
    let sessions = F2FS_LIVES.lives(if F2FS_LIVES.is_usual() { SHORT } else { LONG });
    F2FS_LIVES.every_second(0..6, from, |seed| Life::new(seed).live(seed, sessions));
}

#[test]
fn even_seeds() {
    run(0);
}

#[test]
fn odd_seeds() {
    run(1);
}
