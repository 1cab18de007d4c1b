//! Chips that fail: programs, erases, whole blocks, wear, and bits. Nothing that was accepted is lost, and a disk that
//! can do no more says so and can be read.

use crate::campaign::programmed;
use crate::common::shared::Shared;
use crate::common::{CASES, Case, Model, Player, Step, chip_of, content, policies, start};
use crate::dead_block;
use pumice_ftl::{
    CreateOptions, Ftl, FtlError, OpenOptions, PolicyNames, RepairOptions, Start, create, repair,
};
use pumice_media::{
    BitFlip, BlockDevice, BlockError, BlockId, Endurance, Faults, Layer, Lba, Nand, NandError, PageId, Rate,
    SimChip,
};

fn per_mille(rate: u32, seed: u64) -> Rate {
    Rate { per_billion: rate * 1_000_000, seed }
}

/// Random steps on a chip with these faults, compared with the model at every restart and at the end.
fn survive(case: Case, seed: u64, steps: u32, set: impl FnOnce(&mut Faults)) -> Shared {
    let chip = Shared::new(case.chip(300, &policies("greedy", "sepbit", "none")));
    set(chip.0.lock().unwrap().faults_mut());
    let mut player = Player::new(chip);
    let mut rng = fastrand::Rng::with_seed(seed);
    let blocks = player.model.blocks();
    for number in 0..steps {
        let step = Step::random(&mut rng, blocks);
        let about = |what| format!("{} seed {seed} step {number}: {step:?}: {what}", case.name);
        player.play(step).unwrap_or_else(|what| panic!("{}", about(what)));
    }
    player.play(Step::Close).unwrap_or_else(|what| panic!("{} seed {seed}: {what}", case.name));
    assert_eq!(player.chip.stats().violations, 0, "{} seed {seed}", case.name);
    player.chip
}

#[test]
fn programs_fail_now_and_then() {
    for (seed, case) in (0..).zip(CASES) {
        // Seeds with which programs fail on each chip, and none wears out.
        let rate = per_mille(2, 300 + seed);
        let chip = survive(case, seed, 600, |faults| faults.program_fail_rate = Some(rate));
        assert!(chip.0.lock().unwrap().fault_counts().program_failures > 0, "{}: nothing failed", case.name);
    }
}

#[test]
fn erases_fail_now_and_then() {
    // At 20 per mille a chip of forty blocks, four of which hold roots, is worn out before the steps are.
    for (seed, case) in (0..).zip(CASES) {
        let has_failed = |again: u64| {
            let rate = per_mille(15, 107 + seed + 100 * again);
            let chip = survive(case, seed, 1500, |faults| faults.erase_fail_rate = Some(rate));
            chip.0.lock().unwrap().fault_counts().erase_failures > 0
        };
        assert!((0..4).any(has_failed), "{}: nothing failed", case.name);
    }
}

/// A chip with one page that refuses programs; the page holds the bytes to be written or nothing.
struct Refusing {
    chip: SimChip,
    page: PageId,
    keeps: bool,
}

impl Layer for Refusing {
    type Chip = SimChip;
    fn behind(&self) -> &SimChip {
        &self.chip
    }
    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.chip
    }
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        if page != self.page {
            return self.chip.program(page, data, spare);
        }
        if self.keeps {
            let damaged: Vec<u8> = data.iter().map(|byte| byte & 0x55).collect();
            self.chip.program(page, &damaged, spare)?;
        }
        Err(NandError::ProgramFailed(page))
    }
}

/// Any page of the anchors may fail: the newest anchor is found by the next start, round after round.
#[test]
fn a_page_of_anchors_that_fails_hides_no_anchor() {
    let case = Case::named("tags");
    let policies = policies("greedy", "sepbit", "none");
    let anchors = 4 * case.spec().geometry().pages_per_block;
    for (page, keeps) in (1..anchors).flat_map(|page| [(page, false), (page, true)]) {
        let mut chip = Refusing { chip: case.chip(300, &policies), page: PageId(page), keeps };
        for round in 0..anchors {
            let mut disk = start(chip);
            let about = format!("page {page}, {keeps}, round {round}");
            assert_eq!(disk.info().start, Start::Checkpoint, "{about}");
            disk.write(Lba(round.into()), &content(round.into(), 1, 2048)).unwrap();
            chip = disk.close().unwrap_or_else(|error| panic!("{about}: {error}"));
        }
    }
}

/// A chip on which one program fails, counted from 0; with a kind only programs of that kind count. The kind is known of
/// chips with tags in the spare area.
struct NthFails {
    chip: SimChip,
    kind: Option<u8>,
    left: u32,
}

const RECORD: u8 = 14;

impl Layer for NthFails {
    type Chip = SimChip;
    fn behind(&self) -> &SimChip {
        &self.chip
    }
    fn behind_mut(&mut self) -> &mut SimChip {
        &mut self.chip
    }
    fn pass_program(&mut self, page: PageId, data: &[u8], spare: &[u8]) -> Result<(), NandError> {
        let is_kind = |kind| spare.first().is_some_and(|first| first & 0x0f == kind);
        let is_meant = self.kind.is_none_or(is_kind);
        if is_meant && self.left == 0 {
            self.left = u32::MAX;
            return Err(NandError::ProgramFailed(page));
        }
        self.left -= u32::from(is_meant);
        self.chip.program(page, data, spare)
    }
}

/// Any record may fail on a full disk: there is room for its next place.
#[test]
fn a_record_that_fails_finds_another_place() {
    let case = Case::named("tags");
    for left in 0..40 {
        let chip = case.chip(600, &policies("greedy", "m1", "none"));
        let mut disk = start(NthFails { chip, kind: Some(RECORD), left });
        let mut model = Model::new(disk.blocks(), case.block_bytes);
        let mut rng = fastrand::Rng::with_seed(left.into());
        let about = |error: BlockError| -> ! { panic!("record {left}: {error}") };
        for round in 0..disk.blocks() * 16 {
            let lba = if round < disk.blocks() { round } else { rng.u64(..disk.blocks()) };
            disk.write(Lba(lba), &model.write(lba)).unwrap_or_else(|error| about(error));
        }
        let chip = disk.close().unwrap();
        assert!(chip.left > 40, "record {left} was not written");
        model.flush();
        let mut disk = start(chip);
        assert_eq!(disk.info().start, Start::Checkpoint);
        model.compare(&mut disk).unwrap();
    }
}

/// A segment that tells of discards is given up because any program behind them fails, that of its header, too. They outlive
/// a power cut; in a sample with each of the pages dead that were written since, too.
#[test]
fn discards_stay_when_a_program_behind_them_fails() {
    const MOST: u32 = 40;
    for case in CASES {
        for left in 0..MOST {
            let chip = case.chip(300, &policies("greedy", "m1", "none"));
            let mut disk = start(NthFails { chip, kind: None, left: u32::MAX - 1 });
            let mut model = Model::new(disk.blocks(), case.block_bytes);
            let blocks = disk.blocks();
            for lba in 0..blocks {
                disk.write(Lba(lba), &model.write(lba)).unwrap();
            }
            let mut chip = disk.close().unwrap();
            let before = programmed(&mut chip.chip);
            let mut disk = start(NthFails { left, ..chip });
            let mut rng = fastrand::Rng::with_seed(left.into());
            while chip_of(&disk).left <= MOST {
                for _ in 0..rng.u32(..3) {
                    let lba = rng.u64(..blocks);
                    disk.write(Lba(lba), &model.write(lba)).unwrap();
                }
                let lba = rng.u64(..blocks);
                disk.discard(Lba(lba), 1).unwrap();
                model.trim(lba);
                disk.flush().unwrap();
                model.flush();
            }
            let cut = chip_of(&disk).chip.clone();
            drop(disk);
            let about = format!("{}, program {left}", case.name);
            model.compare(&mut start(cut.clone())).unwrap_or_else(|what| panic!("{about}: {what}"));
            let written = if left % 8 == 1 { programmed(&mut cut.clone()) } else { Vec::new() };
            for page in written.into_iter().filter(|page| before.binary_search(page).is_err()) {
                let mut chip = cut.clone();
                chip.faults_mut().unreadable.insert(page);
                if let Err(what) = dead_block::judge(&chip, &model, &[page]) {
                    panic!("{about}, {page:?} dead: {what}");
                }
            }
        }
    }
}

/// Each page of the chip in turn cannot be programmed: data, summaries, trims, checkpoints, anchors.
#[test]
fn any_page_may_fail() {
    for case in CASES {
        let pages = u32::try_from(case.spec().geometry().pages()).unwrap();
        for page in (0..pages).step_by(37) {
            survive(case, page.into(), 60, |faults| faults.program_fails = [PageId(page)].into());
        }
    }
}

/// Several pages fail in a row, so that moved blocks meet a failure again.
#[test]
fn neighbours_fail_too() {
    for case in CASES {
        let geometry = case.spec().geometry();
        for block in [5, 11, 20] {
            let first = geometry.page(BlockId(block), 0).0;
            let pages = (first..first + 3 * geometry.pages_per_block).step_by(3).map(PageId);
            survive(case, block.into(), 120, |faults| faults.program_fails = pages.collect());
        }
    }
}

#[test]
fn bad_blocks_of_the_factory_are_not_used() {
    for (seed, case) in (0..).zip(CASES) {
        let mut chip = SimChip::new(&case.spec());
        // An anchor's among them.
        chip.faults_mut().factory_bad = [1, 7, 8, 20].map(BlockId).into();
        let options = CreateOptions {
            block_bytes: case.block_bytes,
            export: pumice_ftl::Export::Permille(500),
            ..CreateOptions::default()
        };
        create(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut player = Player::new(Shared::new(chip));
        assert_eq!(player.disk.as_ref().unwrap().info().bad_segments, 4);
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let step = Step::random(&mut rng, player.model.blocks());
            player.play(step).unwrap_or_else(|what| panic!("{}: {step:?}: {what}", case.name));
        }
        player.play(Step::Close).unwrap();
        assert_eq!(player.chip.0.lock().unwrap().fault_counts().program_failures, 0, "{}", case.name);
    }
}

/// A chip with blocks that die after a few erases ends in a clear error, with everything accepted still there.
#[test]
fn a_worn_out_disk_can_be_read() {
    for case in CASES {
        for programs_fail in [false, true] {
            wear_out(case, programs_fail);
        }
    }
}

/// Writes until the disk says that it cannot any more.
fn write_to_the_end(
    disk: &mut Ftl<Shared>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
) -> Option<BlockError> {
    for round in 0..200_000 {
        let lba = if round < disk.blocks() { round } else { rng.u64(..disk.blocks()) };
        let bytes = model.write(lba);
        if let Err(what) = disk.write(Lba(lba), &bytes) {
            // Old or new.
            let mut old = model.clone();
            old.take_back(lba);
            if old.compare(disk).is_ok() {
                *model = old;
            }
            return Some(what);
        }
        if round % 50 == 0 && disk.flush().is_ok() {
            model.flush();
        }
    }
    None
}

fn wear_out(case: Case, programs_fail: bool) {
    let chip = Shared::new(case.chip(600, &policies("greedy", "m1", "none")));
    chip.0.lock().unwrap().faults_mut().endurance = Some(Endurance { erases: 6, programs_fail });
    let mut disk = start(chip.clone());
    let mut model = Model::new(disk.blocks(), disk.block_bytes());
    let mut rng = fastrand::Rng::with_seed(9);
    // If many segments fail at a time, a session may end before the disk does: the next one finds the good ones left.
    for session in 0.. {
        let error = write_to_the_end(&mut disk, &mut model, &mut rng);
        assert_eq!(error, Some(BlockError::WornOut), "{} {programs_fail}", case.name);
        assert!(disk.info().worn_out, "{} {programs_fail}: an error says so, and nothing else", case.name);
        model.compare(&mut disk).unwrap_or_else(|what| panic!("{} {programs_fail}: {what}", case.name));
        // Written blocks are promised at the end, too, if a flush says so.
        if disk.flush().is_ok() {
            model.flush();
        }
        drop(disk);
        disk = start(chip.clone());
        if disk.info().worn_out {
            break;
        }
        assert!(session < 12, "{} {programs_fail}: no end", case.name);
        model
            .adopt(&mut disk)
            .unwrap_or_else(|what| panic!("{} {programs_fail}, started: {what}", case.name));
    }
    model
        .clone()
        .adopt(&mut disk)
        .unwrap_or_else(|what| panic!("{} {programs_fail}, started: {what}", case.name));
    assert_eq!(disk.write(Lba(0), &vec![1; case.block_bytes as usize]), Err(BlockError::WornOut));
    let read_only = OpenOptions { read_only: true, ..OpenOptions::default() };
    let mut disk = Ftl::open(disk.close().unwrap(), read_only).unwrap();
    model.adopt(&mut disk).unwrap_or_else(|what| panic!("{} {programs_fail}, read-only: {what}", case.name));
}

/// With one good block left for anchors a disk ends while that has room: what is left is kept for repairs.
#[test]
fn the_last_block_for_anchors_is_kept_for_repairs() {
    for case in CASES {
        let mut disk = start(Shared::new(case.chip(600, &policies("greedy", "m1", "none"))));
        let mut model = Model::new(disk.blocks(), disk.block_bytes());
        for lba in 0..disk.blocks() {
            disk.write(Lba(lba), &model.write(lba)).unwrap();
        }
        let chip = disk.close().unwrap();
        model.flush();
        let mut ended = 0;
        for kept in 0..4 {
            let chip = Shared::new(chip.copy());
            let bad = (0..4).filter(|block| *block != kept);
            bad.for_each(|block| chip.0.lock().unwrap().mark_bad(BlockId(block)).unwrap());
            // The block has no anchor, or none but an old one.
            let Ok(disk) = Ftl::open(chip.clone(), OpenOptions::default()) else { continue };
            assert!(disk.info().worn_out, "{}, block {kept}", case.name);
            drop(disk);
            repair(chip.clone(), RepairOptions { dry_run: false, uuid: [5; 16] }, &mut |_, _| {}).unwrap();
            let mut disk = start(chip);
            model.compare(&mut disk).unwrap_or_else(|what| panic!("{}, block {kept}: {what}", case.name));
            let block = vec![1; case.block_bytes as usize];
            assert_eq!(disk.write(Lba(0), &block), Err(BlockError::WornOut), "{}", case.name);
            ended += 1;
        }
        assert!(ended > 0, "{}: no block had an anchor", case.name);
    }
}

/// A page beyond correction costs the blocks on it and nothing else, and writing them again heals it.
#[test]
fn a_dead_page_costs_its_blocks_alone() {
    for case in CASES {
        let chip = Shared::new(case.chip(500, &PolicyNames::default()));
        let mut disk = start(chip.clone());
        let (blocks, bytes) = (disk.blocks(), case.block_bytes as usize);
        let mut model = Model::new(blocks, case.block_bytes);
        for lba in 0..blocks {
            disk.write(Lba(lba), &model.write(lba)).unwrap();
        }
        disk.flush().unwrap();
        let geometry = chip.geometry();
        let dead = geometry.page(BlockId(geometry.blocks / 2), 1);
        chip.0.lock().unwrap().faults_mut().unreadable.insert(dead);
        let lost: Vec<u64> =
            (0..blocks).filter(|lba| disk.read(Lba(*lba), &mut vec![0; bytes]).is_err()).collect();
        assert!(lost.len() <= 16, "{}: {lost:?}", case.name);
        for lba in &lost {
            assert_eq!(disk.read(Lba(*lba), &mut vec![0; bytes]), Err(BlockError::Unreadable(Lba(*lba))));
        }
        // The cleaner comes by and leaves them alone.
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..4 * blocks {
            let lba = rng.u64(..blocks);
            if !lost.contains(&lba) {
                disk.write(Lba(lba), &model.write(lba)).unwrap();
            }
        }
        for lba in &lost {
            assert_eq!(disk.read(Lba(*lba), &mut vec![0; bytes]), Err(BlockError::Unreadable(Lba(*lba))));
            disk.write(Lba(*lba), &model.write(*lba)).unwrap();
        }
        model.flush();
        disk.close().unwrap();
        model.compare(&mut start(chip)).unwrap_or_else(|what| panic!("{}: {what}", case.name));
    }
}

/// A page with as many wrong bits as ECC corrects is moved in an idle moment, and can then lose one more.
#[test]
fn tired_pages_are_rewritten() {
    let case = Case::named("tags");
    let chip = Shared::new(case.chip(500, &policies("greedy", "m1", "none")));
    let mut disk = start(chip.clone());
    let mut model = Model::new(disk.blocks(), case.block_bytes);
    for lba in 0..disk.blocks() {
        disk.write(Lba(lba), &model.write(lba)).unwrap();
    }
    disk.flush().unwrap();
    let page = chip.geometry().page(BlockId(10), 0);
    chip.0.lock().unwrap().faults_mut().flips.insert(BitFlip { page, bit: 99 });
    model.compare(&mut disk).unwrap();
    while disk.maintain(0).unwrap() {}
    assert!(disk.info().counters.copied > 0, "nothing moved");
    chip.0.lock().unwrap().faults_mut().unreadable.insert(page);
    model.compare(&mut disk).unwrap();
}

/// A server that cannot be made is refused with the reason.
#[test]
fn what_does_not_fit_is_refused() {
    let make = |geometry: &str, block_bytes, export| {
        let mut chip = SimChip::new(&pumice_media::ChipSpec::parse_geometry(geometry).unwrap());
        create(&mut chip, &CreateOptions { block_bytes, export, ..CreateOptions::default() }, &mut |_, _| {})
    };
    let usual = pumice_ftl::Export::Permille(875);
    assert_eq!(make("2048+64:64:64", 3000, usual), Err(FtlError::BlockBytes(3000)));
    assert!(matches!(make("2048+64:4:64", 4096, usual), Err(FtlError::Segments { pages: 2, .. })));
    assert!(matches!(make("2048+64:64:15", 2048, usual), Err(FtlError::Segments { blocks: 15, .. })));
    let all = pumice_ftl::Export::Bytes(2048 * 64 * 64);
    let Err(FtlError::Export { blocks: 4096, most }) = make("2048+64:64:64", 2048, all) else { panic!() };
    assert_eq!(
        make("2048+64:64:64", 2048, pumice_ftl::Export::Bytes(2048 * most)),
        Ok(u32::try_from(most).unwrap())
    );
    // Even the largest disk can be overwritten for ever.
    let mut chip = SimChip::new(&pumice_media::ChipSpec::parse_geometry("2048+64:64:64").unwrap());
    let options = CreateOptions {
        block_bytes: 2048,
        export: pumice_ftl::Export::Bytes(2048 * most),
        ..CreateOptions::default()
    };
    create(&mut chip, &options, &mut |_, _| {}).unwrap();
    let mut disk = start(chip);
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..3 * most {
        let lba = if round < most { round } else { rng.u64(..most) };
        disk.write(Lba(lba), &content(lba, round + 1, 2048)).unwrap();
    }
}
