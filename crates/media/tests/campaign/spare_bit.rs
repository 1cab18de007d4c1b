//! Codes that leave the spare area out: each programmed page in turn has one wrong bit there.

use pumice_knobs::Part;
use pumice_media::{BitFlip, ChipSpec, Nand};

use super::table::Row;
use super::{Left, Owner, programmed};

/// Flips one spare bit of each of these programmed pages, one page at a time; which bit goes round, so that all of them
/// have their turn.
pub fn each_page<O: Owner>(owner: &O, chip_name: &str, spec: &ChipSpec, left: Left, which: Part) -> Row {
    let spec = spec.clone().with_bare_spare();
    let mut volume = owner.populate(&spec, left);
    let geometry = volume.chip.geometry();
    let (data, spare) = (geometry.page_bytes * 8, geometry.free_spare_bytes * 8);
    let mut row = Row::new(O::NAME, chip_name, &format!("{left:?}, a wrong spare bit"));
    for (number, page) in which.pick((0_u32..).zip(programmed(&mut volume.chip))) {
        // A step that has no divisor in common with the number of bits.
        let bit = data + number * 37 % spare;
        let mut chip = volume.chip.clone();
        chip.faults_mut().flips.insert(BitFlip { page, bit });
        row.add(&format!("page {}, bit {bit}", page.0), &owner.examine(chip, &volume.content));
    }
    row
}
