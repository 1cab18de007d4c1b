//! Nearly full: the campaign, and power cuts in it. `PUMICE_FULL=N` runs N seeds of each.

use crate::common::{
    formatted,
    full::{goes_on, outlives_a_cut, seeds, subject},
    mount,
};
use pumice_knobs::SCALEFFS_FULL;
use pumice_media::SimChip;
use pumice_scaleffs::{ScaleFs, check};
use pumice_vfs::{FsError, Timestamp};

const CHIPS: [Chip; 2] = [Chip(64), Chip(160)];

// A call asks for the room of its worst case.
subject!(ScaleFs, u32, |_| 24 << 10);

#[test]
fn full_volumes_go_on() {
    for seed in seeds(&SCALEFFS_FULL) {
        for (chip, most) in CHIPS.iter().flat_map(|chip| [300, 3000, 60_000].map(|most| (chip, most))) {
            // Directories do not shrink.
            goes_on(chip, seed, most, 64);
        }
    }
}

#[test]
fn full_volumes_outlive_power_cuts() {
    for seed in seeds(&SCALEFFS_FULL) {
        for (chip, number) in CHIPS.iter().flat_map(|chip| (0..12).map(move |number| (chip, number))) {
            outlives_a_cut(chip, seed, number);
        }
    }
}

/// A cut of a cleaning left room for one victim of fourteen live blocks, counted as they are and not five writes each.
#[test]
fn a_seed_that_failed_once() {
    outlives_a_cut(&Chip(160), 29_929_086, 1);
}
