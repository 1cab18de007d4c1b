//! Section 5.3: wrong bits beyond any ECC, pages and blocks that are gone, power cuts between; as many as the paper's
//! parity covers, and nothing is lost. `PUMICE_ERRORS=N` runs N campaigns of each kind.

use std::collections::BTreeMap;

use crate::common::{Chip, FILE, support::mount};
use pumice_knobs::RCFFS_ERRORS;
use pumice_media::{BitFlip, BlockId, ChipSpec, Nand, PageId, SimChip};
use pumice_rcffs::{FormatOptions, Rcffs, check, format};
use pumice_vfs::{FileSystem, Ino};

/// Pages and erase blocks of a segment of the chip under test.
const PAGES: u32 = 64;
const SEGMENT: u32 = 16;
const BLOCKS: u32 = 208;
const PAGE_BYTES: u32 = 2048;
/// The kind of a parity page in its spare area.
const PARITY: u8 = 5;

/// The seeds of the campaigns.
fn seeds(few: u64) -> impl Iterator<Item = u64> {
    let seeds = RCFFS_ERRORS.seeds(0..few);
    RCFFS_ERRORS.ran(seeds.clone(), seeds.end - seeds.start);
    seeds
}

type Files = BTreeMap<String, Vec<u8>>;

/// A volume on a chip as the paper's, with so many blocks, with files of all sizes, some compressible, written and removed.
fn filled(blocks: u32, (k, m): (u32, u32), seed: u64) -> (SimChip, Files) {
    let spec = ChipSpec::parse_geometry(&format!("2048+64:64:{blocks}")).unwrap();
    let options = FormatOptions { parity_pages: k, parity_blocks: m, ..FormatOptions::default() };
    let fs = mount::<Chip>(format(SimChip::new(&spec), &options).unwrap());
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut files = Files::new();
    for round in 0..60_u64 {
        let name = format!("file{}", round % 40);
        if files.remove(&name).is_some() {
            fs.unlink(Ino::ROOT, name.as_bytes()).unwrap();
        }
        let mut bytes = vec![0; rng.usize(1..250_000)];
        if rng.bool() {
            rng.fill(&mut bytes);
        } else {
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 300).to_le_bytes()[0]);
        }
        let ino = fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap().ino;
        fs.write(ino, 0, &bytes).unwrap();
        files.insert(name, bytes);
    }
    (fs.unmount().unwrap(), files)
}

fn holds(fs: &Rcffs<SimChip>, files: &Files, what: &str) {
    for (name, bytes) in files {
        let attr =
            fs.lookup(Ino::ROOT, name.as_bytes()).unwrap_or_else(|error| panic!("{what}, {name}: {error}"));
        let mut found = vec![0; bytes.len() + 1];
        let read = fs.read(attr.ino, 0, &mut found).unwrap_or_else(|error| panic!("{what}, {name}: {error}"));
        assert!(found[..read] == bytes[..], "{what}: {name}");
    }
}

fn remount(chip: SimChip, what: &str) -> Rcffs<SimChip> {
    let report = check(chip.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(report.findings, [], "{what}");
    mount::<Chip>(chip)
}

fn flip(chip: &mut SimChip, rng: &mut fastrand::Rng, page: u32, most: u32) {
    for _ in 0..rng.u32(1..=most) {
        // Data and the free bytes of the spare area.
        let bit = rng.u32(..(PAGE_BYTES + 38) * 8);
        chip.faults_mut().flips.insert(BitFlip { page: PageId(page), bit });
    }
}

fn some(rng: &mut fastrand::Rng, from: u32, to: u32, many: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (from..to).collect();
    rng.shuffle(&mut all);
    all.truncate(many as usize);
    all
}

/// Nothing is lost by up to 1,000 wrong bits in any one page of every erase block, with one parity page.
#[test]
fn a_thousand_wrong_bits_in_a_page_of_every_block() {
    for seed in seeds(3) {
        let what = format!("PUMICE_SEED={seed}");
        let (mut chip, files) = filled(BLOCKS, (1, 1), seed % 50);
        let mut rng = fastrand::Rng::with_seed(seed);
        for block in 0..BLOCKS {
            let page = block * PAGES + rng.u32(..PAGES);
            flip(&mut chip, &mut rng, page, 1000);
        }
        let fs = remount(chip, &what);
        holds(&fs, &files, &what);
        assert!(
            fs.volume().repairs().in_block > 8 && fs.volume().repairs().lost == 0,
            "{what}: {:?}",
            fs.volume().repairs()
        );
        // The wrong pages are moved: the second scrub finds nothing.
        let first = fs.volume().scrub(false, &mut |_, _| {}).unwrap();
        assert!(first.wrong > 8 && first.lost == 0 && first.moved > 0, "{what}: {first:?}");
        assert_eq!(fs.volume().scrub(false, &mut |_, _| {}).unwrap().wrong, 0, "{what}");
        holds(&remount(fs.unmount().unwrap(), &what), &files, &what);
    }
}

/// Any k pages of each block with k parity pages, any m whole blocks of each segment with m, and both together.
#[test]
fn as_many_pages_and_blocks_as_there_is_parity() {
    for seed in seeds(3) {
        let (k, m) = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 3), (2, 0)][usize::try_from(seed % 6).unwrap()];
        let what = format!("PUMICE_SEED={seed}, {k} pages, {m} blocks");
        let (mut chip, files) = filled(BLOCKS, (k, m), seed % 50);
        let mut rng = fastrand::Rng::with_seed(seed + 1);
        for segment in 0..BLOCKS / SEGMENT {
            let from = segment * SEGMENT;
            let dead = some(&mut rng, from, from + SEGMENT, if seed % 4 == 3 { 0 } else { m });
            for block in from..from + SEGMENT {
                let pages = if dead.contains(&block) { PAGES } else { k };
                for page in some(&mut rng, block * PAGES, (block + 1) * PAGES, pages) {
                    if rng.bool() {
                        chip.faults_mut().unreadable.insert(PageId(page));
                    } else {
                        flip(&mut chip, &mut rng, page, 1000);
                    }
                }
            }
        }
        let fs = remount(chip, &what);
        holds(&fs, &files, &what);
        // The segments move while all that is wrong.
        let first = fs.volume().scrub(false, &mut |_, _| {}).unwrap();
        assert_eq!(first.lost, 0, "{what}");
        let fs = remount(fs.unmount().unwrap(), &what);
        holds(&fs, &files, &what);
        assert_eq!(fs.volume().scrub(false, &mut |_, _| {}).unwrap().wrong, 0, "{what}");
    }
}

fn is_parity(chip: &mut SimChip, page: u32) -> bool {
    let mut spare = vec![0; 38];
    chip.read_spare(PageId(page), &mut spare).unwrap();
    spare[12] == PARITY
}

/// The segment information is gone with its parity page, and so is, at its place in another block, the parity page that
/// ended this block early. Which of its pages are void stands in the information.
#[test]
fn the_information_comes_back_beside_a_short_block_without_parity() {
    let what = "information";
    let (mut chip, files) = filled(BLOCKS, (1, 1), 28);
    let mut hurt = 0;
    for segment in 0..BLOCKS / SEGMENT {
        // The last block is for parity, the one before it has the information.
        let last = (segment + 1) * SEGMENT - 2;
        let information = last * PAGES + PAGES - 2;
        let mut ends = (segment * SEGMENT..last).map(|block| block * PAGES + PAGES - 2);
        if let Some(end) = ends.find(|page| is_parity(&mut chip, *page)) {
            chip.faults_mut().unreadable.extend([information, information + 1, end].map(PageId));
            hurt += 1;
        }
    }
    assert!(hurt > 2, "{hurt} segments have a short block");
    let fs = remount(chip, what);
    holds(&fs, &files, what);
    assert_eq!(fs.volume().scrub(false, &mut |_, _| {}).unwrap().lost, 0);
    holds(&remount(fs.unmount().unwrap(), what), &files, what);
}

/// A segment that a power cut ended early has no parity blocks: more pages gone than parity brings back are an error.
#[test]
fn a_segment_cut_short_makes_nothing_up() {
    let (chip, _) = filled(BLOCKS, (1, 1), 3);
    let fs = mount::<Chip>(chip);
    let ino = fs.create(Ino::ROOT, b"newest", &FILE).unwrap().ino;
    let mut bytes = vec![0; 100_000];
    fastrand::Rng::with_seed(1).fill(&mut bytes);
    fs.write(ino, 0, &bytes).unwrap();
    fs.fsync(ino, false).unwrap();
    // A later group, so that this one counts.
    let later = fs.create(Ino::ROOT, b"later", &FILE).unwrap().ino;
    fs.fsync(later, false).unwrap();
    let mut chip = fs.abandon().unwrap();
    // All pages that begin like a part of the file.
    let mut all = Vec::new();
    for page in 0..BLOCKS * PAGES {
        let (mut data, mut spare) = (vec![0; 2048], vec![0; 38]);
        chip.read(PageId(page), &mut data, &mut spare).unwrap();
        if bytes.windows(64).any(|part| *part == data[..64]) {
            all.push(page);
        }
    }
    assert!(all.len() > 20, "{all:?}");
    chip.faults_mut().unreadable.extend(all[10..12].iter().copied().map(PageId));
    let fs = mount::<Chip>(chip);
    let mut refused = 0;
    for (at, want) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
        let mut found = vec![0; want.len()];
        match fs.read(ino, at, &mut found) {
            Ok(_) => assert!(found == want, "made up at {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!((1..5).contains(&refused), "{refused} refused");
}

/// Power cuts, and wrong bits before the next mount and after it: files that were written to the end are whole.
#[test]
fn wrong_bits_between_power_cuts() {
    for seed in seeds(4) {
        let what = format!("PUMICE_SEED={seed}");
        let (mut chip, mut files) = filled(BLOCKS, (1, 1), seed % 50);
        let mut rng = fastrand::Rng::with_seed(seed + 2);
        for round in 0..4 {
            let fs = remount(chip, &what);
            let name = format!("more{round}");
            let ino = fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap().ino;
            let mut bytes = vec![0; rng.usize(1..400_000)];
            rng.fill(&mut bytes);
            fs.write(ino, 0, &bytes).unwrap();
            fs.fsync(ino, false).unwrap();
            files.insert(name, bytes);
            // A parity page tells that the newest group is whole: those stay as they are.
            chip = fs.abandon().unwrap();
            for block in 0..BLOCKS {
                if !chip.faults().flips.iter().any(|flip| flip.page.0 / PAGES == block) {
                    let page = block * PAGES + rng.u32(..PAGES);
                    if !is_parity(&mut chip, page) {
                        flip(&mut chip, &mut rng, page, 1000);
                    }
                }
            }
        }
        holds(&remount(chip, &what), &files, &what);
    }
}

/// Damage beyond the level is an error for the right range of the right file, and nothing else suffers.
#[test]
fn what_cannot_be_brought_back_is_an_error_and_stays_one() {
    let (mut chip, mut files) = filled(BLOCKS, (1, 1), 7);
    let is_random = |bytes: &&Vec<u8>| bytes.len() > 8192 && bytes[..8] != [bytes[0]; 8];
    let bytes = files.values().find(is_random).unwrap().clone();
    // Two pages at the same places of two blocks of a segment: those with the file's first bytes, and all of others.
    let mut found = None;
    for page in (0..BLOCKS * PAGES).map(PageId) {
        let (mut data, mut spare) = (vec![0; 2048], vec![0; 38]);
        chip.read(page, &mut data, &mut spare).unwrap();
        // One of them lies within a page.
        let parts = [&bytes[1000..1064], &bytes[2000..2064], &bytes[3000..3064]];
        if data.windows(64).any(|part| parts.contains(&part)) {
            found = Some(page);
        }
    }
    let at = found.unwrap();
    let block = chip.geometry().block_of(at);
    let other = if block.0 % SEGMENT == 0 { block.0 + 1 } else { block.0 - 1 };
    let index = chip.geometry().index_in_block(at);
    let neighbour = if index < 30 { index + 1 } else { index - 1 };
    for (block, index) in [(block.0, index), (block.0, neighbour), (other, index), (other, neighbour)] {
        let page = chip.geometry().page(BlockId(block), index);
        chip.faults_mut().unreadable.insert(page);
    }
    let report = check(chip.clone()).unwrap();
    assert!(
        !report.findings.is_empty() && report.findings.iter().all(|finding| finding.code == "data"),
        "{report:?}"
    );
    let fs = mount::<Chip>(chip);
    let mut hurt = Vec::new();
    for (name, bytes) in &files {
        let ino = fs.lookup(Ino::ROOT, name.as_bytes()).unwrap().ino;
        let mut chunk = vec![0; 4096];
        for (at, want) in (0..).step_by(4096).zip(bytes.chunks(4096)) {
            match fs.read(ino, at, &mut chunk) {
                Ok(read) => assert!(chunk[..read] == *want, "{name} at {at}"),
                Err(_) => hurt.push((name.clone(), at)),
            }
        }
    }
    assert!((1..=12).contains(&hurt.len()), "{hurt:?}");
    assert!(fs.volume().scrub(false, &mut |_, _| {}).unwrap().lost >= 2);
    files.retain(|name, _| hurt.iter().all(|(other, _)| other != name));
    let fs = mount::<Chip>(fs.unmount().unwrap());
    holds(&fs, &files, "others");
    let (name, offset) = &hurt[0];
    let ino = fs.lookup(Ino::ROOT, name.as_bytes()).unwrap().ino;
    assert!(fs.read(ino, *offset, &mut [0; 4096]).is_err(), "moving it has not hidden it");
    for (name, _) in &hurt {
        let _ = fs.unlink(Ino::ROOT, name.as_bytes());
    }
    assert_eq!(check(fs.unmount().unwrap()).unwrap().findings, []);
}

/// The quick scrub reads spare areas alone, and finds signatures that do not agree.
#[test]
fn a_quick_scrub_reads_no_page() {
    let (mut chip, _) = filled(BLOCKS, (2, 1), 3);
    let before = chip.stats();
    let fs = mount::<Chip>(chip);
    let mounted = fs.stats() - before;
    assert_eq!(fs.volume().scrub(true, &mut |_, _| {}).unwrap().wrong, 0);
    let quick = fs.stats() - before;
    // The information of each segment is read once.
    assert!(quick.page_reads - mounted.page_reads <= 16, "{quick:?}");
    assert!(quick.spare_reads - mounted.spare_reads > 1024, "{quick:?}");
    chip = fs.unmount().unwrap();
    // Two wrong bits in the signature of a page.
    for bit in [0, 9] {
        chip.faults_mut()
            .flips
            .insert(BitFlip { page: PageId(SEGMENT * PAGES + 3), bit: PAGE_BYTES * 8 + 16 + bit });
    }
    let fs = mount::<Chip>(chip);
    let found = fs.volume().scrub(true, &mut |_, _| {}).unwrap();
    assert!(found.wrong >= 1 && found.moved == 1, "{found:?}");
    assert_eq!(fs.volume().scrub(true, &mut |_, _| {}).unwrap().wrong, 0);
}
