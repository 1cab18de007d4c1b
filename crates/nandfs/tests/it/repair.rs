//! Repair: roots, tables and single pages are wiped, alone and together; the first run mends, the second finds nothing,
//! and all data of other pages is there.

use std::collections::BTreeMap;

use crate::common::{formatted, mount, protected};
use pumice_media::{BlockId, Nand, PageId, SimChip};
use pumice_nandfs::{FsyncProtection, RepairOptions, check, repair};
use pumice_vfs::conformance::{list, resolve, write_file};
use pumice_vfs::{Clock, FileKind, FileSystem, Finding, Ino, NewNode, RenameMode, Timestamp, XattrMode};

/// Tags in the spare area of one page, so that the test can tell the contents of pages.
const CHIPS: [&str; 3] = ["2048+64:8:96", "16384+1952:4:80", "2048+64:8:96@lz4"];
const DIR: NewNode<'_> = NewNode { kind: FileKind::Dir, perm: 0o755, uid: 0, gid: 0, rdev: 0, target: b"" };

fn clock() -> Clock {
    Box::new(|| Timestamp { seconds: 1_700_000_000, nanos: 5 })
}

fn bytes(number: usize) -> Vec<u8> {
    (0..100 + number * 97).map(|at| ((at * (number + 3)) >> 2).to_le_bytes()[0]).collect()
}

/// Files by path.
type Files = BTreeMap<String, Vec<u8>>;

/// A volume with files in directories, some taken away again, some written since by fsync.
fn volume(geometry: &str, clean: bool) -> (SimChip, Files) {
    let fs = mount(formatted(geometry, clock()()), clock());
    for dir in ["/a", "/a/b", "/c"] {
        let (above, name) = dir.rsplit_once('/').unwrap();
        fs.create(resolve(&fs, above).unwrap().ino, name.as_bytes(), &DIR).unwrap();
    }
    let mut files = Files::new();
    for number in 0..90 {
        let path = format!("{}/file{number}", ["", "/a", "/a/b", "/c"][number % 4]);
        let ino = write_file(&fs, &path, &bytes(number)).unwrap();
        if number % 9 == 0 {
            fs.set_xattr(ino, b"user.long", &bytes(number + 5), XattrMode::Either).unwrap();
        }
        files.insert(path, bytes(number));
    }
    fs.sync().unwrap();
    for number in (0..90).step_by(7) {
        let path = format!("{}/file{number}", ["", "/a", "/a/b", "/c"][number % 4]);
        let (above, name) = path.rsplit_once('/').unwrap();
        fs.unlink(resolve(&fs, above).unwrap().ino, name.as_bytes()).unwrap();
        files.remove(&path);
    }
    fs.sync().unwrap();
    for number in (1..90).step_by(11).filter(|number| number % 7 != 0) {
        let path = format!("{}/file{number}", ["", "/a", "/a/b", "/c"][number % 4]);
        let ino = resolve(&fs, &path).unwrap().ino;
        fs.write(ino, 50, b"newer").unwrap();
        fs.fsync(ino, false).unwrap();
        files.get_mut(&path).unwrap()[50..55].copy_from_slice(b"newer");
    }
    save(&fs, &mut files);
    (if clean { fs.unmount().unwrap() } else { fs.abandon().unwrap() }, files)
}

/// Files that are saved: the number of their bytes, the first name and the last.
const SAVED: [(usize, &str, &str); 4] = [
    (30, "/a/tmp", "/a/file1"),
    (31, "/a/b/tmp", "/a/b/file2"),
    (32, "/tmp", "/c/file3"),
    (33, "/t", "/saved"),
];

/// Saves files as programs do it, over others and over a name of another directory, and takes one away.
fn save(fs: &impl FileSystem, files: &mut Files) {
    let above = |path: &str| resolve(fs, path.rsplit_once('/').unwrap().0).unwrap().ino;
    for (number, tmp, path) in SAVED {
        let ino = write_file(fs, tmp, &bytes(number)).unwrap();
        fs.fsync(ino, false).unwrap();
        let (from, to) = (tmp.rsplit_once('/').unwrap().1, path.rsplit_once('/').unwrap().1);
        fs.rename(above(tmp), from.as_bytes(), above(path), to.as_bytes(), RenameMode::Replace).unwrap();
        fs.fsync(above(path), false).unwrap();
        files.insert(path.into(), bytes(number));
    }
    fs.unlink(above("/a/x"), b"file5").unwrap();
    fs.fsync(above("/a/x"), false).unwrap();
    assert!(files.remove("/a/file5").is_some());
}

fn mended(chip: SimChip, dry_run: bool) -> (SimChip, Vec<Finding>) {
    repair(
        chip,
        RepairOptions::default().with(|it| {
            it.dry_run = dry_run;
            it.uuid = *b"another-identity";
            it.now = clock()();
        }),
    )
    .unwrap()
}

/// Repairs twice, and compares the files; returns how many are missing or wrong.
fn compare(chip: SimChip, files: &Files, what: &str) -> usize {
    let (chip, first) = mended(chip, false);
    assert!(!first.is_empty(), "{what}: nothing was mended");
    let report = check(chip.clone(), &mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{what}: {:?} after {first:?}", report.findings);
    let fs = mount(chip, clock());
    let mut lost = 0;
    for (path, want) in files {
        let Ok(attr) = resolve(&fs, path) else {
            lost += 1;
            continue;
        };
        let mut found = vec![0; want.len()];
        let read = fs.read(attr.ino, 0, &mut found).unwrap();
        lost += usize::from(found != *want || read != want.len());
    }
    // Nothing that was taken away comes back. A file has its first name again if the last is named as lost with its page.
    let told = first.iter().any(|finding| finding.detail.starts_with("names of director"));
    let is_at = |path: &str, number: usize| {
        let mut found = vec![0; bytes(number).len()];
        resolve(&fs, path).is_ok_and(|attr| {
            fs.read(attr.ino, 0, &mut found).unwrap() == found.len() && found == bytes(number)
        })
    };
    let is_first = |path: &str| {
        let mut saved = SAVED.into_iter().filter(|(_, name, _)| *name == path);
        saved.any(|(number, _, last)| told && is_at(path, number) && !is_at(last, number))
    };
    for dir in ["", "/a", "/a/b", "/c"] {
        let Ok(attr) = resolve(&fs, dir) else { continue };
        for (name, _, kind) in list(&fs, attr.ino).unwrap() {
            let path = format!("{dir}/{}", String::from_utf8(name).unwrap());
            assert!(
                kind == FileKind::Dir || files.contains_key(&path) || is_first(&path),
                "{what}: {path} came back"
            );
        }
    }
    // It can be written and left.
    let ino = write_file(&fs, "/new", &bytes(40)).unwrap();
    fs.fsync(ino, false).unwrap();
    let chip = fs.unmount().unwrap();
    assert!(check(chip, &mut |_, _| {}).unwrap().findings.is_empty(), "{what}");
    lost
}

/// The wiped part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Anchors,
    Records,
    Tables,
}

/// Erases the blocks of roots, and makes the pages of tables unreadable.
pub(crate) fn wipe(chip: &mut SimChip, part: Part) {
    let geometry = chip.geometry();
    for block in 0..geometry.blocks {
        for index in 0..geometry.pages_per_block {
            let page = PageId(block * geometry.pages_per_block + index);
            let mut spare = vec![0; geometry.free_spare_bytes as usize];
            if !chip.page_state(page).unwrap().is_written() || chip.read_spare(page, &mut spare).is_err() {
                continue;
            }
            let (kind, chunk) = (spare[0] & 15, spare[12] & 7);
            match part {
                Part::Anchors if block < 4 => chip.erase(BlockId(block)).unwrap(),
                Part::Records if kind == 14 => chip.erase(BlockId(block)).unwrap(),
                Part::Tables if kind == 3 && (chunk == 3 || chunk == 4) => {
                    chip.faults_mut().unreadable.insert(page);
                }
                _ => continue,
            }
            if part != Part::Tables {
                break;
            }
        }
    }
}

#[test]
fn roots_and_tables_are_rebuilt_alone_and_together() {
    use Part::{Anchors, Records, Tables};
    for geometry in CHIPS {
        for clean in [true, false] {
            let (chip, files) = volume(geometry, clean);
            for parts in [
                &[Anchors][..],
                &[Records],
                &[Tables],
                &[Anchors, Records],
                &[Anchors, Tables],
                &[Records, Tables],
                &[Anchors, Records, Tables],
            ] {
                let mut chip = chip.clone();
                for part in parts {
                    wipe(&mut chip, *part);
                }
                let what = format!("{geometry}, clean: {clean}, without {parts:?}");
                assert_eq!(compare(chip, &files, &what), 0, "{what}");
            }
        }
    }
}

#[test]
fn every_page_in_turn_is_given_up_and_no_more() {
    for geometry in CHIPS {
        for clean in [true, false] {
            let (mut chip, files) = volume(geometry, clean);
            let pages = u32::try_from(chip.geometry().pages()).unwrap();
            let written: Vec<PageId> =
                (0..pages).map(PageId).filter(|page| chip.page_state(*page).unwrap().is_written()).collect();
            for page in written {
                let mut chip = chip.clone();
                chip.faults_mut().unreadable.insert(page);
                if check(chip.clone(), &mut |_, _| {}).is_ok_and(|report| report.findings.is_empty()) {
                    continue;
                }
                let what = format!("{geometry}, clean: {clean}, without page {}", page.0);
                // A page holds at most so many inodes.
                assert!(compare(chip, &files, &what) <= 60, "{what}");
            }
        }
    }
}

/// Both directories are on one page, and the inner one has the lower number.
#[test]
fn a_directory_that_was_taken_away_keeps_nothing() {
    for geometry in CHIPS {
        let fs = mount(formatted(geometry, clock()()), clock());
        let make = |name: &[u8]| fs.create(Ino::ROOT, name, &DIR).unwrap().ino;
        let (_, outer) = (make(b"inner"), make(b"outer"));
        fs.rename(Ino::ROOT, b"inner", outer, b"inner", RenameMode::Replace).unwrap();
        fs.sync().unwrap();
        fs.rmdir(outer, b"inner").unwrap();
        fs.rmdir(Ino::ROOT, b"outer").unwrap();
        let mut chip = fs.unmount().unwrap();
        for part in [Part::Anchors, Part::Records, Part::Tables] {
            wipe(&mut chip, part);
        }
        let (chip, found) = mended(chip, false);
        let names = list(&mount(chip, clock()), Ino::ROOT).unwrap();
        assert!(names.is_empty(), "{geometry}: {names:?}, {found:?}");
    }
}

#[test]
fn a_dry_run_changes_nothing_and_tells_the_same() {
    let (mut chip, _) = volume(CHIPS[0], false);
    wipe(&mut chip, Part::Records);
    let operations = chip.operations();
    let (same, would) = mended(chip.clone(), true);
    assert_eq!(same.operations(), operations);
    assert_eq!(mended(chip, false).1, would);
}

/// A page of an open block dies, and no checkpoint is left: a copy of parity brings it back, now and after the repair.
#[test]
fn copies_of_parity_outlive_the_roots() {
    let fs = mount(protected("2048+64:8:400", clock()(), 1, FsyncProtection::Now), clock());
    let mut files = Files::new();
    for number in 0..40 {
        let path = format!("/file{number}");
        let ino = write_file(&fs, &path, &bytes(number)).unwrap();
        fs.fsync(ino, false).unwrap();
        files.insert(path, bytes(number));
    }
    let mut whole = fs.abandon().unwrap();
    let geometry = whole.geometry();
    let is_log = |chip: &mut SimChip, page: PageId| {
        let mut spare = vec![0; geometry.free_spare_bytes as usize];
        chip.read_spare(page, &mut spare).unwrap();
        (3..6).contains(&(spare[0] & 15))
    };
    let mut dead = Vec::new();
    for block in (4..geometry.blocks).map(BlockId) {
        let last = geometry.page(block, geometry.pages_per_block - 1);
        if whole.page_state(last).unwrap().is_written() {
            continue;
        }
        let pages = (0..geometry.pages_per_block).map(|index| geometry.page(block, index));
        dead.extend(
            pages.filter(|page| whole.page_state(*page).unwrap().is_written() && is_log(&mut whole, *page)),
        );
    }
    assert!(dead.len() > 4, "{} pages lie in open blocks", dead.len());
    for (page, parts) in dead
        .into_iter()
        .flat_map(|page| [&[Part::Records][..], &[Part::Anchors, Part::Records]].map(|parts| (page, parts)))
    {
        let mut chip = whole.clone();
        chip.faults_mut().unreadable.insert(page);
        for part in parts {
            wipe(&mut chip, *part);
        }
        let what = format!("page {} dead, without {parts:?}", page.0);
        assert_eq!(compare(chip, &files, &what), 0, "{what}");
    }
}

/// The newest records of checkpoints die, and all anchors: an older one that is left takes back nothing.
#[test]
fn an_older_record_takes_nothing_back() {
    for (checkpoints, is_synced) in (2..12).flat_map(|count| [(count, true), (count, false)]) {
        let fs = mount(formatted(CHIPS[0], clock()()), clock());
        let mut files = Files::new();
        for number in 0..checkpoints {
            for path in ["/every".to_string(), format!("/file{number}")] {
                write_file(&fs, &path, &bytes(number)).unwrap();
                files.insert(path, bytes(number));
            }
            fs.sync().unwrap();
        }
        if !is_synced {
            let ino = write_file(&fs, "/promised", &bytes(20)).unwrap();
            fs.fsync(ino, false).unwrap();
            files.insert("/promised".into(), bytes(20));
        }
        let mut whole = fs.abandon().unwrap();
        let records = records(&mut whole);
        // Two of each.
        for newest in (2..records.len().min(8)).step_by(2) {
            let mut chip = whole.clone();
            wipe(&mut chip, Part::Anchors);
            chip.faults_mut()
                .unreadable
                .extend(records[records.len() - newest..].iter().map(|(_, page)| page));
            let what =
                format!("{checkpoints} checkpoints, synced {is_synced}, the last {newest} records dead");
            // The first record of two blocks has none behind it that says so.
            let is_first =
                records[records.len() - newest].1.0.is_multiple_of(whole.geometry().pages_per_block);
            let lost = compare(chip, &files, &what);
            assert!(lost == 0 || is_first && newest == 2 && is_synced, "{what}: {lost} files");
        }
    }
}

/// The pages of records, by their sequence numbers.
fn records(chip: &mut SimChip) -> Vec<(u64, PageId)> {
    let geometry = chip.geometry();
    let mut found = Vec::new();
    for page in (4 * geometry.pages_per_block..u32::try_from(geometry.pages()).unwrap()).map(PageId) {
        let mut spare = vec![0; geometry.free_spare_bytes as usize];
        if chip.page_state(page).unwrap().is_written()
            && chip.read_spare(page, &mut spare).is_ok()
            && spare[0] & 15 == 14
        {
            let seq = spare[1..7].iter().rev().fold(0, |seq, byte| seq << 8 | u64::from(*byte));
            found.push((seq, page));
        }
    }
    found.sort_unstable();
    found
}
