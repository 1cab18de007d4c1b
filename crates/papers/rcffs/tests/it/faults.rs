//! Bad blocks, failed programs and erases, wrong bits, and images that are damaged on purpose.

use crate::common::{Chip, support::faults, usual};
use pumice_ecc::{Signature, Width, crc32c};

const CHIP: Chip = usual("2048+64:16:256");

#[test]
fn factory_bad_blocks_and_failing_ones_lose_nothing() {
    faults::bad_and_failing_blocks_lose_nothing(&CHIP, 2_000_000);
}

#[test]
fn a_wrong_bit_in_every_spare_area_is_put_right() {
    faults::wrong_bits_are_put_right(&CHIP, 1, 24 * 8);
}

/// Makes the proofs of a page anew.
fn prove(data: &[u8], spare: &mut [u8]) {
    let signature = Signature::of(data, Width::Bits48).unwrap();
    spare[..6].copy_from_slice(signature.bytes());
    let sum = crc32c(0, &spare[..20]);
    spare[20..24].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn damaged_images_are_answered() {
    faults::damaged_images_are_answered(&CHIP, |from, to, rng| {
        faults::copy_pages(from, to, |data, spare| {
            // Metadata more often than data.
            let often = if [2, 3, 4].contains(&spare[12]) { 3 } else { 60 };
            if rng.u32(..often) == 0 {
                for _ in 0..rng.u32(1..4) {
                    let at = if rng.bool() { rng.usize(..60) * 4 } else { rng.usize(..512) * 4 };
                    let value = [u32::MAX, u32::MAX - 1, 0, 7, rng.u32(..8192), rng.u32(..)][rng.usize(..6)];
                    data[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
                prove(data, spare);
            }
        });
    });
}
