//! Devices that fail: a read that fails fails its call and nothing else, and behind a write that fails nothing is written.
//!
//! `PUMICE_F2FS_FAULTS=all` has each read and each write fail in turn instead of a few.

use std::sync::Arc;

use pumice_f2fs::{
    WritableF2fs,
    check::{Code, check},
    layout::SuperBlock,
};
use pumice_knobs::F2FS_ALL_FAULTS;
use pumice_media::ReadAt;
use pumice_vfs::{
    Errno, FileKind, FileSystem, Ino, RenameMode, Result, SetAttr, SpaceMode, XattrMode,
    conformance::TestClock,
};

use super::{
    crash::{mount_with, shown},
    power::{Image, Live},
    subject::{Shape, node, volume},
    tree::tree,
};

const STEPS: u32 = 63;

/// A name in directory `dir`, or in the root.
fn find(fs: &dyn FileSystem, dir: &[u8], name: &[u8]) -> Result<Ino> {
    let dir = fs.lookup(Ino::ROOT, dir)?.ino;
    Ok(fs.lookup(dir, name)?.ino)
}

/// One call that changes something, and the reads for it.
fn step(fs: &dyn FileSystem, number: u32) -> Result<()> {
    let (old, new) = (format!("file {}", number / 2), format!("file {number}"));
    let large = format!("large {number}");
    let dir = fs.lookup(Ino::ROOT, b"dir")?.ino;
    match number % 9 {
        0 => fs.create(dir, new.as_bytes(), &node(FileKind::File)).map(drop),
        1 => fs.write(find(fs, b"dir", large.as_bytes())?, 3_950_000, &[1; 16_000]),
        2 => fs.set_xattr(
            find(fs, b"dir", large.as_bytes())?,
            b"user.x",
            &vec![2; 10 * number as usize],
            XattrMode::Either,
        ),
        3 => fs.rename(dir, b"moves", Ino::ROOT, b"moves", RenameMode::Exchange),
        4 => fs.link(find(fs, b"dir", large.as_bytes())?, dir, new.as_bytes()).map(drop),
        5 => fs.create(dir, new.as_bytes(), &node(FileKind::Dir)).map(drop),
        6 => {
            let size = Some(3_905_000);
            fs.set_attr(find(fs, b"dir", large.as_bytes())?, &SetAttr { size, ..SetAttr::default() })
                .map(drop)
        }
        7 => fs.allocate(find(fs, b"dir", large.as_bytes())?, SpaceMode::PunchHole, 5000, 3_900_000),
        _ => match fs.unlink(dir, old.as_bytes()) {
            Err(error) if [Errno::NoEntry, Errno::IsDir].contains(&error.errno()) => Ok(()),
            done => done,
        },
    }
}

fn base() -> Image {
    let features = &["extra_attr", "inode_checksum", "quota_ino"];
    let live = Live::new(volume(64 << 20, &Shape { features, ..Shape::default() }, &TestClock::new()));
    let fs = mount_with(&live, 0).unwrap();
    let dir = fs.create(Ino::ROOT, b"dir", &node(FileKind::Dir)).unwrap().ino;
    for number in 0..40 {
        fs.create(dir, format!("an older file {number}").as_bytes(), &node(FileKind::File)).unwrap();
    }
    for number in 0..STEPS {
        let large = fs.create(dir, format!("large {number}").as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(large, 0, &[3; 10_000]).unwrap();
        if [1, 6, 7].contains(&(number % 9)) {
            fs.write(large, 3_900_000, &[3; 16_000]).unwrap();
        }
    }
    fs.create(dir, b"moves", &node(FileKind::Dir)).unwrap();
    fs.create(Ino::ROOT, b"moves", &node(FileKind::Dir)).unwrap();
    fs.unmount().unwrap();
    live.image()
}

fn sound(image: &Arc<Image>) {
    let report = check(vec![Box::new(image.clone())], 1, &mut |_, _| ()).unwrap();
    assert_eq!(report.count, 0, "{:#?}", report.findings);
}

/// Calls that failed and were made again.
fn steps(fs: &WritableF2fs) -> u32 {
    let mut again = 0;
    for number in 0..STEPS {
        while let Err(error) = step(fs, number) {
            assert_eq!(error.errno(), Errno::Io, "step {number}: {error}");
            again += 1;
        }
    }
    again
}

#[test]
fn a_read_that_fails_fails_its_call() {
    let base = base();
    let fault_free = Live::new(base.clone());
    let fs = mount_with(&fault_free, 0).unwrap();
    let first = fault_free.log().reads;
    assert_eq!(steps(&fs), 0);
    let last = fault_free.log().reads;
    let wanted = tree(&fs);
    assert!(last - first > 60, "{} reads", last - first);
    let mut again = 0;
    let mut cases = 0;
    for bad in F2FS_ALL_FAULTS.sample(5).pick(first..last) {
        cases += 1;
        let live = Live::new(base.clone());
        let fs = mount_with(&live, 0).unwrap();
        live.log().bad_read = Some(bad);
        again += steps(&fs);
        assert!(tree(&fs) == wanted, "read {bad}");
        fs.unmount().unwrap();
        let after = Arc::new(live.image());
        sound(&after);
        assert!(shown(&after, false).unwrap() == wanted, "read {bad}");
    }
    F2FS_ALL_FAULTS.ran_part(cases);
    assert!(again > 8 || !F2FS_ALL_FAULTS.is_usual(), "{again} calls failed");
}

#[test]
fn behind_a_write_that_fails_nothing_is_written() {
    let base = base();
    let work = |live: &Live, bad: Option<u64>| {
        let fs = mount_with(live, 0).unwrap();
        live.log().fail_writes_from(bad);
        let mut promised = vec![tree(&fs)];
        for number in 0..STEPS {
            let done = step(&fs, number).and_then(|()| {
                if number % 10 == 9 {
                    promised.push(tree(&fs));
                    return fs.sync();
                }
                Ok(())
            });
            if let Err(error) = done {
                assert_eq!(error.errno(), Errno::Io, "{error}");
                break;
            }
        }
        (fs, promised)
    };
    let count = {
        let live = Live::new(base.clone());
        let (fs, _) = work(&live, None);
        drop(fs);
        live.count()
    };
    let mut cases = 0;
    for bad in F2FS_ALL_FAULTS.sample(5).pick(0..count) {
        cases += 1;
        let live = Live::new(base.clone());
        let (fs, promised) = work(&live, Some(bad as u64));
        assert_eq!(live.count(), bad);
        live.log().fail_writes_from(None);
        let (before, error) = (tree(&fs), step(&fs, 0).unwrap_err());
        assert_eq!(error.errno(), Errno::ReadOnly);
        assert_eq!(fs.sync().unwrap_err().errno(), Errno::ReadOnly);
        assert!(tree(&fs) == before && fs.unmount().is_err());
        assert_eq!(live.count(), bad);
        let after = Arc::new(live.image());
        sound(&after);
        let left = shown(&after, true).unwrap();
        let (last, earlier) = promised.split_last().unwrap();
        assert!(left == *last || earlier.last() == Some(&left), "write {bad}");
    }
    F2FS_ALL_FAULTS.ran_part(cases);
}

/// A device that fails once: both super blocks tell why nothing more is written, and all promises are kept.
#[test]
fn both_super_blocks_tell_why_nothing_more_is_written() {
    let base = base();
    let (mut told, mut cases) = ([0; 32], 0);
    for bad in F2FS_ALL_FAULTS.sample(9).pick(3..90) {
        cases += 1;
        let live = Live::new(base.clone());
        let fs = mount_with(&live, 0).unwrap();
        live.log().bad_write = Some(bad);
        let failed = (0..STEPS).find_map(|number| step(&fs, number).and_then(|()| fs.sync()).err());
        let Some(error) = failed else { continue };
        assert_eq!(error.errno(), Errno::Io, "write {bad}");
        assert_eq!(fs.sync().unwrap_err().errno(), Errno::ReadOnly, "write {bad}");
        drop(fs);
        let image = Arc::new(live.image());
        for copy in [0, 4096] {
            let mut bytes = vec![0; 3072];
            image.read_at(copy + 1024, &mut bytes).unwrap();
            let reasons = SuperBlock::from_bytes(&bytes).unwrap().raw().s_stop_reason;
            assert_eq!(u32::from(reasons[3]) + u32::from(reasons[6]), 1, "write {bad}: {reasons:?}");
            told.iter_mut().zip(reasons).for_each(|(told, reason)| *told += u32::from(reason));
        }
        let report = check(vec![Box::new(image.clone())], 1, &mut |_, _| ()).unwrap();
        assert!(report.findings.iter().all(|finding| finding.code == Code::SuperBlockErrors), "{report:?}");
        shown(&image, true).unwrap();
    }
    F2FS_ALL_FAULTS.ran_part(cases);
    assert!((told[3] > 0 && told[6] > 0) || !F2FS_ALL_FAULTS.is_usual(), "{told:?}");
}

/// A file that holds the volume and cannot grow, because its disk is full: no fault of the volume, which says nothing of it.
#[test]
fn a_full_host_leaves_no_mark() {
    let base = base();
    let mut refused = 0;
    for good in [3, 11, 17, 30] {
        let live = Live::new(base.clone());
        let fs = mount_with(&live, 0).unwrap();
        live.log().is_host_full = true;
        live.log().fail_writes_from(Some(good));
        let Some(error) = (0..STEPS).find_map(|number| step(&fs, number).and_then(|()| fs.sync()).err())
        else {
            continue;
        };
        refused += 1;
        assert_eq!(error.errno(), Errno::NoSpace, "write {good}: {error}");
        live.log().fail_writes_from(None);
        drop(fs);
        let image = Arc::new(live.image());
        let report = check(vec![Box::new(image.clone())], 1, &mut |_, _| ()).unwrap();
        assert!(report.findings.is_empty(), "write {good}: {report:?}");
        shown(&image, true).unwrap();
    }
    assert_eq!(refused, 4);
}
