//! Chips that fail: programs, erases, whole blocks, wear, and bits. Nothing that was acknowledged is lost, a volume
//! that can do no more says so, and a page beyond correction costs the file that it belongs to.

use crate::cut::image::Image;
use crate::cut::player::Player;
use crate::cut::random::Random;
use crate::cut::runner::{CHIPS, chip, chip_with_bad};
use crate::cut::shared::Shared;
use crate::cut::verify::{mount, sound};
use pumice_media::{BitFlip, BlockId, Endurance, Faults, Nand, PageId, Rate};
use pumice_nandfs::{FormatOptions, check, format};
use pumice_vfs::conformance::{TestClock, read_file, resolve, write_file};
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, NewNode, RenameMode};

/// Files get about this long, in bytes.
const FILE_BYTES: u64 = 30_000;

fn per_mille(rate: u32, seed: u64) -> Rate {
    Rate { per_billion: rate * 1_000_000, seed }
}

/// Random calls on a chip with these faults, compared with the model, then unmounted, checked, mounted, compared.
/// Returns the chip.
fn survive(name: &str, seed: u64, calls: u32, set: impl FnOnce(&mut Faults)) -> Shared {
    let clock = TestClock::new();
    let shared = Shared::new(chip(name, &clock));
    set(shared.0.lock().unwrap().faults_mut());
    let mut player = Player::new(shared.clone(), clock.clone());
    let mut random = Random(seed);
    for call in 0..calls {
        let step = random.step(FILE_BYTES);
        player.play(&step).unwrap_or_else(|e| panic!("{name} seed {seed} call {call}: {step:?}: {e}"));
    }
    player.compare().unwrap_or_else(|what| panic!("{name} seed {seed}: {what}"));
    player.play(&crate::cut::step::Step::Remount).unwrap_or_else(|e| panic!("{name} seed {seed}: {e}"));
    player.compare().unwrap_or_else(|what| panic!("{name} seed {seed}, mounted again: {what}"));
    player.fs.take().unwrap().unmount().unwrap();
    sound(&shared.copy(), "at the end").unwrap_or_else(|what| panic!("{name} seed {seed}: {what}"));
    assert_eq!(shared.stats().violations, 0, "{name} seed {seed}");
    shared
}

#[test]
fn programs_fail_now_and_then() {
    for (seed, (name, _)) in (0..).zip(CHIPS) {
        // Large pages are programmed less often.
        let rate = if name == "slots" { 40 } else { 4 };
        let shared =
            survive(name, seed, 800, |faults| faults.program_fail_rate = Some(per_mille(rate, seed)));
        assert!(shared.0.lock().unwrap().fault_counts().program_failures > 0, "{name}: nothing failed");
    }
}

#[test]
fn erases_fail_now_and_then() {
    for (seed, (name, _)) in (0..).zip(CHIPS) {
        let shared = survive(name, seed, 3000, |faults| faults.erase_fail_rate = Some(per_mille(20, seed)));
        assert!(shared.0.lock().unwrap().fault_counts().erase_failures > 0, "{name}: nothing failed");
    }
}

/// Each page of the chip in turn cannot be programmed: of data, nodes, checkpoints, anchors.
#[test]
fn any_page_may_fail() {
    for (name, _) in CHIPS {
        let pages = chip(name, &TestClock::new()).geometry().pages();
        for page in (0..u32::try_from(pages).unwrap()).step_by(if name == "spare" { 5 } else { 29 }) {
            survive(name, page.into(), 40, |faults| faults.program_fails = [PageId(page)].into());
        }
    }
}

/// The power goes behind each of the calls that follow a failed program or erase: whether the block is marked already or
/// not, the check finds nothing amiss.
#[test]
fn a_cut_behind_a_block_that_grew_bad_leaves_no_doubt() {
    for (name, _) in CHIPS {
        let geometry = chip(name, &TestClock::new()).geometry();
        let pages = u32::try_from(geometry.pages()).unwrap();
        for page in (0..pages).step_by(pages as usize / 60) {
            let block = geometry.block_of(PageId(page));
            for erases in [false, true] {
                let clock = TestClock::new();
                let shared = Shared::new(chip(name, &clock));
                let mut faults = shared.0.lock().unwrap();
                match erases {
                    true => faults.faults_mut().erase_fails = [block].into(),
                    false => faults.faults_mut().program_fails = [PageId(page)].into(),
                }
                drop(faults);
                let (mut player, mut random) = (Player::new(shared.clone(), clock), Random(page.into()));
                let mut looks = 0;
                for _ in 0..80 {
                    player.play(&random.step(FILE_BYTES)).unwrap();
                    let counts = shared.0.lock().unwrap().fault_counts();
                    if counts.program_failures + counts.erase_failures > 0 && looks < 12 {
                        looks += 1;
                        sound(&shared.copy(), "behind a failure")
                            .unwrap_or_else(|what| panic!("{name}, page {page}, erases {erases}: {what}"));
                    }
                }
            }
        }
    }
}

/// Compressed blocks lie across pages: if the second cannot be programmed, the first is needed again elsewhere.
#[test]
fn chunks_move_with_all_their_pages() {
    for (seed, name) in (0..).zip(["spare@lz4", "gang@lz4", "page@zstd", "slots@lz4"]) {
        let rate = if name.starts_with("slots") { 40 } else { 8 };
        let shared =
            survive(name, seed, 800, |faults| faults.program_fail_rate = Some(per_mille(rate, seed)));
        assert!(shared.0.lock().unwrap().fault_counts().program_failures > 0, "{name}: nothing failed");
    }
    let pages = chip("spare@lz4", &TestClock::new()).geometry().pages();
    for page in (0..u32::try_from(pages).unwrap()).step_by(7) {
        survive("spare@lz4", page.into(), 40, |faults| {
            faults.program_fails = [PageId(page), PageId(page + 8)].into();
        });
    }
}

/// Several pages of one block, so that a page moves and fails again.
#[test]
fn neighbours_fail_too() {
    for (name, _) in CHIPS {
        let geometry = chip(name, &TestClock::new()).geometry();
        for block in (0..40).step_by(3) {
            let bad = block..block + 3;
            let pages = bad.flat_map(|block| (1..geometry.pages_per_block).map(move |at| (block, at)));
            let pages: Vec<PageId> = pages.map(|(block, at)| geometry.page(BlockId(block), at)).collect();
            survive(name, block.into(), 60, |faults| faults.program_fails = pages.into_iter().collect());
        }
    }
}

#[test]
fn blocks_are_bad_from_the_factory() {
    for (name, geometry) in CHIPS {
        let mut chip = pumice_media::SimChip::new(&pumice_media::ChipSpec::parse_geometry(geometry).unwrap());
        chip.faults_mut().factory_bad = [0, 3, 8, 9, 20, 50].map(BlockId).into();
        let clock = TestClock::new();
        let options = FormatOptions::default().with(|it| {
            it.created = clock.now();
            it.erased = true;
        });
        format(&mut chip, &options, &mut |_, _| {}).unwrap();
        let mut player = Player::new(Shared::new(chip), clock);
        let mut random = Random(5);
        for _ in 0..300 {
            player.play(&random.step(FILE_BYTES)).unwrap();
        }
        player.compare().unwrap_or_else(|what| panic!("{name}: {what}"));
        player.play(&crate::cut::step::Step::Remount).unwrap();
        player.compare().unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}

/// A full volume with a bad block goes on: nodes that the last call changed count as large as they are.
#[test]
fn a_full_chip_with_a_bad_block_is_not_worn_out() {
    let new = |kind| NewNode { kind, perm: 0o755, uid: 0, gid: 0, rdev: 0, target: b"" };
    let clock = TestClock::new();
    let fs = mount(chip_with_bad("page", &clock, [BlockId(50)]), &clock).unwrap();
    let dirs: Vec<Ino> =
        ["a", "b"].map(|name| fs.create(Ino::ROOT, name.as_bytes(), &new(FileKind::Dir)).unwrap().ino).into();
    let name = |number: usize| format!("file {number}").into_bytes();
    let fill = |number: usize| {
        let file = fs.create(dirs[number % 2], &name(number), &new(FileKind::File))?;
        fs.write(file.ino, 0, &[5; 9000])
    };
    let count = (0..10_000).find(|number| fill(*number).is_err()).expect("the volume never fills");
    fs.sync().unwrap();
    let long = |number: usize| format!("{number:0>200}").into_bytes();
    // Names have some room beyond that of files.
    let renamed = |number: &usize| {
        let dir = dirs[number % 2];
        fs.rename(dir, &name(*number), dir, &long(*number), RenameMode::Replace).is_ok()
    };
    let renamed = (0..count).take_while(renamed).count();
    assert!(renamed > 2, "{renamed} of {count}");
    for number in (0..renamed - 1).step_by(2) {
        let (one, other) = (long(number), long(number + 1));
        fs.rename(dirs[0], &one, dirs[1], &other, RenameMode::Exchange).unwrap();
    }
    assert!(!fs.info().unwrap().worn_out);
}

/// Blocks that have been erased a few times fail for good. The volume ends full or failing; the files of the last sync
/// are there all the same.
#[test]
fn a_worn_out_chip_keeps_what_it_holds() {
    for (name, _) in CHIPS {
        for programs_fail in [false, true] {
            wear_out(name, programs_fail);
        }
    }
}

fn wear_out(name: &str, programs_fail: bool) {
    let clock = TestClock::new();
    let shared = Shared::new(chip(name, &clock));
    shared.0.lock().unwrap().faults_mut().endurance = Some(Endurance { erases: 6, programs_fail });
    let fs = mount(shared.clone(), &clock).unwrap();
    write_file(&fs, "/kept", &crate::cut::step::bytes_of(1, 100_000)).unwrap();
    fs.sync().unwrap();
    let mut acknowledged = Vec::new();
    let ended = (0..20_000).find_map(|round| {
        let bytes = crate::cut::step::bytes_of(round, 40_000);
        let done = write_file(&fs, "/churn", &bytes).and_then(|ino| fs.fsync(ino, false));
        if done.is_ok() {
            acknowledged = bytes;
        }
        done.err()
    });
    let error = ended.expect("the chip never wore out");
    assert!(matches!(error.errno(), Errno::NoSpace | Errno::Io | Errno::ReadOnly), "{name}: {error}");
    assert_eq!(read_file(&fs, "/kept").unwrap(), crate::cut::step::bytes_of(1, 100_000), "{name}");
    // Mounting may be read-only by now.
    let _ = fs.unmount();
    let options = pumice_nandfs::MountOptions::new(1 << 20, clock.clock()).with(|it| it.read_only = true);
    let fs = pumice_nandfs::NandFs::mount(shared, options).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(read_file(&fs, "/kept").unwrap(), crate::cut::step::bytes_of(1, 100_000), "{name}");
    assert!(resolve(&fs, "/churn").is_ok() && !acknowledged.is_empty());
}

/// Bits flip and are corrected; blocks near the limit are rewritten.
#[test]
fn weak_blocks_are_refreshed() {
    let clock = TestClock::new();
    let shared = Shared::new(chip("spare", &clock));
    let fs = mount(shared.clone(), &clock).unwrap();
    let bytes = crate::cut::step::bytes_of(1, 300_000);
    write_file(&fs, "/f", &bytes).unwrap();
    fs.sync().unwrap();
    let geometry = shared.geometry();
    let mut chip = shared.0.lock().unwrap();
    let pages = (8..60).map(|block| geometry.page(BlockId(block), 2));
    let written: Vec<PageId> = pages.filter(|page| chip.page_state(*page).unwrap().is_written()).collect();
    chip.faults_mut().flips = written.into_iter().map(|page| BitFlip { page, bit: 77 }).collect();
    drop(chip);
    assert_eq!(read_file(&fs, "/f").unwrap(), bytes);
    assert!(shared.0.lock().unwrap().fault_counts().corrected_reads > 0);
    let before = shared.stats().programs;
    for round in 0..20 {
        write_file(&fs, "/churn", &crate::cut::step::bytes_of(round, 40_000)).unwrap();
        fs.sync().unwrap();
    }
    assert!(shared.stats().programs > before);
    let counts = shared.0.lock().unwrap().fault_counts();
    assert_eq!(read_file(&fs, "/f").unwrap(), bytes);
    let again = shared.0.lock().unwrap().fault_counts();
    // Blocks that were open then are left alone.
    assert!(again.corrected_reads <= counts.corrected_reads + 4, "weak pages are still in use");
}

/// Noise that ECC corrects, on every read.
#[test]
fn noise_is_corrected() {
    for (name, _) in CHIPS {
        survive(name, 9, 300, |faults| faults.read_flip_rate = Some(Rate { per_billion: 200, seed: 3 }));
    }
}

/// A page beyond correction is an I/O error of its file; everything else is there, also after the block was
/// cleaned around it.
#[test]
fn an_unreadable_page_costs_one_file() {
    let clock = TestClock::new();
    let shared = Shared::new(chip("spare", &clock));
    let fs = mount(shared.clone(), &clock).unwrap();
    for number in 0..20 {
        let bytes = crate::cut::step::bytes_of(number, 20_480);
        write_file(&fs, &format!("/f{number}"), &bytes).unwrap();
    }
    fs.sync().unwrap();
    let whole = Image::take(&fs, &Image::default()).unwrap();
    fs.unmount().unwrap();
    let mut hurt = 0;
    for page in (64..300).step_by(7) {
        let copy = Shared::new(shared.copy());
        copy.0.lock().unwrap().faults_mut().unreadable = [PageId(page)].into();
        let Ok(fs) = mount(copy.clone(), &clock) else { continue };
        let lost: Vec<_> = (0..20)
            .filter(|number| match read_file(&fs, &format!("/f{number}")) {
                Ok(bytes) => {
                    assert_eq!(bytes, crate::cut::step::bytes_of(*number, 20_480));
                    false
                }
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Io, "page {page}: {error}");
                    true
                }
            })
            .collect();
        hurt += usize::from(lost.len() == 1);
        assert!(whole.0.len() == 21);
        let report = check(copy.copy(), &mut |_, _| {}).unwrap();
        assert!(lost.is_empty() || !report.findings.is_empty(), "page {page}: the checker is silent");
    }
    assert!(hurt > 20, "{hurt} pages hurt one file");
}
