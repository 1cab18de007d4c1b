//! Bad blocks, failed programs and erases, wrong bits, and images that are damaged on purpose.

use crate::common::{Chip, support::faults};
use pumice_media::{BlockId, Nand, SimChip};

const CHIP: Chip = Chip(256);

#[test]
fn factory_bad_blocks_and_failing_ones_lose_nothing() {
    faults::bad_and_failing_blocks_lose_nothing(&CHIP, 100_000);
}

/// The first page of each block: a bit of the owner. The search for the checkpoint believes the second.
#[test]
fn a_wrong_bit_in_every_spare_area_is_put_right() {
    faults::wrong_bits_are_put_right(&CHIP, 2, 64);
}

/// A page of the first file's data: directory block, inode, then its blocks.
#[test]
fn what_cannot_be_read_is_an_error_and_stays_one_when_it_is_moved() {
    faults::what_cannot_be_read_stays_so(&CHIP, 0..64, "block");
}

/// Copies two pages at a time, some of them changed.
fn copy(from: &mut SimChip, to: &mut SimChip, rng: &mut fastrand::Rng) {
    let geometry = from.geometry();
    for block in (0..geometry.blocks).map(BlockId) {
        for index in (0..geometry.pages_per_block).step_by(2) {
            let pages = [0, 1].map(|part| geometry.page(block, index + part));
            let (mut data, mut spare) = (vec![0; 1024], vec![0; 16]);
            for (part, page) in pages.iter().enumerate() {
                let (data, spare) = (&mut data[part * 512..][..512], &mut spare[part * 8..][..8]);
                from.read(*page, data, spare).unwrap();
            }
            if spare.iter().all(|byte| *byte == 0xff) {
                continue;
            }
            if rng.u32(..30) == 0 {
                let at = rng.usize(..255) * 4;
                let value = [u32::MAX, u32::MAX - 1, 0, 7, rng.u32(..)][rng.usize(..5)];
                data[at..at + 4].copy_from_slice(&value.to_le_bytes());
                // Proved anew: three bytes of a CRC-32 over fields and data.
                let sum = crc32fast::hash(&[&spare[..13], &data].concat());
                spare[13..].copy_from_slice(&sum.to_le_bytes()[..3]);
            }
            for (part, page) in pages.iter().enumerate() {
                to.program(*page, &data[part * 512..][..512], &spare[part * 8..][..8]).unwrap();
            }
        }
    }
}

#[test]
fn damaged_images_are_answered() {
    faults::damaged_images_are_answered(&CHIP, copy);
}
