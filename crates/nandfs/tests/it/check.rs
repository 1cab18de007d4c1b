//! The checker on sound volumes, in every state a crash may leave them, and on chips that lost something.

use crate::common::{GEOMETRIES, formatted, mount};
use pumice_media::{BitFlip, CutMode, Faults, Nand, PageId, SimChip};
use pumice_nandfs::{NandFs, check};
use pumice_vfs::{
    CheckReport, Clock, Errno, FileKind, FileSystem, Ino, NewNode, RenameMode, SetAttr, SpaceMode, Timestamp,
    XattrMode,
};

fn clock() -> Clock {
    Box::new(|| Timestamp { seconds: 1_700_000_000, nanos: 5 })
}

fn new(kind: FileKind) -> NewNode<'static> {
    let target: &[u8] = if kind == FileKind::Symlink { b"some/where/else" } else { b"" };
    NewNode { kind, perm: 0o640, uid: 7, gid: 8, rdev: 0, target }
}

fn noise(bytes: usize, seed: u32) -> Vec<u8> {
    (0..bytes.div_ceil(4))
        .scan(seed, |state, _| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(*state)
        })
        .flat_map(u32::to_le_bytes)
        .take(bytes)
        .collect()
}

type Fs = NandFs<SimChip>;

fn file(fs: &Fs, dir: Ino, name: &str) -> Ino {
    fs.create(dir, name.as_bytes(), &new(FileKind::File)).unwrap().ino
}

fn dir(fs: &Fs, within: Ino, name: &str) -> Ino {
    fs.create(within, name.as_bytes(), &new(FileKind::Dir)).unwrap().ino
}

/// Files of all kinds and shapes.
fn fill(fs: &Fs) {
    let top = dir(fs, Ino::ROOT, "top");
    for (name, kind) in [
        ("link", FileKind::Symlink),
        ("pipe", FileKind::Fifo),
        ("socket", FileKind::Socket),
        ("char", FileKind::CharDevice),
        ("block", FileKind::BlockDevice),
    ] {
        fs.create(top, name.as_bytes(), &new(kind)).unwrap();
    }
    let small = file(fs, top, "small");
    fs.write(small, 0, &noise(100, 1)).unwrap();
    fs.link(small, Ino::ROOT, b"second name").unwrap();
    let long = fs.create(top, b"long", &NewNode { target: &[b'x'; 4000], ..new(FileKind::Symlink) });
    long.unwrap();
    sparse(fs, top);
    attributes(fs, top);
    reservations(fs, top);
    names(fs, top);
    fs.set_attr(small, &SetAttr { uid: Some(3), ..SetAttr::default() }).unwrap();
}

/// A file with blocks in each class of map.
fn sparse(fs: &Fs, top: Ino) {
    let big = file(fs, top, "big");
    for (at, seed) in [(0, 1), (300_000, 2), (5_000_000, 3), (900_000_000, 4), (200_000_000_000, 5)] {
        fs.write(big, at, &noise(9_000, seed)).unwrap();
    }
    let cut = file(fs, top, "cut");
    fs.write(cut, 0, &noise(600_000, 6)).unwrap();
    fs.set_attr(cut, &SetAttr { size: Some(123_457), ..SetAttr::default() }).unwrap();
    fs.allocate(cut, SpaceMode::PunchHole, 10_000, 50_000).unwrap();
}

fn attributes(fs: &Fs, top: Ino) {
    for (name, bytes) in [("few", 50), ("many", 3_000), ("huge", 60_000)] {
        let ino = file(fs, top, name);
        fs.set_xattr(ino, b"user.a", &noise(bytes, 7), XattrMode::Either).unwrap();
        fs.set_xattr(ino, b"user.b", b"b", XattrMode::Either).unwrap();
    }
}

fn reservations(fs: &Fs, top: Ino) {
    let kept = file(fs, top, "kept");
    fs.write(kept, 0, b"short").unwrap();
    fs.allocate(kept, SpaceMode::Reserve { keep_size: true }, 0, 100_000).unwrap();
    let zero = file(fs, top, "zero");
    fs.write(zero, 0, &noise(70_000, 8)).unwrap();
    fs.allocate(zero, SpaceMode::Zero { keep_size: false }, 30_000, 60_000).unwrap();
}

/// A large directory, thinned out again, and names that moved.
fn names(fs: &Fs, top: Ino) {
    let many = dir(fs, top, "many names");
    for n in 0..1_000 {
        file(fs, many, &format!("a name of some length {n}"));
    }
    for n in (0..1_000).filter(|n| n % 3 != 0) {
        fs.unlink(many, format!("a name of some length {n}").as_bytes()).unwrap();
    }
    let (a, b) = (dir(fs, top, "a"), dir(fs, top, "b"));
    dir(fs, a, "sub");
    fs.rename(a, b"sub", b, b"moved", RenameMode::Replace).unwrap();
    fs.rename(top, b"a", top, b"b", RenameMode::Exchange).unwrap();
    dir(fs, top, "gone");
    fs.rmdir(top, b"gone").unwrap();
}

fn sound(chip: &mut SimChip, what: &str) -> CheckReport {
    let mut last = (0, 0);
    let report = check(&mut *chip, &mut |done, total| {
        assert!(done >= last.0 && done <= total, "{done} of {total} after {last:?}");
        last = (done, total);
    })
    .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(last.0 == last.1 && last.1 > 0, "{what}: stopped at {last:?}");
    assert_eq!(report.findings, [], "{what}");
    report
}

#[test]
fn rich_volumes_are_sound_at_every_stage() {
    for geometry in GEOMETRIES {
        let mut chip = formatted(geometry, Timestamp::default());
        assert_eq!(sound(&mut chip, geometry).directories, 1);
        let fs = mount(chip, clock());
        fill(&fs);
        let mut chip = fs.unmount().unwrap();
        let report = sound(&mut chip, geometry);
        assert_eq!((report.inodes, report.directories, report.recovered), (354, 6, false), "{geometry}");
        let writes = chip.stats().programs + chip.stats().erases;
        sound(&mut chip, geometry);
        assert_eq!(chip.stats().programs + chip.stats().erases, writes, "a check writes nothing");
        let fs = mount(chip, clock());
        for n in 0..40_u64 {
            let ino = file(&fs, Ino::ROOT, &format!("late {n}"));
            fs.write(ino, n * 1_000, &noise(5_000, 1)).unwrap();
            if n % 3 == 0 {
                fs.fsync(ino, false).unwrap();
            }
            if n % 16 == 7 {
                fs.sync().unwrap();
            }
        }
        let mut chip = fs.abandon().unwrap();
        assert!(sound(&mut chip, geometry).recovered);
    }
}

#[test]
fn large_directories_are_sound() {
    let fs = mount(formatted("2048+64:64:128", Timestamp::default()), clock());
    for n in 0..5_000 {
        file(&fs, Ino::ROOT, &format!("entry number {n}"));
    }
    let mut chip = fs.unmount().unwrap();
    assert_eq!(sound(&mut chip, "full").inodes, 5_001);
    let fs = mount(chip, clock());
    for n in 0..4_990 {
        fs.unlink(Ino::ROOT, format!("entry number {n}").as_bytes()).unwrap();
    }
    assert_eq!(sound(&mut fs.unmount().unwrap(), "thinned").inodes, 11);
}

#[test]
fn what_is_held_without_a_name_is_sound_after_a_crash() {
    for geometry in GEOMETRIES {
        let fs = mount(formatted(geometry, Timestamp::default()), clock());
        for n in 0..5 {
            let name = format!("held {n}");
            let ino = file(&fs, Ino::ROOT, &name);
            fs.write(ino, 0, &noise(50_000, n)).unwrap();
            fs.hold(ino).unwrap();
            fs.unlink(Ino::ROOT, name.as_bytes()).unwrap();
        }
        let held = dir(&fs, Ino::ROOT, "held");
        fs.hold(held).unwrap();
        fs.rmdir(Ino::ROOT, b"held").unwrap();
        fs.sync().unwrap();
        let mut chip = fs.abandon().unwrap();
        let report = sound(&mut chip, geometry);
        assert_eq!((report.inodes, report.recovered), (7, true), "{geometry}");
        let mut chip = mount(chip, clock()).unmount().unwrap();
        assert_eq!(sound(&mut chip, geometry).inodes, 1, "{geometry}");
    }
}

#[test]
fn a_nearly_full_chip_is_sound_after_cleaning() {
    for geometry in ["2048+64:16:96", "8192+448:32:64", "1024+32:64:256"] {
        let fs = mount(formatted(geometry, Timestamp::default()), clock());
        let mut files = Vec::new();
        for n in 0.. {
            let ino = file(&fs, Ino::ROOT, &format!("file {n}"));
            match fs.write(ino, 0, &noise(60_000, n)) {
                Ok(()) => files.push(ino),
                Err(error) if error.errno() == Errno::NoSpace => break,
                Err(error) => panic!("{error}"),
            }
        }
        let count = files.len();
        for round in 0..8 * count {
            let ino = files[round * 7_919 % count];
            let wrote = fs.write(ino, (round as u64 * 4_096) % 60_000, &noise(3_000, 3));
            assert!(wrote.is_ok() || wrote.unwrap_err().errno() == Errno::NoSpace);
            if round % 5 == 0 {
                let synced = fs.fsync(ino, false);
                assert!(synced.is_ok() || synced.unwrap_err().errno() == Errno::NoSpace);
            }
        }
        let mut chip = fs.abandon().unwrap();
        assert!(sound(&mut chip, geometry).recovered);
        let mut chip = mount(chip, clock()).abandon().unwrap();
        sound(&mut chip, geometry);
    }
}

fn codes(chip: &mut SimChip) -> Vec<&'static str> {
    let mut codes: Vec<_> = check(chip, &mut |_, _| {}).unwrap().findings.iter().map(|f| f.code).collect();
    codes.dedup();
    codes
}

#[test]
fn every_page_that_is_lost_is_found_if_it_held_anything() {
    for geometry in GEOMETRIES {
        let fs = mount(formatted(geometry, Timestamp::default()), clock());
        fill(&fs);
        let mut chip = fs.unmount().unwrap();
        let pages = chip.geometry().pages_per_block * chip.geometry().blocks;
        let block = chip.geometry().pages_per_block;
        chip.faults_mut().unreadable = (4 * block..pages).step_by(3).map(PageId).collect();
        match check(&mut chip, &mut |_, _| {}) {
            Ok(report) => assert!(!report.findings.is_empty(), "{geometry}"),
            Err(error) => assert_eq!(error.errno(), Errno::Io, "{geometry}"),
        }
        *chip.faults_mut() = Faults::none();
        sound(&mut chip, geometry);
    }
}

#[test]
fn bits_beyond_correction_are_found_one_page_at_a_time() {
    let fs = mount(formatted("2048+64:16:96", Timestamp::default()), clock());
    let ino = file(&fs, Ino::ROOT, "data");
    fs.write(ino, 0, &noise(100_000, 1)).unwrap();
    for n in 0..200 {
        file(&fs, Ino::ROOT, &format!("entry number {n}"));
    }
    let mut chip = fs.unmount().unwrap();
    let geometry = chip.geometry();
    let mut seen = std::collections::BTreeSet::new();
    for page in 8 * geometry.pages_per_block..geometry.pages_per_block * geometry.blocks {
        let flip = |n: u32| BitFlip { page: PageId(page), bit: n * 3 };
        chip.faults_mut().flips = (0..100).map(flip).collect();
        match check(&mut chip, &mut |_, _| {}) {
            Ok(report) => seen.extend(report.findings.iter().map(|finding| finding.code)),
            Err(error) => assert_eq!(error.errno(), Errno::Io),
        }
    }
    for code in ["node-unreadable", "data-unreadable", "table-page"] {
        assert!(seen.contains(code), "{code} is not among {seen:?}");
    }
    *chip.faults_mut() = Faults::none();
    assert_eq!(codes(&mut chip), [""; 0]);
}

#[test]
fn a_chip_without_a_volume_cannot_be_checked() {
    let error = check(crate::common::blank("2048+64:16:96"), &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("no pumice file system"), "{error}");
}

#[test]
fn no_block_is_forgotten_when_the_checkpoints_move_on() {
    for geometry in GEOMETRIES {
        let mut chip = formatted(geometry, Timestamp::default());
        for n in 0..40 {
            let fs = mount(chip, clock());
            file(&fs, Ino::ROOT, &format!("file {n}"));
            fs.sync().unwrap();
            chip = fs.abandon().unwrap();
            sound(&mut chip, &format!("{geometry} after {n}"));
        }
    }
}

#[test]
fn a_file_has_its_length_after_a_crash_whatever_its_last_block_holds() {
    for geometry in GEOMETRIES {
        let fs = mount(formatted(geometry, Timestamp::default()), clock());
        let ino = file(&fs, Ino::ROOT, "log");
        fs.write(ino, 0, &noise(50_000, 1)).unwrap();
        fs.sync().unwrap();
        fs.write(ino, 50_000, &noise(1_000, 2)).unwrap();
        fs.fsync(ino, false).unwrap();
        let mut chip = fs.abandon().unwrap();
        sound(&mut chip, geometry);
        assert_eq!(mount(chip, clock()).attr(ino).unwrap().size, 51_000, "{geometry}");
    }
}

/// A cleanly unmounted volume with free blocks that wait to be erased.
fn worn() -> SimChip {
    let fs = mount(formatted("2048+64:16:96", Timestamp::default()), clock());
    let ino = file(&fs, Ino::ROOT, "file");
    for round in 0..60 {
        fs.write(ino, 0, &noise(60_000, round)).unwrap();
        fs.sync().unwrap();
    }
    fs.unmount().unwrap()
}

#[test]
fn the_first_change_after_a_clean_mount_may_be_cut_off_anywhere() {
    for after in 0..110 {
        let mut chip = worn();
        chip.cut_after(after, CutMode::Complete);
        let fs = mount(chip, clock());
        while fs.maintain() == Ok(true) {}
        let _ = fs.create(Ino::ROOT, b"new", &new(FileKind::File)).and_then(|_| fs.sync());
        let mut chip = fs.abandon().unwrap();
        chip.power_on();
        sound(&mut chip, &format!("cut after {after}"));
    }
}

/// Every programmed page of a small volume in turn cannot be read, after a crash, too: each finding about an inode or a
/// block is told with its path.
#[test]
fn what_cannot_be_read_is_told_with_its_path() {
    let fs = mount(formatted("2048+64:8:96", clock()()), clock());
    let within = dir(&fs, Ino::ROOT, "within");
    let data = file(&fs, within, "data");
    fs.write(data, 0, &noise(9_000, 1)).unwrap();
    fs.sync().unwrap();
    fs.write(data, 2_048, &noise(2_048, 2)).unwrap();
    fs.fsync(data, false).unwrap();
    fs.set_attr(data, &SetAttr { perm: Some(0o600), ..SetAttr::default() }).unwrap();
    fs.fsync(data, false).unwrap();
    fs.write(data, 0, &noise(2_048, 3)).unwrap();
    fs.fsync(data, false).unwrap();
    let mut chip = fs.abandon().unwrap();
    let pages = u32::try_from(chip.geometry().pages()).unwrap();
    let mut told = [0; 3];
    for page in 0..pages {
        if !chip.page_state(PageId(page)).unwrap().is_written() {
            continue;
        }
        let mut chip = chip.clone();
        chip.faults_mut().unreadable.insert(PageId(page));
        let report = check(chip, &mut |_, _| {}).unwrap();
        let no_root = report.findings.iter().any(|finding| finding.detail.starts_with("/: node 1:"));
        for (count, code) in told.iter_mut().zip(["data-unreadable", "node-unreadable", "recovery"]) {
            for finding in report.findings.iter().filter(|finding| finding.code == code) {
                *count += 1;
                let has_path = finding.detail.starts_with("/within") || finding.detail.starts_with("/: ");
                // The hidden directory has no path, and nothing has one without the root.
                let has_none = finding.detail.starts_with("node 2:") || no_root;
                assert!(has_path || has_none, "page {page}: {finding:?}");
            }
        }
    }
    assert!(told.iter().all(|count| *count > 0), "{told:?}");
}
