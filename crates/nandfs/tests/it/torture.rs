//! Random calls, the power cut at random operations, again and again on the same chip, for each seed.

use crate::cut::image::Image;
use crate::cut::player::Player;
use crate::cut::random::Random;
use crate::cut::rebuild::rebuild;
use crate::cut::runner::{CHIPS, chip};
use crate::cut::shared::Shared;
use crate::cut::verify::{mount, settle, sound};
use pumice_knobs::NANDFS_TORTURE;
use pumice_media::Nand;
use pumice_vfs::conformance::TestClock;

/// Lives of a chip in CI.
const ROUNDS: u64 = 60;
/// Calls of a life; most are cut off before.
const CALLS: u64 = 600;
/// Files get about this long, in bytes: together they fill a good part of the chip.
const FILE_BYTES: u64 = 60_000;

/// Cuts in some operation soon; near ones more often, so that recoveries are hit.
fn arm(random: &mut Random, shared: &Shared) {
    let reach = [4, 30, 300, 2000][random.below(4) as usize];
    let (after, mode) = (random.below(reach), random.cut_mode());
    shared.0.lock().unwrap().cut_after(after, mode);
}

/// Mounts a chip that may lose its power again and again while it is mounted.
fn remount(random: &mut Random, shared: &Shared, clock: &TestClock) -> pumice_nandfs::NandFs<Shared> {
    loop {
        shared.0.lock().unwrap().power_on();
        if random.below(3) == 0 {
            arm(random, shared);
        }
        let again = if random.below(2) == 0 { mount } else { settle };
        match again(shared.clone(), clock) {
            Ok(fs) => return fs,
            Err(error) if shared.is_powered() => panic!("mount: {error}"),
            Err(_) => {}
        }
    }
}

fn torture(seed: u64) {
    let mut random = Random(seed);
    let clock = TestClock::new();
    let (name, _) = CHIPS[(seed % CHIPS.len() as u64) as usize];
    let shared = Shared::new(chip(name, &clock));
    let mut player = Player::new(shared.clone(), clock.clone());
    let mut calls = 0;
    for round in 0..NANDFS_TORTURE.lives(ROUNDS) {
        arm(&mut random, &shared);
        let life = (0..CALLS).try_for_each(|_| {
            calls += 1;
            player.play(&random.step(FILE_BYTES))
        });
        let powered = shared.is_powered();
        assert!(life.is_ok() || !powered, "{name}, life {round}: {life:?}");
        if powered {
            player.compare().unwrap_or_else(|what| panic!("{name}, life {round}, uncut: {what}"));
        }
        let notes = player.notes.clone();
        drop(player);
        shared.0.lock().unwrap().power_on();
        shared.0.lock().unwrap().faults_mut().power_cut = None;
        sound(&shared.copy(), "after the cut").unwrap_or_else(|what| panic!("{name}, life {round}: {what}"));
        let fs = remount(&mut random, &shared, &clock);
        shared.0.lock().unwrap().faults_mut().power_cut = None;
        let found =
            Image::take(&fs, &Image::default()).unwrap_or_else(|e| panic!("{name}, life {round}: {e}"));
        let judged = notes.history.lock().unwrap().judge(&found, notes.promise());
        judged.unwrap_or_else(|what| panic!("{name}, life {round}: {what}"));
        assert_eq!(shared.stats().violations, 0, "{name}, life {round}: a rule of the chip was broken");
        let model = rebuild(&found, &clock).unwrap();
        player = Player::of(fs, model, clock.clone(), calls as usize);
        found.compare(player.notes.history.lock().unwrap().last()).unwrap();
    }
    let info = player.fs.as_ref().unwrap().info().unwrap();
    assert_eq!(info.bad_blocks, 0, "{name}: power cuts wear no block out");
    eprintln!("TORTURE seed {seed} on {name}: {calls} calls");
}

#[test]
fn even_seeds() {
    NANDFS_TORTURE.every_second(0..8, 0, torture);
}

#[test]
fn odd_seeds() {
    NANDFS_TORTURE.every_second(0..8, 1, torture);
}
