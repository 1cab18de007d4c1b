//! Power fails within changes that are written as a repair is: the same command again comes to the same end, and the way back
//! leads to the beginning.

use std::{collections::BTreeSet, sync::Arc};

use pumice_f2fs::{
    check::check,
    layout::Features,
    read_super_block,
    repair::{Extent, Repair, Tuning, Undo, plan, tune},
};
use pumice_knobs::F2FS_CUT_REPAIRS;
use pumice_media::ReadAt;
use pumice_vfs::{FileKind, FileSystem, Ino, Timestamp, conformance::TestClock};

use super::{resize::mounted, tree::tree};
use crate::{
    check::subject::Subject,
    common::image::Golden,
    rescue::{each_loss, without},
    writable::{
        power::{Image, Live, Replay},
        subject::{Shape, node, ours, volume},
    },
};

/// States of each change that are looked at.
const STATES: usize = 4;

/// Cuts the power within a change at some writes, and repeats it. `is_whole` tells that all files are there meanwhile.
fn outlives_cuts(what: &str, start: &Image, is_whole: bool, change: impl Fn(&Live) -> Repair) {
    let disk = Live::new(start.clone());
    let repair = change(&disk);
    let undo = Undo::from_bytes(&repair.undo().unwrap().to_bytes()).unwrap();
    repair.commit().unwrap();
    ours(&disk);
    let wanted = tree(Box::new(disk.clone()));
    let (sb, events) = (read_super_block(&disk).unwrap(), disk.log().events.clone());
    let same = |sb: &pumice_f2fs::SuperBlock| (sb.uuid(), sb.features(), sb.label());
    let (mut replay, mut random) = (Replay::new(&sb, start.clone()), fastrand::Rng::with_seed(5));
    for (at, event) in events.iter().enumerate() {
        replay.step(event);
        let is_near = at < 2 || at + 9 > events.len();
        if !is_near && at % events.len().div_ceil(STATES) != 0 {
            continue;
        }
        let (family, state) = replay.one_of_family(&mut random);
        let of = format!("{what}: cut behind {at} of {}, {family}", events.len());
        let cut = Live::new(state.clone());
        assert!(!is_whole || tree(Box::new(cut.clone())) == wanted, "{of}: not whole");
        change(&cut).commit().unwrap();
        let report = check(vec![Box::new(cut.clone())], 2, &mut |_, _| ()).unwrap();
        assert_eq!(report.findings, [], "{of}");
        let found = tree(Box::new(cut.clone()));
        let differs = |path: &&Vec<u8>| wanted.get(*path) != found.get(*path);
        let paths: BTreeSet<_> = wanted.keys().chain(found.keys()).filter(differs).collect();
        assert!(
            paths.is_empty(),
            "{of}: {:?}",
            paths.iter().map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>()
        );
        assert_eq!(same(&read_super_block(&cut).unwrap()), same(&sb), "{of}");
        let mut back = Live::new(state);
        undo.put_back(&mut back).unwrap();
        assert_eq!(back.image().hash(), start.hash(), "{of}: the way back");
    }
}

/// Damages, by seed, with which a repair failed once: the head of a new pack was taken for a whole pack; the root's mode was
/// that of a file.
const FAILED: [u64; 2] = [400_019, 400_055];

#[test]
fn a_repair_outlives_cuts() {
    let seeds = F2FS_CUT_REPAIRS.seeds(2..4);
    let subjects = ["basic", "features", "crash-fsync"].map(Subject::new);
    let failed = FAILED.into_iter().filter(|_| F2FS_CUT_REPAIRS.is_usual());
    for seed in seeds.clone().chain(failed) {
        F2FS_CUT_REPAIRS.begin(seed);
        let subject = &subjects[usize::try_from(seed).unwrap() % subjects.len()];
        let damaged = subject.damage(seed);
        let mut bytes = (*subject.image).clone();
        for (at, changed) in damaged.patient.disk.changes() {
            bytes[*at..][..changed.len()].copy_from_slice(changed);
        }
        let what = format!("PUMICE_SEED={seed}: {}: {}: {}", subject.name, damaged.member, damaged.what);
        outlives_cuts(&what, &Image::of(&bytes), false, |disk| {
            plan(Box::new(disk.clone()), Extent::All, Timestamp::default(), 2, &mut |_, _| ()).unwrap()
        });
    }
    F2FS_CUT_REPAIRS.ran(seeds.clone(), seeds.end - seeds.start);
}

#[test]
fn a_volume_is_laid_anew_though_power_fails() {
    let bytes = Arc::new(Golden::own("basic").bytes());
    let uuid = read_super_block(&bytes).unwrap().uuid();
    for parts in each_loss() {
        let mut left = vec![0; bytes.len()];
        without(&bytes, parts).read_at(0, &mut left).unwrap();
        outlives_cuts(&format!("without {parts:?}"), &Image::of(&left), false, |disk| {
            let extent = Extent::Rebuild { uuid };
            plan(Box::new(disk.clone()), extent, Timestamp::default(), 2, &mut |_, _| ()).unwrap()
        });
    }
}

#[test]
fn a_volume_is_tuned_though_power_fails() {
    let features = &["extra_attr", "inode_checksum", "sb_checksum"];
    let disk = Live::new(volume(64 << 20, &Shape { features, ..Shape::PLAIN }, &TestClock::new()));
    let fs = mounted(&disk);
    for number in 0..60_usize {
        let name = format!("file {number}");
        let file = fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &vec![7; number * 600]).unwrap();
    }
    fs.unmount().unwrap();
    let label = Tuning { label: Some("photos".to_owned()), ..Tuning::default() };
    let all = Tuning {
        features: Tuning::FEATURES.into_iter().fold(Features::default(), Features::with),
        ..label.clone()
    };
    let uuid = Tuning { uuid: Some([0x5d; 16]), ..Tuning::default() };
    let both = Tuning { uuid: uuid.uuid, ..all.clone() };
    for tuning in [label, all, uuid, both] {
        outlives_cuts(&format!("{tuning:?}"), &disk.image(), true, |disk| {
            tune(Box::new(disk.clone()), &tuning, Timestamp::default(), 2, &mut |_, _| ()).unwrap()
        });
    }
}
