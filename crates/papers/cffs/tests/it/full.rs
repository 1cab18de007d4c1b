//! Nearly full: the campaign, and power cuts in it. `PUMICE_FULL=N` runs N seeds of each.

use crate::common::full::{goes_on, outlives_a_cut, seeds, subject};
use crate::common::{formatted, mount};
use pumice_cffs::{Cffs, check};
use pumice_knobs::CFFS_FULL;
use pumice_media::SimChip;
use pumice_vfs::{FsError, Timestamp};

const CHIPS: [Chip; 3] = [Chip("512+16:32:64"), Chip("512+16:8:128"), Chip("2048+64:64:40")];

// A call asks for the room of its worst case.
subject!(Cffs, &'static str, |shape: &str| (24 << 10) * if shape.starts_with("2048") { 4 } else { 1 });

#[test]
fn full_volumes_go_on() {
    for seed in seeds(&CFFS_FULL) {
        for (chip, most) in CHIPS.iter().flat_map(|chip| [300, 3000, 60_000].map(|most| (chip, most))) {
            goes_on(chip, seed, most, 3);
        }
    }
}

#[test]
fn full_volumes_outlive_power_cuts() {
    for seed in seeds(&CFFS_FULL) {
        for (chip, number) in CHIPS.iter().flat_map(|chip| (0..12).map(move |number| (chip, number))) {
            outlives_a_cut(chip, seed, number);
        }
    }
}
