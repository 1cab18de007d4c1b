//! The server against an array: random writes, trims, flushes, restarts, on chips of every layout.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]

mod common;

use common::shared::Shared;
use common::{CASES, Case, Player, Step, policies};
use pumice_ftl::{Ftl, OpenOptions, PolicyNames};
use pumice_media::Nand;

/// Plays random steps; everything the server says is compared with the model.
fn play(case: Case, names: &PolicyNames, permille: u32, seed: u64, steps: u32) -> Player<Shared> {
    let about = |step| format!("{} {names:?} seed {seed} step {step}", case.name);
    let mut player = Player::new(Shared::new(case.chip(permille, names)));
    let mut rng = fastrand::Rng::with_seed(seed);
    let blocks = player.model.blocks();
    for number in 0..steps {
        let step = Step::random(&mut rng, blocks);
        player.play(step).unwrap_or_else(|what| panic!("{}: {step:?}: {what}", about(number)));
    }
    player
        .model
        .compare(player.disk.as_mut().unwrap())
        .unwrap_or_else(|what| panic!("{}: {what}", about(steps)));
    assert_eq!(player.chip.stats().violations, 0, "{}", about(steps));
    player
}

#[test]
fn random_work_on_every_layout() {
    for (seed, case) in (0..).zip(CASES) {
        let player = play(case, &PolicyNames::default(), 750, seed, 4000);
        let info = player.disk.unwrap().info();
        assert!(info.counters.erases > u64::from(info.segments) * 3, "{}: {info:?}", case.name);
    }
}

#[test]
fn a_start_by_headers_alone_finds_the_same() {
    for (seed, case) in (10..).zip(CASES) {
        let mut player = play(case, &policies("greedy", "m1", "none"), 600, seed, 1500);
        // Trims are not kept by headers for ever: nothing is trimmed from here on.
        for lba in 0..player.model.blocks() {
            player.play(Step::Write { first: lba, count: 1 }).unwrap();
        }
        player.play(Step::Close).unwrap();
        drop(player.disk.take());
        let options = OpenOptions { rebuild: true, ..OpenOptions::default() };
        let mut disk = Ftl::open(player.chip.clone(), options).unwrap();
        player.model.compare(&mut disk).unwrap_or_else(|what| panic!("{}: {what}", case.name));
    }
}
