//! The server against an array: random writes, trims, flushes, restarts, on chips of every layout.

use proptest::{
    prelude::*,
    test_runner::{RngSeed, TestRunner},
};
use pumice_cleaning::registry::{PlacementRule, VictimRule, WearRule};

use crate::common::shared::Shared;
use crate::common::{CASES, Case, Player, Step, policies};
use pumice_ftl::{Ftl, OpenOptions, PolicyNames};
use pumice_knobs::FTL_CALLS;
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
        // Where the table lies in leaves the chip is larger.
        let steps = if case.name.starts_with("leaves") { 20_000 } else { 4000 };
        let player = play(case, &PolicyNames::default(), 750, seed, steps);
        let info = player.disk.unwrap().info();
        assert!(info.counters.erases > u64::from(info.segments) * 3, "{}: {info:?}", case.name);
    }
}

/// Every victim policy with every placement and wear levelling, on layouts in turn.
#[test]
fn every_policy_keeps_every_block() {
    let mut seed = 100;
    for victim in VictimRule::all() {
        for placement in PlacementRule::all().filter(|placement| !placement.needs_future()) {
            for wear in WearRule::all() {
                let case = CASES[usize::try_from(seed).unwrap() % CASES.len()];
                let names = PolicyNames { victim, placement, wear };
                let player = play(case, &names, 650, seed, 150);
                assert!(player.disk.unwrap().info().counters.erases > 0);
                seed += 1;
            }
        }
    }
}

/// Hot writes for long, beside data that nobody touches: with levelling, no segment is left behind.
#[test]
fn wear_is_levelled() {
    let spread = |wear| {
        let case = CASES[2];
        let mut player = Player::new(Shared::new(case.chip(600, &policies("greedy", "m1", wear))));
        let blocks = player.model.blocks();
        player.play(Step::Write { first: 0, count: blocks }).unwrap();
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            player.play(Step::Write { first: rng.u64(..blocks / 12), count: 2 }).unwrap();
        }
        let info = player.disk.as_ref().unwrap().info();
        player.play(Step::Close).unwrap();
        (info.wear.2 - info.wear.0, info.counters.relocated)
    };
    let (without, _) = spread("none");
    for wear in ["end-of-life", "behind", "dual-pool", "even"] {
        let (with, relocated) = spread(wear);
        // The paper's rule swaps at the end of life, which comes too late to level anything.
        assert!(wear == "end-of-life" || with < without / 2, "{wear}: {with}, without {without}");
        assert!(wear == "even" || relocated > 0, "{wear} moved nothing");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (any::<u16>(), 1_u64..9);
    prop_oneof![
        12 => range().prop_map(|(first, count)| Step::Write { first: first.into(), count }),
        2 => range().prop_map(|(first, count)| Step::Trim { first: first.into(), count: count * 4 }),
        2 => Just(Step::Flush),
        1 => Just(Step::Close),
        1 => Just(Step::Die),
    ]
}

/// The same with steps that shrink.
#[test]
fn any_steps() {
    let (seed, sequences) = (FTL_CALLS.first_seed(1), FTL_CALLS.count().unwrap_or(64));
    let config = ProptestConfig {
        cases: u32::try_from(sequences).unwrap(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    let sequence = (0..CASES.len(), prop::collection::vec(step(), 1..250));
    let played = TestRunner::new(config).run(&sequence, |(case, steps)| {
        let mut player = Player::new(Shared::new(CASES[case].chip(700, &PolicyNames::default())));
        let blocks = player.model.blocks();
        for step in steps {
            let step = match step {
                Step::Write { first, count } => Step::Write { first: first % blocks, count },
                Step::Trim { first, count } => Step::Trim { first: first % blocks, count },
                other => other,
            };
            prop_assert_eq!(player.play(step), Ok(()), "{:?}", step);
        }
        prop_assert_eq!(player.model.compare(player.disk.as_mut().unwrap()), Ok(()));
        prop_assert_eq!(player.chip.stats().violations, 0);
        Ok(())
    });
    played.unwrap_or_else(|what| panic!("PUMICE_SEED={seed}: {what}"));
    FTL_CALLS.ran(seed..seed + 1, sequences);
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
