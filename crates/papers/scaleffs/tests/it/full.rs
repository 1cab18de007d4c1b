//! Nearly full: the campaign, and power cuts in it.

use crate::common::{Chip, support::full};
use pumice_knobs::SCALEFFS_FULL;

const CHIPS: [Chip; 2] = [Chip(64), Chip(160)];

#[test]
fn full_volumes_go_on() {
    // Directories do not shrink.
    full::go_on(&CHIPS, &SCALEFFS_FULL, 64);
}

#[test]
fn full_volumes_outlive_power_cuts() {
    full::outlive_cuts(&CHIPS, &SCALEFFS_FULL, 12);
}

/// A cut of a cleaning left room for one victim of fourteen live blocks, counted as they are and not five writes each.
#[test]
fn a_seed_that_failed_once() {
    full::outlives_a_cut(&Chip(160), 29_929_086, 1);
}
