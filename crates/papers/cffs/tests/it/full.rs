//! Nearly full: the campaign, and power cuts in it.

use crate::common::{Chip, support::full};
use pumice_knobs::CFFS_FULL;

const CHIPS: [Chip; 3] = [Chip("512+16:32:64"), Chip("512+16:8:128"), Chip("2048+64:64:40")];

#[test]
fn full_volumes_go_on() {
    full::go_on(&CHIPS, &CFFS_FULL, 3);
}

#[test]
fn full_volumes_outlive_power_cuts() {
    full::outlive_cuts(&CHIPS, &CFFS_FULL, 12);
}
