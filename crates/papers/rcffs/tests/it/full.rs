//! Nearly full: the campaign, and power cuts in it.

use crate::common::support::{Subject, full, mount};
use crate::common::{Chip, FILE, usual};
use pumice_knobs::RCFFS_FULL;
use pumice_vfs::{FileSystem, Ino, Timestamp};

const CHIPS: [Chip; 2] = [usual("2048+64:16:64"), usual("4096+224:16:64")];

#[test]
fn full_volumes_go_on() {
    full::go_on(&CHIPS, &RCFFS_FULL, 3);
}

#[test]
fn full_volumes_outlive_power_cuts() {
    full::outlive_cuts(&CHIPS, &RCFFS_FULL, 6);
}

/// Each cut ends a segment before it is full: that the volume is not used up by it is the cleaner's work.
#[test]
fn cuts_in_a_row_use_nothing_up() {
    for chip_of in CHIPS {
        let shape = chip_of.0;
        let mut chip = chip_of.formatted(Timestamp::default());
        let mut kept = 0;
        for number in 0..150_u64 {
            let fs = mount::<Chip>(chip);
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
        full::sound::<Chip>(&chip, shape);
    }
}
