//! A page of a table that cannot be read, on a volume that was closed in order: its entries are not lost with it. The
//! volume can be read; it is written to where that is safe, or refuses by name; a scrub goes through it. A repair
//! brings all of it back, from the tags.

use std::collections::BTreeMap;

use crate::common::{formatted, mount};
use pumice_media::{Nand, PageId, SimChip};
use pumice_nandfs::{NandFs, RepairOptions, check, repair};
use pumice_vfs::conformance::{read_file, write_file};
use pumice_vfs::{Clock, Errno, FileKind, FileSystem, FsError, Ino, NewNode, Timestamp};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };
const CHIP: &str = "2048+64:16:96";
/// Kinds of chunks, as tags have them.
const NODE_TABLE: u8 = 3;
const BLOCK_TABLE: u8 = 4;

fn clock() -> Clock {
    Box::new(Timestamp::default)
}

type Files = BTreeMap<String, Vec<u8>>;

/// A volume with nodes on several pages of their table, closed after some checkpoints more.
fn volume(checkpoints: usize) -> (SimChip, Files) {
    let fs = mount(formatted(CHIP, Timestamp::default()), clock());
    let mut files = Files::new();
    for number in 0..600_u32 {
        let name = format!("f{number}");
        let bytes = number.to_le_bytes().repeat(10 + number as usize % 50);
        write_file(&fs, &name, &bytes).unwrap();
        files.insert(name, bytes);
    }
    // More erase blocks than the journal of a checkpoint has entries for.
    let large: Vec<u8> = (0..1_200_000_u32).map(|at| (at >> 3).to_le_bytes()[0]).collect();
    write_file(&fs, "large", &large).unwrap();
    files.insert("large".into(), large);
    for _ in 0..checkpoints {
        fs.sync().unwrap();
        write_file(&fs, "f0", b"anew").unwrap();
        files.insert("f0".into(), b"anew".to_vec());
    }
    (fs.unmount().unwrap(), files)
}

/// The pages that begin with a chunk of this table, newest last.
fn pages(chip: &mut SimChip, table: u8) -> Vec<PageId> {
    let count = u32::try_from(chip.geometry().pages()).unwrap();
    let mut spare = vec![0; chip.geometry().free_spare_bytes as usize];
    let mut found = Vec::new();
    for page in (0..count).map(PageId) {
        if chip.page_state(page).unwrap().is_written() {
            chip.read_spare(page, &mut spare).unwrap();
            if spare[0] & 15 == 3 && spare[12] & 7 == table {
                found.push(page);
            }
        }
    }
    found
}

fn create(fs: &NandFs<SimChip>, name: &str) -> Result<(), FsError> {
    fs.create(Ino::ROOT, name.as_bytes(), &FILE).map(drop)
}

/// Nothing else than I/O errors where something is missing; how many files there are.
fn readable(fs: &NandFs<SimChip>, files: &Files) -> usize {
    let whole = files.iter().filter(|(name, want)| match read_file(fs, name) {
        Ok(found) => found == **want,
        Err(_) => false,
    });
    whole.count()
}

/// A repair brings everything back.
fn mended(chip: SimChip, files: &Files, when: &str) {
    let (chip, found) = repair(chip, RepairOptions::default()).unwrap_or_else(|e| panic!("{when}: {e}"));
    let report = check(chip.clone(), &mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{when}: {:?} after {found:?}", report.findings);
    let fs = mount(chip, clock());
    assert_eq!(readable(&fs, files), files.len(), "{when}: {found:?}");
    (0..300).for_each(|n| create(&fs, &format!("new{n}")).unwrap());
    fs.unmount().unwrap();
}

/// The fate of a volume with a dead page of the block table; true if it refused to be written to.
fn refuses(chip: SimChip, files: &Files, page: PageId, when: &str) -> bool {
    let fs = mount(chip.clone(), clock());
    let found = fs.scrub(&mut |_, _| {}).unwrap_or_else(|e| panic!("{when}: scrub: {e}"));
    assert!(found.unreadable.contains(&page.0) && found.read_only, "{when}: {found:?}");
    drop(fs.unmount().unwrap());

    let fs = mount(chip, clock());
    let Err(first) = (0..2000).try_for_each(|n| create(&fs, &format!("new{n}"))) else { return false };
    assert!(first.to_string().contains("the free erase blocks are unknown"), "{when}: {first}");
    let again = create(&fs, "again").unwrap_err();
    assert_eq!(again.errno(), Errno::ReadOnly, "{when}: {again}");
    assert!(again.to_string().contains("repair it"), "{when}: {again}");
    assert_eq!(readable(&fs, files), files.len(), "{when}");
    true
}

/// Hands out a volume after so many checkpoints with each page of a table dead that its check misses, and how to call it;
/// returns how many those were.
fn each_dead_page(
    checkpoints: usize,
    table: u8,
    mut each: impl FnMut(SimChip, &Files, PageId, &str),
) -> usize {
    let (mut chip, files) = volume(checkpoints);
    let mut dead = 0;
    for page in pages(&mut chip, table) {
        let mut chip = chip.clone();
        chip.faults_mut().unreadable.insert(page);
        if !check(chip.clone(), &mut |_, _| {}).unwrap().findings.is_empty() {
            dead += 1;
            each(chip, &files, page, &format!("page {}, {checkpoints} checkpoints", page.0));
        }
    }
    dead
}

#[test]
fn of_the_block_table() {
    let (mut refused, mut dead) = (0, 0);
    for checkpoints in 0..18 {
        dead += each_dead_page(checkpoints, BLOCK_TABLE, |chip, files, page, when| {
            mended(chip.clone(), files, when);
            refused += usize::from(refuses(chip, files, page, when));
        });
    }
    assert!(dead > 3 && refused > 3, "{dead} dead pages, {refused} volumes that refused");
}

#[test]
fn of_the_node_table() {
    let mut dead = 0;
    for checkpoints in [0, 5, 11] {
        dead += each_dead_page(checkpoints, NODE_TABLE, |chip, files, _, when| {
            let fs = mount(chip, clock());
            let there = readable(&fs, files);
            // Files with readable nodes are written to as ever.
            for n in 0..300 {
                create(&fs, &format!("new{n}")).unwrap_or_else(|e| panic!("{when}: {e}"));
            }
            fs.sync().unwrap_or_else(|e| panic!("{when}: {e}"));
            let chip = fs.unmount().unwrap_or_else(|e| panic!("{when}: {e}"));
            let fs = mount(chip, clock());
            assert!(readable(&fs, files) == there && there < files.len(), "{when}");
            fs.lookup(Ino::ROOT, b"new299").unwrap();
            let chip = fs.unmount().unwrap();
            let (chip, found) = repair(chip, RepairOptions::default()).unwrap();
            let fs = mount(chip, clock());
            assert_eq!(readable(&fs, files), files.len(), "{when}: {found:?}");
        });
    }
    assert!(dead > 3, "{dead} dead pages");
}
