//! All short sequences of calls, after CrashMonkey's B3 (Mohan et al., OSDI 2018). They are up to four calls of
//! fourteen kinds on a few paths, each followed by nothing, an fsync or a sync, on the smallest chip that the file
//! system takes. The power is cut in every operation and every mode, but in the first of several calls: there the same
//! chip loses it with the same calls behind it as where this call is alone.
//!
//! In CI: all sequences of one call, of those of two every [`PAIRS`]th, and of those of three every [`SAMPLE`]th.
//! `PUMICE_B3=3` and `4` take all of three, which begin with all of two, and of four, `PUMICE_PART=K/N` a part of them.
//! A failure names the calls and the cut.

use crate::cut::runner::{Tally, crash_steps};
use crate::cut::step::Step;
use pumice_knobs::{NANDFS_BOUNDED, Part};
use pumice_vfs::{FileKind, RenameMode, SpaceMode};

/// As few blocks as the file system takes, and as few pages in each.
const CHIP: &str = "2048+64:4:40";
/// One in so many sequences of three calls is played in CI.
const SAMPLE: u64 = 499;
/// The same of two calls; it does not divide the number of calls, so that each call comes second, too.
const PAIRS: u64 = 9;

/// The tree before the sequence begins.
fn prologue() -> Vec<Step> {
    vec![
        Step::Make("/d".into(), FileKind::Dir),
        Step::Create("/a".into()),
        Step::Write("/a".into(), 0, 2500),
        Step::Create("/d/b".into()),
        Step::Write("/d/b".into(), 0, 700),
        Step::SetXattr("/a".into(), 1, 20),
        Step::Sync,
    ]
}

/// The calls, each with the path for an fsync after it.
fn calls() -> Vec<(Step, &'static str)> {
    let (a, b) = ("/a", "/d/b");
    let own = |path: &str| path.to_owned();
    let rename = |from: &str, to: &str, mode| Step::Rename(own(from), own(to), mode);
    vec![
        // 1 to 3: new files, directories and links of their own.
        (Step::Create(own("/new")), "/new"),
        (Step::Create(own("/d/new")), "/d/new"),
        (Step::Make(own("/e"), FileKind::Dir), "/e"),
        (Step::Make(own("/d/link"), FileKind::Symlink), "/d/link"),
        // 4 and 5: appended and overwritten.
        (Step::Write(own(a), 2500, 1800), a),
        (Step::Write(own(b), 700, 4000), b),
        (Step::Write(own(a), 600, 300), a),
        // 6 to 8: lengths and space.
        (Step::Truncate(own(a), 100), a),
        (Step::Truncate(own(a), 9000), a),
        (Step::Allocate(own(a), SpaceMode::Reserve { keep_size: false }, 2000, 4000), a),
        (Step::Allocate(own(a), SpaceMode::PunchHole, 0, 2048), a),
        // 9: another name.
        (Step::Link(own(a), own("/d/a")), a),
        // 10 and 11: moved, over something, and exchanged.
        (rename(a, "/d/c", RenameMode::Replace), "/d/c"),
        (rename(a, b, RenameMode::Replace), b),
        (rename("/d", "/f", RenameMode::Replace), "/f/b"),
        (rename(a, b, RenameMode::Exchange), a),
        // 12: names taken away.
        (Step::Unlink(own(a)), "/"),
        (Step::Unlink(own(b)), "/d"),
        (Step::Rmdir(own("/d")), "/"),
        // 13 and 14: attributes.
        (Step::SetXattr(own(b), 2, 300), b),
        (Step::RemoveXattr(own(a), 1), a),
        (Step::Chmod(own(a), 0o600), a),
    ]
}

/// The number of things that may follow a call.
const FOLLOWS: usize = 3;

/// Sequences of so many calls.
fn count(length: u32) -> usize {
    (calls().len() * FOLLOWS).pow(length)
}

/// A sequence by its number, and the steps before the second call. The digits are the calls and their followers. The
/// last call is always followed by something, or there would be nothing to keep.
fn sequence(mut number: usize, length: u32) -> Option<(Vec<Step>, usize)> {
    let calls = calls();
    let (mut steps, mut first) = (Vec::new(), 0);
    for place in 0..length {
        if place == 1 {
            first = steps.len();
        }
        let (follows, call) = (number % FOLLOWS, number / FOLLOWS % calls.len());
        number /= FOLLOWS * calls.len();
        let (step, path) = calls[call].clone();
        steps.push(step);
        match follows {
            1 => steps.push(Step::Fsync(path.into())),
            2 => steps.push(Step::Sync),
            _ if place + 1 == length => return None,
            _ => {}
        }
    }
    Some((steps, first))
}

/// Plays these sequences of a length, with cuts in the first of several calls or not; returns the tally of the cuts.
fn play(length: u32, numbers: impl Iterator<Item = usize>, with_first: bool) -> Tally {
    let mut sum = Tally::default();
    let mut played = 0;
    for number in numbers {
        let Some((steps, first)) = sequence(number, length) else { continue };
        let (uncut, cut) = steps.split_at(if with_first { 0 } else { first });
        played += 1;
        let again = format!("PUMICE_B3={length} PUMICE_PART={number}/{}", count(length));
        let tally = crash_steps(&again, CHIP, &[&prologue(), uncut].concat(), cut);
        sum.cuts += tally.cuts;
        sum.failures.extend(tally.failures);
        assert!(sum.failures.is_empty(), "{}: {steps:?}", sum.failures[0]);
    }
    println!("{played} sequences of {length}: {} cuts", sum.cuts);
    sum
}

#[test]
fn sequences_of_one_call() {
    assert!(play(1, 0..count(1), true).cuts > 300);
}

#[test]
fn sequences_of_two_calls() {
    assert!(!(count(1) as u64).is_multiple_of(PAIRS), "some calls never come second");
    assert!(play(2, Part { index: 2, of: PAIRS }.pick(0..count(2)), false).cuts > 3_000);
}

/// The mount after a cut erases the block with the torn page last: an erase that is cut leaves more torn pages there.
#[test]
fn a_sequence_whose_cut_mount_is_cut() {
    assert!(play(3, [62_885].into_iter(), true).cuts > 100);
}

#[test]
fn longer_sequences() {
    let length = NANDFS_BOUNDED.count().map_or(3, |length| u32::try_from(length).unwrap());
    // The sample does not begin with the calls that make new files alone.
    let which = NANDFS_BOUNDED.whole().unwrap_or(Part { index: 5, of: SAMPLE });
    let tally = play(length, which.pick(0..count(length)), false);
    NANDFS_BOUNDED.ran_part(tally.cuts);
}
