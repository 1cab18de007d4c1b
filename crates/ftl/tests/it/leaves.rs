//! The translation table in leaves on flash: the most that one call writes, and the reads of a start.

use crate::common::{chip_of, start};
use pumice_ftl::{CreateOptions, Export, Ftl, create};
use pumice_media::{BlockDevice, ChipSpec, Lba, Nand, SimChip};

/// A disk with hundreds of leaves in its table, on a chip without memory for its content.
fn large() -> Ftl<SimChip> {
    let spec = ChipSpec::named("slc-4k-8g").unwrap().with_size(2 << 30).unwrap();
    let mut chip = SimChip::new(&spec);
    let options = CreateOptions { export: Export::Permille(875), erased: true, ..CreateOptions::default() };
    create(&mut chip, &options, &mut |_, _| {}).unwrap();
    start(chip)
}

/// Programs that one write of a block costs at the most, however large the table is.
#[test]
fn a_write_does_not_write_the_whole_table() {
    let mut disk = large();
    let pages = disk.blocks() * 4 / 4096;
    assert!(pages > 400, "{pages} pages of table");
    let (bytes, blocks) = (vec![7; 4096], disk.blocks());
    let mut most = 0;
    for number in 0..100_000 {
        let before = disk.chip().stats();
        disk.write(Lba(number * 7919 % blocks), &bytes).unwrap();
        most = most.max((disk.chip().stats() - before).programs);
    }
    assert!(disk.info().checkpoints > 3, "{:?}", disk.info());
    assert!(most <= 96, "{most} programs in one call");
}

/// A start of a closed disk reads where the leaves are, and not the leaves.
#[test]
fn a_clean_start_reads_no_leaves() {
    let mut disk = large();
    let (bytes, blocks) = (vec![7; 4096], disk.blocks());
    for number in 0..60_000 {
        disk.write(Lba(number * 7919 % blocks), &bytes).unwrap();
    }
    let chip = disk.close().unwrap();
    let before = chip.stats();
    let disk = start(chip);
    let reads = (disk.chip().stats() - before).page_reads;
    assert!(reads < 100, "{reads} pages read");
}

/// The first write after a power cut makes a checkpoint, and the start's findings fit it: no leaves are written before.
#[test]
fn the_first_write_after_a_cut_makes_one_checkpoint() {
    let mut disk = large();
    let (bytes, blocks) = (vec![7; 4096], disk.blocks());
    let mut most = 0;
    for number in 0..60_000 {
        disk.write(Lba(number * 7919 % blocks), &bytes).unwrap();
        if number % 10_000 == 9_999 {
            disk.flush().unwrap();
            let mut cut = start(chip_of(&disk).clone());
            let before = cut.chip().stats();
            cut.write(Lba(5), &bytes).unwrap();
            most = most.max((cut.chip().stats() - before).programs);
        }
    }
    assert!(most <= 140, "{most} programs");
}

/// A start after a power cut looks at the segments opened since the checkpoint, not at every segment of the chip.
#[test]
fn a_start_after_a_cut_looks_at_what_was_opened_alone() {
    let mut disk = large();
    let (bytes, blocks) = (vec![7; 4096], disk.blocks());
    let (segments, mut most) = (u64::from(disk.info().segments), 0);
    for number in 0..60_000 {
        disk.write(Lba(number * 7919 % blocks), &bytes).unwrap();
        if number % 10_000 == 9_999 {
            disk.flush().unwrap();
            let before = disk.chip().stats();
            let cut = start(chip_of(&disk).clone());
            let cost = cut.chip().stats() - before;
            most = most.max(cost.page_reads + cost.spare_reads);
        }
    }
    assert!(most < segments / 10, "{most} looks at a chip of {segments} segments");
}
