//! Power cuts that leave what only seems sound, and power cuts that destroy pages written long before: pages that fade
//! after some reads, blocks that look erased and do not hold, paired pages of MLC and TLC.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "the figures are the output")]

mod cut;

use cut::runner::{MODES, tally};
use cut::scenarios::ALL;
use pumice_media::CutMode;

/// Operations of a scenario that are cut in each mode, spread evenly; the others are cut in one.
const BUDGET: u64 = 20;

/// Cuts every scenario on these chips in these modes and prints what was lost; returns how many cuts lost something.
fn figures(chips: &[&str], modes: &'static [(char, CutMode)]) -> usize {
    let mut lost = 0;
    for chip in chips {
        let (mut cuts, mut failures) = (0, Vec::new());
        for scenario in ALL.iter().filter(|name| !(**name == "growth" && chip.starts_with("slots"))) {
            let tally = tally(scenario, chip, modes, BUDGET);
            cuts += tally.cuts;
            failures.extend(tally.failures);
        }
        println!("nandfs {chip}: {cuts} cuts, {} of them lost what was promised", failures.len());
        failures.iter().take(3).for_each(|what| println!("    {what}"));
        lost += failures.len();
    }
    lost
}

#[test]
#[ignore = "figures: what unstable pages and blocks cost today"]
fn what_seems_sound_and_is_not() {
    assert_eq!(figures(&["spare", "gang", "page", "slots"], &MODES[5..]), 0);
}

#[test]
#[ignore = "figures: what paired pages cost today"]
fn paired_pages() {
    assert_eq!(figures(&["spare/dist3", "spare/by4", "page/dist3", "slots/dist3"], &MODES), 0);
}
