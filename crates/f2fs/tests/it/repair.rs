//! The repair: what is damaged is put right, and found right by a second check; what was undamaged is equal.

mod campaign;
mod claims;
mod cuts;
pub(crate) mod medium;
mod names;
mod promises;
mod resize;
mod root;
pub(crate) mod tree;
mod tune;

use std::{collections::BTreeMap, sync::Arc};

use pumice_f2fs::{
    F2fs, MountOptions,
    check::{Code, check},
    crypt::Keyring,
    layout::Inode,
    repair::{Extent, Repair, Undo, plan},
};
use pumice_vfs::{FileKind, FileSystem, Ino, Timestamp};

use self::{
    medium::Medium,
    tree::{Tree, tree},
};
use crate::{
    check::{
        damages::DAMAGES,
        patient::{Disk, Patient},
    },
    common::image::Golden,
};

pub(crate) fn planned(medium: &Medium, extent: Extent) -> Repair {
    plan(Box::new(medium.clone()), extent, Timestamp::default(), 2, &mut |_, _| ()).unwrap()
}

pub(crate) fn findings(medium: &Medium) -> Vec<String> {
    let report = check(vec![Box::new(medium.clone())], 2, &mut |_, _| ()).unwrap();
    let told = report.findings.iter();
    told.map(|finding| format!("{}: {}: {}", finding.code.name(), finding.object, finding.detail)).collect()
}

/// Paths that could be read before as in the sound volume, and cannot be any more.
pub(crate) fn lost(sound: &Tree, before: &Tree, after: &Tree) -> Vec<String> {
    let undamaged =
        before.iter().filter(|(path, record)| record.is_some() && sound.get(*path) == Some(*record));
    let gone = undamaged.filter(|(path, record)| after.get(*path) != Some(*record));
    gone.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect()
}

/// Paths that are as in the sound volume.
pub(crate) fn kept(sound: &Tree, after: &Tree) -> usize {
    sound.iter().filter(|(path, record)| record.is_some() && after.get(*path) == Some(*record)).count()
}

/// Codes of which the rest cannot be mended, or is left to people.
const LEFT: [Code; 3] = [Code::Checkpoint, Code::CryptContext, Code::Verity];

/// Damages after which nothing is lost.
const WHOLE: [Code; 25] = [
    Code::SuperBlock,
    Code::SuperBlockCopy,
    Code::SuperBlockErrors,
    Code::CheckpointPassedOver,
    Code::CheckpointNumbers,
    Code::CheckpointFlag,
    Code::CheckpointValidBlocks,
    Code::CheckpointValidNodes,
    Code::CheckpointValidInodes,
    Code::CheckpointFreeSegments,
    Code::LogSegment,
    Code::LogSegmentKind,
    Code::LogNextBlock,
    Code::LogAllocation,
    Code::NatAddress,
    Code::NatInode,
    Code::NatShared,
    Code::NatBits,
    Code::NodeFooter,
    Code::SitCount,
    Code::SitKind,
    Code::SitMissing,
    Code::SitExtra,
    Code::SsaKind,
    Code::SsaOwner,
];

/// A file that claims more bytes than its addresses reach has those of its blocks, and a quota file that claims more than
/// the volume has is made again. A mount that met one stopped all writing.
#[test]
fn sizes_beyond_all_bounds_are_mended() {
    let of = |name, code, size: u64, is_wanted: &dyn Fn(&Patient, &Inode) -> bool| {
        let mut patient = Patient::new(&Arc::new(Golden::of_kind(name).bytes()));
        let file = patient.find(|inode, _| is_wanted(&patient, inode));
        patient.edit_inode(file.ino, |block| block[16..24].copy_from_slice(&size.to_le_bytes()));
        let medium = Medium::new(&patient.disk);
        let report = check(vec![Box::new(medium.clone())], 2, &mut |_, _| ()).unwrap();
        assert!(report.findings.iter().any(|finding| finding.code == code), "{:?}", report.findings);
        planned(&medium, Extent::All).commit().unwrap();
        assert_eq!(findings(&medium), Vec::<String>::new());
        let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
        let fs = F2fs::mount(vec![Box::new(medium)], options).unwrap();
        (file.size, fs.attr(Ino(file.ino.0.into())).unwrap().size)
    };
    let is_quota = |p: &Patient, ino| p.volume().super_block().quota_inodes().contains(&ino);
    let (before, after) = of("g11-quota", Code::InodeSize, u64::MAX, &|p, inode| {
        inode.kind == FileKind::File
            && !inode.has_inline_data()
            && inode.blocks > 1
            && !is_quota(p, inode.ino)
    });
    assert_eq!(after, before.next_multiple_of(4096));
    let (before, after) = of("g11-quota", Code::QuotaFile, 1 << 40, &|p, inode| is_quota(p, inode.ino));
    assert_eq!(after, before);
}

/// The first run mends, the second finds nothing, and every undamaged file is as it was. The way back leads to the
/// damage.
#[test]
fn every_damage_is_mended() {
    let mut images = BTreeMap::new();
    let mut wrong = Vec::new();
    for (code, name, damage) in DAMAGES.iter().filter(|(code, ..)| !LEFT.contains(code)) {
        let (image, sound) = images.entry(*name).or_insert_with(|| {
            let image = Arc::new(Golden::of_kind(name).bytes());
            let sound = tree(Box::new(Disk::new(&image)));
            (image, sound)
        });
        let mut patient = Patient::new(image);
        damage(&mut patient);
        let mut medium = Medium::new(&patient.disk);
        let before = tree(Box::new(medium.clone()));
        let repair = planned(&medium, Extent::All);
        // A block that cannot be read cannot be kept.
        let undo = repair.undo().ok();
        let fixes = repair.fixes().len();
        repair.commit().unwrap();
        let mut left = findings(&medium);
        let after = tree(Box::new(medium.clone()));
        left.extend(lost(sound, &before, &after).iter().map(|path| format!("{path} is lost")));
        if WHOLE.contains(code) && kept(sound, &after) < sound.len() {
            left.push(format!("{} of {} paths are kept", kept(sound, &after), sound.len()));
        }
        if !left.is_empty() || fixes == 0 {
            wrong.push(format!("{} on {name}: {left:?}", code.name()));
            continue;
        }
        assert!(planned(&medium, Extent::All).is_empty(), "{}: a second repair", code.name());
        if let Some(undo) = undo {
            Undo::from_bytes(&undo.to_bytes()).unwrap().put_back(&mut medium).unwrap();
            assert!(medium.is_as_before(), "{}: it is not taken back", code.name());
        }
    }
    assert!(wrong.is_empty(), "{} are not mended: {wrong:#?}", wrong.len());
}

/// Some reads fail, and succeed later: the repair ends and has written nothing, or it is the one without them.
#[test]
fn reads_that_fail_for_a_while_cost_nothing() {
    let tried = [Code::SitExtra, Code::NatAddress, Code::DentryInode, Code::InodeUnnamed, Code::OrphanInode];
    for (code, name, damage) in DAMAGES.iter().filter(|(code, ..)| tried.contains(code)) {
        let image = Arc::new(Golden::of_kind(name).bytes());
        let mut patient = Patient::new(&image);
        damage(&mut patient);
        let medium = Medium::new(&patient.disk);
        medium.fail_reads(0..0);
        let repair = planned(&medium, Extent::All);
        let reads = medium.reads();
        repair.commit().unwrap();
        let whole = tree(Box::new(medium));
        let mut ended = 0;
        for (first, count) in (0..12).flat_map(|part| [1, 100].map(|count| (reads * part / 12, count))) {
            let medium = Medium::new(&patient.disk);
            medium.fail_reads(first..first + count);
            let planned =
                plan(Box::new(medium.clone()), Extent::All, Timestamp::default(), 2, &mut |_, _| ());
            medium.fail_reads(0..0);
            let Ok(repair) = planned else {
                ended += 1;
                continue;
            };
            repair.commit().unwrap();
            let of = format!("{}: reads {first} to {} of {reads} failed", code.name(), first + count);
            assert_eq!(findings(&medium), [""; 0], "{of}");
            assert!(tree(Box::new(medium)) == whole, "{of}");
        }
        assert!(ended > 0, "{}: no read of them mattered", code.name());
    }
}

/// Power fails after each write of a repair: the next repair makes all well.
#[test]
fn a_repair_outlives_power_cuts() {
    let tried = [Code::SitExtra, Code::LogSegment, Code::SuperBlock, Code::InodeLinks, Code::InodeUnnamed];
    for (code, name, damage) in DAMAGES.iter().filter(|(code, ..)| tried.contains(code)) {
        let image = Arc::new(Golden::of_kind(name).bytes());
        let mut patient = Patient::new(&image);
        damage(&mut patient);
        let medium = Medium::new(&patient.disk);
        let repair = planned(&medium, Extent::All);
        let blocks = repair.blocks();
        repair.commit().unwrap();
        let whole = tree(Box::new(medium));
        for left in 0..blocks {
            let cut = Medium::new(&patient.disk);
            let repair = planned(&cut, Extent::All);
            cut.cut_after(left);
            repair.commit().unwrap_err();
            cut.cut_after(usize::MAX);
            planned(&cut, Extent::All).commit().unwrap();
            assert_eq!(findings(&cut), [""; 0], "{} cut after {left} writes", code.name());
            if left % 5 == 0 {
                assert!(tree(Box::new(cut)) == whole, "{} cut after {left} writes", code.name());
            }
        }
    }
}
