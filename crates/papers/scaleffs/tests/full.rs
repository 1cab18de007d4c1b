//! Nearly full: the campaign, and power cuts in it. `PUMICE_FULL=N` runs N seeds of each.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod common;

use common::{
    formatted,
    full::{Subject, goes_on, outlives_a_cut, seeds},
    mount,
};
use pumice_media::SimChip;
use pumice_scaleffs::{ScaleFs, check};
use pumice_vfs::{FsError, Timestamp};

const CHIPS: [Chip; 2] = [Chip(64), Chip(160)];

/// A chip of this shape.
struct Chip(u32);

impl Subject for Chip {
    type Fs = ScaleFs<SimChip>;

    fn name(&self) -> String {
        self.0.to_string()
    }

    fn slack(&self) -> u64 {
        24 << 10
    }

    fn formatted(&self) -> SimChip {
        formatted(self.0, Timestamp::default())
    }

    fn mount(&self, chip: SimChip) -> Self::Fs {
        mount(chip, Box::new(Timestamp::default))
    }

    fn unmount(&self, fs: Self::Fs) -> SimChip {
        fs.unmount().unwrap()
    }

    fn abandon(&self, fs: Self::Fs) -> SimChip {
        fs.abandon()
    }

    fn findings(&self, chip: SimChip) -> Result<Vec<String>, FsError> {
        Ok(check(chip)?.findings.iter().map(|finding| format!("{finding:?}")).collect())
    }
}

#[test]
fn full_volumes_go_on() {
    for seed in seeds() {
        for (chip, most) in CHIPS.iter().flat_map(|chip| [300, 3000, 60_000].map(|most| (chip, most))) {
            // Directories do not shrink.
            goes_on(chip, seed, most, 64);
        }
    }
}

#[test]
fn full_volumes_outlive_power_cuts() {
    for seed in seeds() {
        for (chip, number) in CHIPS.iter().flat_map(|chip| (0..12).map(move |number| (chip, number))) {
            outlives_a_cut(chip, seed, number);
        }
    }
}
