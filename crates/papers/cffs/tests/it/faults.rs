//! Bad blocks, failed programs and erases, wrong bits, and images that are damaged on purpose.

use crate::common::{Chip, support::faults};

const CHIP: Chip = Chip("512+16:32:256");

#[test]
fn factory_bad_blocks_and_failing_ones_lose_nothing() {
    faults::bad_and_failing_blocks_lose_nothing(&CHIP, 100_000);
}

/// Of the map, too: it is not believed then, and every block is looked at.
#[test]
fn a_wrong_bit_in_every_spare_area_is_put_right() {
    faults::wrong_bits_are_put_right(&CHIP, 1, 64);
}

#[test]
fn what_cannot_be_read_is_an_error_and_stays_one_when_it_is_moved() {
    faults::what_cannot_be_read_stays_so(&CHIP, 64..2048, "data");
}

/// Makes the proofs of a page anew.
fn prove(data: &mut [u8], spare: &mut [u8]) {
    if spare[0] >> 4 < 3 {
        let sum = crc32fast::hash(&[&data[..4], &data[8..]].concat());
        data[4..8].copy_from_slice(&sum.to_le_bytes());
        return;
    }
    spare[6] = crc32fast::hash(data).to_le_bytes()[0];
    spare[7] = spare[..7].iter().fold(0xff, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| if crc & 0x80 == 0 { crc << 1 } else { (crc << 1) ^ 0x07 })
    });
}

#[test]
fn damaged_images_are_answered() {
    faults::damaged_images_are_answered(&CHIP, |from, to, rng| {
        faults::copy_pages(from, to, |data, spare| {
            let kind = spare[0] >> 4;
            let often = if (3..6).contains(&kind) { 200 } else { 3 };
            if kind < 6 && rng.u32(..often) == 0 {
                let at = if rng.bool() { rng.usize(2..24) * 4 } else { 256 + rng.usize(..64) * 4 };
                let value = [u32::MAX, u32::MAX - 1, 0, 7, rng.u32(..8192), rng.u32(..)][rng.usize(..6)];
                data[at..at + 4].copy_from_slice(&value.to_le_bytes());
                prove(data, spare);
            }
        });
    });
}
