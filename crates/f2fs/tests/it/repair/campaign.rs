//! The damage program turned round: each member that `inject.f2fs` knows, and bytes at random, damaged, repaired, checked
//! and compared; `fsck.f2fs -y` repairs the same.

use std::{fs::File, os::unix::fs::FileExt, path::Path, process::Command};

use pumice_f2fs::repair::{Extent, plan};
use pumice_knobs::F2FS_REPAIRED;
use pumice_media::{FileDisk, ReadAt};
use pumice_vfs::Timestamp;

use super::{findings, kept, lost, medium::Medium, planned, tree::tree};
use xtask::{
    Machine,
    f2fs::{Verdict, judge},
};

use crate::check::{
    inject::flags,
    patient::Disk,
    subject::{Damaged, Subject},
};

/// The volumes that are damaged.
const SUBJECTS: [&str; 5] = ["basic", "features", "compress", "crash-fsync", "fragmented"];

/// Figures of a run.
#[derive(Default)]
struct Figures {
    damaged: usize,
    /// Volumes that the second run calls sound.
    sound: usize,
    /// Volumes in which nothing that could be read before is lost.
    unharmed: usize,
    /// Paths that are as before the damage.
    paths: usize,
}

/// The figures of `fsck.f2fs -y`: the second check is this crate's.
fn peer(image: &Path, figures: &mut Figures, sound: &super::Tree, before: &super::Tree) {
    let _ = Command::new("fsck.f2fs").arg("-y").arg(image).output().unwrap();
    let open = || -> Box<dyn ReadAt> { Box::new(FileDisk::open(image, 4096, true).unwrap()) };
    let report = pumice_f2fs::check::check(vec![open()], 2, &mut |_, _| ());
    figures.sound += usize::from(report.is_ok_and(|report| report.count == 0));
    let after = tree(open());
    figures.unharmed += usize::from(lost(sound, before, &after).is_empty());
    figures.paths += kept(sound, &after);
}

/// Writes a damaged volume to a file, from byte `start` on.
fn save(file: &File, start: u64, subject: &Subject, damaged: &Damaged) {
    for (block, bytes) in subject.image.chunks(1 << 16).enumerate() {
        if bytes.iter().any(|byte| *byte != 0) {
            file.write_all_at(bytes, start + ((block as u64) << 16)).unwrap();
        }
    }
    for (at, bytes) in damaged.patient.disk.changes() {
        file.write_all_at(bytes, start + *at as u64).unwrap();
    }
}

/// Linux mounts what was mended, and finds nothing to flag in it.
#[test]
fn linux_takes_what_is_mended() {
    let Some(machine) = Machine::for_test() else { return };
    let subjects = SUBJECTS.map(Subject::new);
    let bytes = subjects[0].image.len();
    let seeds: Vec<u64> = F2FS_REPAIRED.seeds(0..31).step_by(3).collect();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for batch in seeds.chunks(100) {
        let disk = place.path().join("volumes");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&disk).unwrap();
        file.set_len((bytes * batch.len()) as u64).unwrap();
        for (index, seed) in batch.iter().enumerate() {
            let subject = &subjects[usize::try_from(*seed).unwrap() % SUBJECTS.len()];
            let (damaged, start) = (subject.damage(*seed), (index * bytes) as u64);
            let medium = Medium::new(&damaged.patient.disk);
            planned(&medium, Extent::All).commit().unwrap();
            save(&file, start, subject, &damaged);
            medium.save(&file, start);
        }
        let verdicts = judge(&machine, &disk, bytes as u64, batch.len() as u64).unwrap();
        for (index, (seed, verdict)) in batch.iter().zip(&verdicts).enumerate() {
            let mut after = vec![0; bytes];
            file.read_exact_at(&mut after, (index * bytes) as u64).unwrap();
            let flags = flags(after);
            assert!(
                *verdict == Verdict::Mounted && flags.is_empty(),
                "PUMICE_SEED={seed}: {verdict:?}, {flags:?}"
            );
        }
    }
}

/// Damages that cost files once, or were not mended.
const ONCE_LOST: [u64; 17] = [
    5066, 5083, 5138, 5268, 5448, 5506, 5573, 5633, 5876, 8423, 8980, 70302, 80338, 80722, 80988, 91105,
    91791,
];

#[test]
fn what_was_lost_once_is_kept() {
    let subjects = SUBJECTS.map(Subject::new);
    for seed in ONCE_LOST {
        let subject = &subjects[usize::try_from(seed).unwrap() % SUBJECTS.len()];
        let damaged = subject.damage(seed);
        let medium = Medium::new(&damaged.patient.disk);
        let before = tree(Box::new(medium.clone()));
        planned(&medium, Extent::All).commit().unwrap();
        let (left, after) = (findings(&medium), tree(Box::new(medium)));
        let gone = lost(&tree(Box::new(Disk::new(&subject.image))), &before, &after);
        assert_eq!((left, gone), (Vec::new(), Vec::new()), "{}, PUMICE_SEED={seed}", subject.name);
    }
}

#[test]
fn damaged_members_are_mended() {
    let seeds = F2FS_REPAIRED.seeds(0..31);
    let compares = !F2FS_REPAIRED.is_usual() && Command::new("fsck.f2fs").arg("-V").output().is_ok();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let subjects = SUBJECTS.map(Subject::new);
    let trees = subjects.each_ref().map(|subject| tree(Box::new(Disk::new(&subject.image))));
    let (mut ours, mut theirs, mut wrong) = (Figures::default(), Figures::default(), Vec::new());
    for seed in seeds.clone() {
        let which = usize::try_from(seed).unwrap() % SUBJECTS.len();
        let (subject, sound) = (&subjects[which], &trees[which]);
        let damaged = subject.damage(seed);
        let medium = Medium::new(&damaged.patient.disk);
        let before = tree(Box::new(medium.clone()));
        if compares {
            let path = place.path().join("peer");
            let file = File::create(&path).unwrap();
            file.set_len(subject.image.len() as u64).unwrap();
            save(&file, 0, subject, &damaged);
            theirs.damaged += 1;
            peer(&path, &mut theirs, sound, &before);
        }
        ours.damaged += 1;
        let of = format!("PUMICE_SEED={seed}: {}: {}: {}", subject.name, damaged.member, damaged.what);
        match plan(Box::new(medium.clone()), Extent::All, Timestamp::default(), 2, &mut |_, _| ()) {
            Ok(repair) => repair.commit().unwrap(),
            Err(error) => {
                wrong.push(format!("{of}: {error}"));
                continue;
            }
        }
        let left = findings(&medium);
        let after = tree(Box::new(medium));
        let gone = lost(sound, &before, &after);
        ours.sound += usize::from(left.is_empty());
        ours.unharmed += usize::from(gone.is_empty());
        ours.paths += kept(sound, &after);
        if !left.is_empty() || !gone.is_empty() {
            wrong.push(format!("{of}: left {left:?}, lost {gone:?}"));
        }
    }
    for (who, figures) in [("here", &ours), ("fsck.f2fs -y", &theirs)] {
        let Figures { damaged, sound, unharmed, paths } = figures;
        eprintln!("{who}: of {damaged} volumes {sound} sound, {unharmed} without a loss; {paths} paths kept");
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), ours.damaged);
    F2FS_REPAIRED.ran(seeds.clone(), seeds.end - seeds.start);
}
