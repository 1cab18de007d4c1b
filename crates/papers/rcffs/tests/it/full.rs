//! Nearly full: the campaign, and power cuts in it. `PUMICE_FULL=N` runs N seeds of each.

use crate::common::full::{Subject, goes_on, outlives_a_cut, seeds, sound, subject};
use crate::common::{FILE, formatted, mount};
use pumice_knobs::RCFFS_FULL;
use pumice_media::SimChip;
use pumice_rcffs::{Rcffs, check};
use pumice_vfs::{FileSystem, FsError, Ino, Timestamp};

const CHIPS: [Chip; 2] = [Chip("2048+64:16:64"), Chip("4096+224:16:64")];

// A call asks for the room of its worst case.
subject!(Rcffs, &'static str, |_| 48 << 10);

#[test]
fn full_volumes_go_on() {
    for seed in seeds(&RCFFS_FULL) {
        for (chip, most) in CHIPS.iter().flat_map(|chip| [300, 3000, 60_000].map(|most| (chip, most))) {
            goes_on(chip, seed, most, 3);
        }
    }
}

#[test]
fn full_volumes_outlive_power_cuts() {
    for seed in seeds(&RCFFS_FULL) {
        for (chip, number) in CHIPS.iter().flat_map(|chip| (0..6).map(move |number| (chip, number))) {
            outlives_a_cut(chip, seed, number);
        }
    }
}

/// Each cut ends a segment before it is full: that the volume is not used up by it is the cleaner's work.
#[test]
fn cuts_in_a_row_use_nothing_up() {
    for chip_of in CHIPS {
        let shape = chip_of.0;
        let mut chip = chip_of.formatted();
        let mut kept = 0;
        for number in 0..150_u64 {
            let fs = chip_of.mount(chip);
            let name = format!("f{number}");
            let file = fs
                .create(Ino::ROOT, name.as_bytes(), &FILE)
                .unwrap_or_else(|error| panic!("{shape}, {number}: {error}"));
            fs.write(file.ino, 0, &[7; 2000])
                .and_then(|()| fs.fsync(file.ino, false))
                .unwrap_or_else(|error| panic!("{shape}, {number}: {error}"));
            fs.readdir(Ino::ROOT, 0, &mut |_| {
                kept += 1;
                true
            })
            .unwrap();
            chip = fs.abandon().unwrap();
        }
        assert_eq!(kept, (1..=150).sum::<i32>(), "{shape}");
        sound(&chip_of, &chip, shape);
    }
}
