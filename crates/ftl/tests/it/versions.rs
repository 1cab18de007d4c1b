//! The newer of two copies of a block counts, whichever page was programmed last.

use pumice_ftl::{PolicyNames, check};
use pumice_media::{BlockDevice, Lba};

use crate::common::{Case, Model, chip_of, start};

/// Random writes on a disk that is nearly full: one in some dozens moves the old copy of its own block while it makes room. Cut
/// after each hundredth flush, and closed in the end.
#[test]
fn a_write_is_not_undone_by_its_own_cleaning() {
    for (name, seed) in ["slots", "slots/dist3", "slots/by4", "packed", "summary"].into_iter().zip(0..) {
        let case = Case::named(name.split('/').next().unwrap());
        let mut disk = start(Case::chip_of(name, 750, &PolicyNames::default()));
        let mut model = Model::new(disk.blocks(), case.block_bytes);
        let mut rng = fastrand::Rng::with_seed(seed);
        for number in 0..8_000 {
            let lba = rng.u64(..disk.blocks());
            disk.write(Lba(lba), &model.write(lba)).unwrap();
            if number % 8 == 7 {
                disk.flush().unwrap();
                model.flush();
            }
            if number % 800 == 799 {
                let mut cut = start(chip_of(&disk).clone());
                model.compare(&mut cut).unwrap_or_else(|what| panic!("{name}: write {number}: {what}"));
            }
        }
        assert!(disk.info().counters.cleaned > 100, "{name}: {:?}", disk.info().counters);
        let report = check(disk.close().unwrap(), &mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    }
}
