//! Numbers of inodes are used again, at any number and over any mount, so that a volume that lives for long takes no
//! more space for it. Leftovers of the last owner of a number on the chip are never taken for data of the next.

use std::collections::BTreeMap;

use crate::common::{formatted, mount};
use crate::cut::runner::chip;
use crate::repair::{Part, wipe};
use pumice_media::{Nand, PageId, SimChip};
use pumice_nandfs::{NandFs, RepairOptions, check, repair};
use pumice_vfs::conformance::{TestClock, list, read_file, write_file};
use pumice_vfs::{Attr, Clock, FileKind, FileSystem, Ino, NewNode, Timestamp};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };

fn clock() -> Clock {
    Box::new(Timestamp::default)
}

fn make(fs: &NandFs<SimChip>, name: &str) -> Attr {
    fs.create(Ino::ROOT, name.as_bytes(), &FILE).unwrap()
}

fn remove_all(fs: &NandFs<SimChip>) {
    for (name, ..) in list(fs, Ino::ROOT).unwrap() {
        fs.unlink(Ino::ROOT, &name).unwrap();
    }
}

fn free(fs: &NandFs<SimChip>) -> u64 {
    fs.space().unwrap().free_bytes
}

/// Files that come and go, a hundred at a time and now and then thousands, over unmounts and crashes.
#[test]
fn an_emptied_volume_has_the_space_of_a_fresh_one() {
    for name in ["2048+64:16:96", "slots", "spare/dist3", "spares+1"] {
        let fresh = chip(name, &TestClock::new());
        let block = fresh.geometry().block_bytes();
        let mut fs = mount(fresh, clock());
        // A root directory that has outgrown its inode once stays as it is.
        (0..200).for_each(|n| _ = make(&fs, &format!("first{n}")));
        remove_all(&fs);
        fs = mount(fs.unmount().unwrap(), clock());
        let before = free(&fs);
        let bound = (before / 100).max(block);
        for round in 0..1000 {
            let count = if round % 100 == 7 { 1500 } else { 60 };
            (0..count).for_each(|n| _ = make(&fs, &format!("{round}-{n}")));
            if round % 3 == 0 {
                fs.sync().unwrap();
            }
            remove_all(&fs);
            if round % 10 == 9 {
                fs.sync().unwrap();
                let chip = if round % 20 == 9 { fs.unmount().unwrap() } else { fs.abandon().unwrap() };
                fs = mount(chip, clock());
                let lost = before.saturating_sub(free(&fs));
                assert!(lost <= bound, "{name}: {lost} bytes less than {before} in round {round}");
            }
        }
        let report = check(fs.unmount().unwrap(), &mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    }
}

/// Holes between numbers that are in use are found again, though no list could remember them.
#[test]
fn numbers_between_others_are_used_again_after_a_mount() {
    let fs = mount(formatted("2048+64:64:128", Timestamp::default()), clock());
    let most = (0..6000).map(|n| make(&fs, &n.to_string()).ino).max().unwrap();
    (0..6000).step_by(2).for_each(|n| fs.unlink(Ino::ROOT, n.to_string().as_bytes()).unwrap());
    let fs = mount(fs.unmount().unwrap(), clock());
    let again = (0..2900).map(|n| make(&fs, &format!("again{n}")).ino).max().unwrap();
    assert!(again <= most, "{again:?} behind {most:?}");
}

/// Mounts in which few files are made find them, too, wherever they are.
#[test]
fn short_mounts_find_numbers_between_others() {
    let mut fs = mount(formatted("2048+64:64:128", Timestamp::default()), clock());
    let most = (0..1500).map(|n| make(&fs, &n.to_string()).ino).max().unwrap();
    (600..1000).for_each(|n| fs.unlink(Ino::ROOT, n.to_string().as_bytes()).unwrap());
    let mut behind = 0;
    for boot in 0..100 {
        fs = mount(fs.unmount().unwrap(), clock());
        behind += (0..3).filter(|n| make(&fs, &format!("boot{boot}-{n}")).ino > most).count();
    }
    assert!(behind < 250, "{behind} of 300 behind all others");
}

/// A number is not given out before a checkpoint says that it is free, and the next owner is another.
#[test]
fn a_number_waits_for_a_checkpoint_and_comes_back_with_another_generation() {
    let fs = mount(formatted("2048+64:16:96", Timestamp::default()), clock());
    let one = make(&fs, "one");
    fs.sync().unwrap();
    fs.unlink(Ino::ROOT, b"one").unwrap();
    let two = make(&fs, "two");
    assert_ne!(two.ino, one.ino);
    fs.sync().unwrap();
    let three = make(&fs, "three");
    assert_eq!(three.ino, one.ino);
    assert_ne!(three.generation, one.generation);
}

/// The bytes of a file of this name.
fn bytes(name: &str) -> Vec<u8> {
    let seed = name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let mut bytes = vec![0; 60 + usize::try_from(seed % 9000).unwrap()];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    // Lost bytes read as zeros.
    bytes.into_iter().map(|byte| byte | 1).collect()
}

/// Files under numbers that mostly belonged to others before, which lie on the chip still.
fn reused(geometry: &str, clean: bool) -> (SimChip, BTreeMap<String, Vec<u8>>) {
    let fs = mount(formatted(geometry, Timestamp::default()), clock());
    let mut files = BTreeMap::new();
    for round in 0..4 {
        for name in std::mem::take(&mut files).into_keys() {
            fs.unlink(Ino::ROOT, String::as_bytes(&name)).unwrap();
        }
        fs.sync().unwrap();
        for n in 0..30 {
            let name = format!("{round}-{n}");
            write_file(&fs, &name, &bytes(&name)).unwrap();
            files.insert(name.clone(), bytes(&name));
        }
        fs.sync().unwrap();
    }
    (if clean { fs.unmount().unwrap() } else { fs.abandon().unwrap() }, files)
}

/// Holes are unreadable parts; anything else is of this file.
#[track_caller]
fn is_own(name: &str, found: &[u8], want: &[u8], when: &str) {
    assert!(found.len() <= want.len(), "{when}: {name} has {} bytes, want {}", found.len(), want.len());
    let other = found.iter().zip(want).position(|(found, want)| found != want && *found != 0);
    assert_eq!(other, None, "{when}: {name} holds foreign bytes");
}

#[test]
fn what_the_last_owner_of_a_number_left_is_not_rescued_into_the_next() {
    for (geometry, clean) in [("2048+64:8:96", false), ("2048+64:8:96", true), ("16384+1952:4:80", false)] {
        let (mut chip, files) = reused(geometry, clean);
        wipe(&mut chip, Part::Tables);
        let pages = u32::try_from(chip.geometry().pages()).unwrap();
        let written = (0..pages).map(PageId).filter(|page| chip.page_state(*page).unwrap().is_written());
        let (written, mut lost) = (written.collect::<Vec<_>>(), 0);
        for page in written {
            let mut chip = chip.clone();
            chip.faults_mut().unreadable.insert(page);
            let when = format!("{geometry}, without page {}", page.0);
            let (chip, _) = repair(chip, RepairOptions::default()).unwrap();
            let fs = mount(chip, clock());
            for (name, want) in &files {
                match read_file(&fs, name) {
                    Ok(found) => is_own(name, &found, want, &when),
                    Err(_) => lost += 1,
                }
            }
            for (name, ino, kind) in list(&fs, Ino::ROOT).unwrap() {
                let name = String::from_utf8(name).unwrap();
                let known = files.contains_key(&name) || name == "lost+found";
                assert!(known, "{when}: {name} is back: {ino:?}, {kind:?}");
            }
        }
        assert!(lost > 0, "{geometry}: no page held a node");
    }
}
