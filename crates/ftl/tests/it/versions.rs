//! Of two copies of a block the newer one counts, whichever page was programmed last.

use pumice_ftl::{Ftl, check};
use pumice_media::{BlockDevice, Lba, SimChip};

use crate::common::{Case, Model, chip_of, policies, start};

/// Writes at which the run stops, so that another block is written there instead.
const STOPS: usize = 2;

/// A disk that was filled, and written at random until then; flushed now and then.
fn worked(chip: &SimChip, writes: u64, block_bytes: u32) -> (Ftl<SimChip>, Model, Vec<u64>) {
    let mut disk = start(chip.clone());
    let mut model = Model::new(disk.blocks(), block_bytes);
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut cleaned, mut cleaning) = (0, Vec::new());
    for lba in 0..disk.blocks() {
        disk.write(Lba(lba), &model.write(lba)).unwrap();
    }
    for number in 0..writes {
        let lba = rng.u64(..disk.blocks());
        disk.write(Lba(lba), &model.write(lba)).unwrap();
        if number % 8 == 7 {
            disk.flush().unwrap();
            model.flush();
        }
        let so_far = disk.info().counters.cleaned;
        if so_far > std::mem::replace(&mut cleaned, so_far) {
            cleaning.push(number);
        }
    }
    (disk, model, cleaning)
}

/// A write that cleans may move the old copy of its own block: the new one is what a start and a check find.
#[test]
fn a_write_is_not_undone_by_its_own_cleaning() {
    for name in ["slots", "slots/dist3", "slots/by4", "packed", "parity2"] {
        let case = Case::named(name.split('/').next().unwrap());
        let chip = Case::chip_of(name, 750, &policies("greedy", "m1", "none"));
        let (_, _, cleaning) = worked(&chip, 1500, case.block_bytes);
        assert!(cleaning.len() > STOPS, "{name}: {} writes cleaned", cleaning.len());
        for stop in cleaning.iter().skip(cleaning.len() / 2).take(STOPS) {
            let blocks = worked(&chip, 0, case.block_bytes).0.blocks();
            for lba in 0..blocks {
                let (mut disk, mut model, _) = worked(&chip, *stop, case.block_bytes);
                disk.write(Lba(lba), &model.write(lba)).unwrap();
                disk.flush().unwrap();
                model.flush();
                let about = |what| panic!("{name}: write {stop} of block {lba}: {what}");
                model.compare(&mut start(chip_of(&disk).clone())).unwrap_or_else(about);
                let report = check(disk.close().unwrap(), &mut |_, _| {}).unwrap();
                assert!(report.findings.is_empty(), "{name}: {stop}, {lba}: {:?}", report.findings);
            }
        }
    }
}
