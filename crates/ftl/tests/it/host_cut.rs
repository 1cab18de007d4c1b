//! Power cuts of the host under a disk in a container: flushed blocks are there.

use crate::common::{CASES, Case, Model, Step, policies, start};
use pumice_knobs::FTL_HOSTS;
use pumice_media::{BlockDevice, Lba, SimHost};

const STEPS: usize = 60;

/// Random steps after one fill; after each the host's power fails.
fn run(case: &Case, seed: u64) -> u64 {
    let mut host = SimHost::container(&case.spec()).unwrap();
    let mut chip = host.open().unwrap();
    case.create_on(&mut chip, 650, &policies("cost-benefit", "sepbit", "even"));
    let mut disk = start(chip);
    let mut model = Model::new(disk.blocks(), disk.block_bytes());
    let mut rng = fastrand::Rng::with_seed(seed);
    let blocks = disk.blocks();
    for lba in 0..blocks {
        disk.write(Lba(lba), &model.write(lba)).unwrap();
    }
    let mut cuts = 0;
    for number in 0..STEPS {
        let synced = host.syncs();
        // The blocks that may be there if the last sync of the step is cut.
        let mut before = None;
        match Step::random(&mut rng, blocks) {
            Step::Write { first, count } => {
                for lba in first..(first + count).min(blocks) {
                    disk.write(Lba(lba), &model.write(lba)).unwrap();
                }
            }
            Step::Trim { first, count } => {
                let count = count.min(blocks - first);
                (first..first + count).for_each(|lba| model.trim(lba));
                disk.discard(Lba(first), count).unwrap();
            }
            Step::Flush => {
                before = Some(model.clone());
                disk.flush().unwrap();
                model.flush();
            }
            Step::Close => {
                before = Some(model.clone());
                disk = start(disk.close().unwrap());
                model.flush();
            }
            Step::Die => {}
        }
        let draw = seed << 32 | number as u64;
        let now = (host.after_cut(draw), model.clone());
        let in_sync = (host.syncs() > synced)
            .then(|| (host.after_cut_in_sync(draw), before.unwrap_or_else(|| model.clone())));
        for (after, mut model) in [Some(now), in_sync].into_iter().flatten() {
            let about = |what| format!("PUMICE_SEED={seed}: {}, step {number}: {what}", case.name);
            let judged = model.adopt(&mut start(after.open().unwrap())).map_err(about);
            judged.unwrap_or_else(|what| panic!("{what}"));
            cuts += 1;
        }
        // The next cuts are on the chip that this one has left.
        if number % 12 == 11 {
            host = host.after_cut(draw);
            disk = start(host.open().unwrap());
            model.adopt(&mut disk).unwrap_or_else(|what| panic!("PUMICE_SEED={seed}: {}: {what}", case.name));
        }
    }
    cuts
}

#[test]
fn what_was_flushed_outlives_the_host() {
    let (seeds, mut cuts) = (FTL_HOSTS.seeds(0..1), 0);
    for seed in seeds.clone() {
        FTL_HOSTS.begin(seed);
        cuts += CASES.iter().map(|case| run(case, seed)).sum::<u64>();
    }
    FTL_HOSTS.ran(seeds, cuts);
}
