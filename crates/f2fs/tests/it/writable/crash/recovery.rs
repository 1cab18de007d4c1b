//! Power fails while a mount rolls forward what fsync promised, and again while the next mount does: the same files come
//! of it.

use std::collections::HashSet;

use pumice_f2fs::{InPlace, Logging, WritableOptions};
use pumice_knobs::F2FS_CUT_RECOVERIES;
use pumice_vfs::conformance::TestClock;

use super::{Length, Recorded, Rolled, nearly_full, options, roll, run, run_on, same, states, ticking};
use crate::writable::{
    power::{Image, Replay},
    subject::{Shape, volume},
};

/// Cuts of a recovery, each within the recovery from the one before.
const DEEP: u8 = 3;
/// One recovery in so many is cut again.
const AGAIN: u8 = 4;
/// States of a workload that are rolled forward.
const STATES: usize = 8;

impl Recorded {
    /// Cuts the power behind each write of the mount that rolled `state` forward, and some of the mounts that follow.
    pub(crate) fn cut_recovery(
        &self,
        what: &str,
        state: &Image,
        rolled: &Rolled,
        random: &mut fastrand::Rng,
        seen: &mut HashSet<u64>,
    ) {
        self.cut_deeper(what, state, rolled, DEEP, random, seen);
    }

    fn cut_deeper(
        &self,
        what: &str,
        state: &Image,
        rolled: &Rolled,
        deep: u8,
        random: &mut fastrand::Rng,
        seen: &mut HashSet<u64>,
    ) {
        let mut replay = Replay::new(&self.sb, state.clone());
        for (number, event) in rolled.events.iter().enumerate() {
            replay.step(event);
            let (family, image) = replay.one_of_family(random);
            if !seen.insert(image.hash()) {
                continue;
            }
            let what = format!("{what}, then {family} of {} of its recovery", number + 1);
            let next = roll(&what, image.clone(), |found| same(&what, found, &[&rolled.found]));
            if deep > 1 && random.u8(..AGAIN) == 0 {
                self.cut_deeper(&what, &image, &next, deep - 1, random, seen);
            }
        }
    }
}

/// A workload of one of some kinds.
fn workload(seed: u64) -> Recorded {
    let short = Length { steps: 60, far: 500_000, is_full: false };
    match seed % 3 {
        0 => {
            let how = WritableOptions { in_place: InPlace::Fsync, clock: ticking(), ..options() };
            run_on(&volume(64 << 20, &Shape::default(), &TestClock::new()), how, seed, &short)
        }
        1 => run(seed, 60, 12_200_000),
        _ => {
            let how = WritableOptions { logging: Logging::Normal, ..options() };
            run_on(&nearly_full(seed, 64 << 20, 85), how, seed, &Length { is_full: true, ..short })
        }
    }
}

#[test]
fn a_recovery_outlives_power_cuts() {
    let most = states(&F2FS_CUT_RECOVERIES, 60);
    let (mut seen, mut rolled, first, mut next) = (HashSet::new(), 0, F2FS_CUT_RECOVERIES.first_seed(1), 0);
    for seed in first.. {
        F2FS_CUT_RECOVERIES.begin(seed);
        next = seed + 1;
        let (recorded, mut random) = (workload(seed), fastrand::Rng::with_seed(seed));
        for _ in 0..STATES {
            let (count, state) = recorded.cut(&mut random);
            let first = recorded.judge("cut", count, state.clone());
            rolled += usize::from(first.inodes > 0);
            if first.inodes > 0 && seen.len() < most {
                recorded.cut_recovery(&format!("cut at {count}"), &state, &first, &mut random, &mut seen);
            }
        }
        if seen.len() >= most {
            break;
        }
    }
    eprintln!("{} states of {rolled} recoveries", seen.len());
    F2FS_CUT_RECOVERIES.ran(first..next, seen.len() as u64);
    assert!(rolled > 0, "nothing was rolled forward");
}
