//! An erase block that dies on a disk that lost its power, and two pages side by side. Flushed blocks there are told, by
//! I/O errors or by a disk that can only be read; where a page may as well be torn, by a check. They are never just older.

use std::collections::BTreeSet;

use pumice_ftl::{Ftl, OpenOptions, check};
use pumice_knobs::FTL_DEAD_BLOCKS;
use pumice_media::{BlockDevice, BlockError, CutMode, Lba, Nand, PageId, SimChip};

use crate::campaign::programmed;
use crate::common::raw::{block_kind, read};
use crate::common::shared::Shared;
use crate::common::{CASES, Case, Model, Step, change, chip_of, policies, start};

/// Chips whose pages tell what they hold, with and without pairs and parity, and chips of which summaries tell.
const CHIPS: [&str; 13] = [
    "gang",
    "few",
    "tags",
    "small",
    "summary",
    "packed",
    "slots",
    "spi",
    "parity",
    "parity2",
    "tags/dist3",
    "packed/dist3",
    "slots/by4",
];

/// The kind of pages of data.
const DATA: u8 = 1;

/// Cases in a thousand that a check alone tells.
const NOTED_MOST: u64 = 8;

/// A disk after many flushes; its power went between two steps or in one.
fn crashed(name: &str, seed: u64) -> (SimChip, Model) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let shared = Shared::new(Case::chip_of(name, 600, &policies("cost-benefit", "sepbit", "even")));
    let mut disk = start(shared.clone());
    let mut model = Model::new(disk.blocks(), disk.block_bytes());
    let blocks = disk.blocks();
    let step = |rng: &mut fastrand::Rng| loop {
        match Step::random(rng, blocks) {
            Step::Close | Step::Die => {}
            _ if rng.u32(..4) == 0 => return Step::Flush,
            step => return step,
        }
    };
    let fill = (0..blocks).step_by(8).map(|first| Step::Write { first, count: 8 }).collect::<Vec<_>>();
    let steps = rng.usize(50..200);
    for step in fill.into_iter().chain(std::iter::repeat_with(|| step(&mut rng)).take(steps)) {
        change(&mut disk, &mut model, step).unwrap();
    }
    if rng.bool() {
        let mode = match rng.u32(..4) {
            0 => CutMode::Nothing,
            1 => CutMode::Complete,
            2 => CutMode::Torn { seed },
            _ => CutMode::Garbage { seed },
        };
        shared.0.lock().unwrap().cut_after(rng.u64(..40), mode);
        while change(&mut disk, &mut model, step(&mut rng)).is_ok() {}
    }
    drop(disk);
    let mut chip = shared.copy();
    chip.power_on();
    chip.faults_mut().power_cut = None;
    (chip, model)
}

/// How dead data was told.
#[derive(PartialEq, Eq)]
pub enum Told {
    /// By errors, by a disk that can only be read, or nothing was missing.
    Served,
    /// By a check alone, which names the page: nobody can tell it from one that the power cut tore.
    Noted,
}

/// Cases that failed once: their seeds, and the first and the last dead page. The pages of the checkpoint. A segment that
/// was a head at the checkpoint, and was erased and written since. A page in a place that others name for what lay there
/// before an erase.
const MENDED: [(&str, u64, u32, u32); 6] = [
    ("gang", 29_927_436, 1191, 1192),
    ("gang", 1022, 1120, 1151),
    ("tags", 1044, 128, 135),
    ("gang", 1064, 1216, 1217),
    ("gang", 1372, 1863, 1864),
    ("tags", 1394, 120, 121),
];

#[test]
fn cases_that_failed_once() {
    for (name, seed, first, last) in MENDED {
        let (mut chip, model) = crashed(name, seed);
        let dead = (first..=last).map(PageId).collect::<Vec<_>>();
        chip.faults_mut().unreadable.extend(dead.iter().copied());
        if let Err(what) = judge(&chip, &model, &dead) {
            panic!("{seed}: {name}, dead {first} to {last}: {what}");
        }
    }
}

/// How the dead pages are told; an error if they are not.
pub fn judge(chip: &SimChip, model: &Model, dead: &[PageId]) -> Result<Told, String> {
    let Ok(mut disk) = Ftl::open(chip.clone(), OpenOptions::default()) else { return Ok(Told::Served) };
    if disk.info().missing.is_some() {
        return Ok(Told::Served);
    }
    let is_wrong = |what: &String| !what.ends_with("cannot be read");
    let wrong = (0..model.blocks()).find_map(|lba| model.judge_cut(&mut disk, lba).err().filter(is_wrong));
    let Some(wrong) = wrong else { return Ok(Told::Served) };
    let report = check(chip.clone(), &mut |_, _| {}).map_err(|error| error.to_string())?;
    let is_noted = dead.iter().any(|page| {
        let segment = format!("of segment {} cannot", page.0 / chip.geometry().pages_per_block);
        report.notes.iter().any(|note| note.detail.contains(&segment))
    });
    if is_noted { Ok(Told::Noted) } else { Err(wrong) }
}

#[test]
fn each_is_told() {
    let seeds = FTL_DEAD_BLOCKS.seeds(0..CHIPS.len() as u64);
    let (mut cases, mut noted, mut silent) = (0, 0, Vec::new());
    for seed in seeds.clone() {
        FTL_DEAD_BLOCKS.begin(seed);
        let name = CHIPS[usize::try_from(seed % CHIPS.len() as u64).unwrap()];
        let (mut chip, model) = crashed(name, seed);
        judge(&chip, &model, &[]).unwrap_or_else(|what| panic!("{name}, nothing dead: {what}"));
        let per_block = chip.geometry().pages_per_block;
        let written = programmed(&mut chip);
        let blocks = written.chunk_by(|a, b| a.0 / per_block == b.0 / per_block).map(<[PageId]>::to_vec);
        let pairs = written.windows(2).map(<[PageId]>::to_vec);
        for dead in blocks.chain(pairs).filter(|dead| dead[0].0 / per_block >= 4) {
            let mut chip = chip.clone();
            chip.faults_mut().unreadable.extend(dead.iter().copied());
            let told = judge(&chip, &model, &dead);
            noted += u64::from(matches!(told, Ok(Told::Noted)));
            let (first, last) = (dead[0].0, dead[dead.len() - 1].0);
            silent.extend(told.err().map(|what| format!("{seed}: {name}, dead {first} to {last}: {what}")));
            cases += 1;
        }
    }
    println!("ftl: {noted} of {cases} dead blocks and pairs of pages are told by a check alone");
    FTL_DEAD_BLOCKS.ran(seeds, cases);
    assert!(silent.is_empty(), "{} of {cases} are silent:\n{}", silent.len(), silent.join("\n"));
    assert!(noted * 1000 <= cases * NOTED_MOST, "{noted} of {cases} are told by a check alone");
}

/// Where summaries tell what pages hold, the segment that a flush wrote to dies, or two pages in it that it wrote, one behind
/// the other. Often the segment was opened just before, and all of its summaries die with it.
#[test]
fn the_first_commit_of_a_segment_is_told() {
    for name in ["small", "few", "spi", "packed", "parity2", "packed/dist3"] {
        let mut disk = start(Case::chip_of(name, 600, &policies("cost-benefit", "sepbit", "even")));
        let mut model = Model::new(disk.blocks(), disk.block_bytes());
        let mut rng = fastrand::Rng::with_seed(5);
        let blocks = disk.blocks();
        change(&mut disk, &mut model, Step::Write { first: 0, count: blocks }).unwrap();
        change(&mut disk, &mut model, Step::Flush).unwrap();
        let per_block = chip_of(&disk).geometry().pages_per_block;
        let pages = |chip: &SimChip| -> BTreeSet<(PageId, u32)> {
            let mut chip = chip.clone();
            let written = programmed(&mut chip);
            let geometry = chip.geometry();
            written.into_iter().map(|page| (page, chip.erase_count(geometry.block_of(page)))).collect()
        };
        let mut before = pages(chip_of(&disk));
        for flush in 0..150 {
            change(&mut disk, &mut model, Step::Write { first: rng.u64(..blocks / 4), count: 1 }).unwrap();
            change(&mut disk, &mut model, Step::Flush).unwrap();
            let chip = chip_of(&disk).clone();
            let written = pages(&chip);
            let new: Vec<PageId> = written.difference(&before).map(|(page, _)| *page).collect();
            let whole = new.chunk_by(|a, b| a.0 / per_block == b.0 / per_block).map(|new| {
                let is_of_it = |page: &PageId| page.0 / per_block == new[0].0 / per_block;
                written.iter().map(|(page, _)| *page).filter(is_of_it).collect::<Vec<_>>()
            });
            let pairs = new.windows(2).filter(|pair| pair[0].0 / per_block == pair[1].0 / per_block);
            for dead in whole.chain(pairs.map(<[PageId]>::to_vec)) {
                let mut chip = chip.clone();
                chip.faults_mut().unreadable.extend(dead.iter().copied());
                if let Err(what) = judge(&chip, &model, &dead) {
                    panic!("{name}, flush {flush}, dead {dead:?}: {what}");
                }
            }
            before = written;
        }
    }
}

/// A disk that was closed, started, written to a little, and lost its power; and the data segments that were not written
/// since the start, each with its programmed pages.
fn crashed_behind_a_checkpoint(name: &str) -> (SimChip, Model, Vec<Vec<PageId>>) {
    let mut disk = start(Case::chip_of(name, 600, &policies("cost-benefit", "sepbit", "even")));
    let mut model = Model::new(disk.blocks(), disk.block_bytes());
    let mut rng = fastrand::Rng::with_seed(7);
    let mut write = |disk: &mut Ftl<SimChip>, model: &mut Model, writes: u64| {
        for _ in 0..writes {
            let first = rng.u64(..disk.blocks());
            change(disk, model, Step::Write { first, count: 4 }).unwrap();
        }
        change(disk, model, Step::Flush).unwrap();
    };
    let blocks = disk.blocks();
    write(&mut disk, &mut model, blocks / 3);
    let mut closed = disk.close().unwrap();
    let mut disk = start(closed.clone());
    write(&mut disk, &mut model, 3);
    let mut chip = chip_of(&disk).clone();
    let case = Case::named(name.split('/').next().unwrap());
    let (was, per_block) = (programmed(&mut closed), chip.geometry().pages_per_block);
    let now = programmed(&mut chip);
    let first_page = |chip: &mut SimChip, block: u32| read(chip, block, 0, 1).data;
    let of_block = |pages: &[PageId], block: u32| {
        pages.iter().copied().filter(|page| page.0 / per_block == block).collect::<Vec<_>>()
    };
    let old = (4..chip.geometry().blocks).filter(|block| block_kind(case, &mut chip, *block) == Some(DATA));
    let old: Vec<u32> = old.collect();
    let is_old = |block: &u32| {
        of_block(&was, *block) == of_block(&now, *block)
            && first_page(&mut closed, *block) == first_page(&mut chip, *block)
    };
    let old: Vec<u32> = old.into_iter().filter(is_old).collect();
    let segments = old.into_iter().map(|block| of_block(&now, block)).collect();
    (chip, model, segments)
}

/// What the checkpoint knows of a segment is not missing with its pages. The first and the last two of them die: their blocks
/// are errors, and the disk can be written to.
#[test]
fn dead_pages_of_old_segments_are_no_alarm() {
    for name in CHIPS {
        let gang = Case::named(name.split('/').next().unwrap()).gang(false) as usize;
        let (chip, model, segments) = crashed_behind_a_checkpoint(name);
        assert!(segments.len() > 1, "{name}: {} segments", segments.len());
        for pages in segments.iter().filter(|pages| pages.len() > 3 * gang) {
            let mut chip = chip.clone();
            let dead = [pages[0], pages[pages.len() - 1 - gang], pages[pages.len() - 1]];
            chip.faults_mut().unreadable.extend(dead);
            let mut disk = start(chip);
            assert_eq!(disk.info().missing, None, "{name}, {dead:?}");
            for lba in 0..model.blocks() {
                let judged = model.judge_cut(&mut disk, lba);
                assert!(
                    judged.as_ref().err().is_none_or(|what| what.ends_with("cannot be read")),
                    "{judged:?}"
                );
            }
            disk.write(Lba(0), &vec![1; disk.block_bytes() as usize]).unwrap();
        }
    }
}

/// Nothing but the checkpoint tells of trims that it settled: without it, or both copies of its record, the blocks hold what
/// they held before. The disk is served as it is, and says so.
#[test]
fn a_lost_checkpoint_is_told() {
    const CHECKPOINT: u8 = 4;
    const RECORD: u8 = 14;
    for case in CASES {
        let mut disk = start(case.chip(600, &policies("cost-benefit", "sepbit", "even")));
        let mut model = Model::new(disk.blocks(), disk.block_bytes());
        let count = disk.blocks();
        for step in [Step::Write { first: 0, count }, Step::Flush, Step::Trim { first: 0, count: count / 2 }]
        {
            change(&mut disk, &mut model, step).unwrap();
        }
        let mut sound = disk.close().unwrap();
        let per_block = sound.geometry().pages_per_block;
        for kind in [CHECKPOINT, RECORD] {
            let blocks = 4..sound.geometry().blocks;
            let dead: Vec<u32> =
                blocks.filter(|block| block_kind(case, &mut sound, *block) == Some(kind)).collect();
            let mut chip = sound.clone();
            let pages = dead.iter().flat_map(|block| block * per_block..(block + 1) * per_block);
            chip.faults_mut().unreadable.extend(pages.map(PageId));
            let mut disk = start(chip);
            let missing = disk.info().missing.unwrap_or_else(|| panic!("{}, {kind}: not told", case.name));
            assert!(dead.contains(&missing.block), "{}, {kind}: {missing}", case.name);
            let refused = disk.write(Lba(0), &vec![1; disk.block_bytes() as usize]);
            assert_eq!(refused, Err(BlockError::ReadOnly), "{}, {kind}", case.name);
        }
    }
}
