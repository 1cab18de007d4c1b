//! The check: silent on volumes that Linux wrote, loud on damaged ones.

pub(crate) mod damages;
pub(crate) mod inject;
mod members;
mod mounted;
pub(crate) mod patient;
mod random;
pub(crate) mod subject;

use std::{collections::BTreeMap, mem::offset_of, sync::Arc};

use crate::common::image::{Golden, VOLUMES};
use damages::DAMAGES;
use patient::Patient;
use pumice_f2fs::{
    Mapped,
    check::{Code, check},
    layout::{Features, RawSuperBlock},
};

#[test]
fn volumes_of_linux_are_sound() {
    for name in VOLUMES {
        let golden = Golden::of_kind(name);
        let report = check(golden.disks(), 2, &mut |_, _| ()).unwrap();
        assert_eq!(report.findings, [], "{name}");
        assert!(report.files > 0 && report.directories > 0, "{name}");
        assert_eq!(report.fsynced_nodes > 0, name.contains("crash"), "{name}");
    }
}

/// Each damage is found by its code, and there is one for each code.
#[test]
fn every_damage_is_found() {
    let mut images = BTreeMap::new();
    let mut missed = Vec::new();
    for (code, name, damage) in DAMAGES {
        let image = images.entry(*name).or_insert_with(|| Arc::new(Golden::of_kind(name).bytes()));
        let mut patient = Patient::new(image);
        damage(&mut patient);
        let found = patient.check();
        if !found.contains(code) {
            missed.push(format!("{} on {name}: found {found:?}", code.name()));
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
    let untried: Vec<_> =
        Code::all().filter(|code| DAMAGES.iter().all(|(tried, ..)| tried != code)).collect();
    assert_eq!(untried, [], "codes without a damage");
}

/// An orderly shutdown is no trouble; other reasons to stop are told once, by name, and kinds of damage, too.
#[test]
fn notes_of_kernels_are_told_by_name() {
    let image = Arc::new(Golden::of_kind("g01-basic").bytes());
    let mut patient = Patient::new(&image);
    let mut note = |member: usize, value: u8| {
        for copy in [0, 4096] {
            patient.write(copy + 1024 + member, &[value]);
        }
        let report = check(vec![Box::new(patient.disk.clone())], 1, &mut |_, _| ()).unwrap();
        report.findings.into_iter().map(|finding| finding.detail).collect::<Vec<_>>()
    };
    let (stops, errors) = (offset_of!(RawSuperBlock, s_stop_reason), offset_of!(RawSuperBlock, s_errors));
    assert_eq!(note(stops, 3), [""; 0]);
    assert_eq!(note(stops + 3, 2), ["writing stopped: failed write (2 times)"]);
    assert_eq!(note(stops + 3, 0), [""; 0]);
    assert_eq!(note(errors + 1, 1 << 4 | 1), ["damage was met: journal, SIT"]);
}

/// A file that stands for a device: its extent is all that counts. Made from one that has nothing but its extent.
#[test]
fn a_file_that_stands_for_a_device_owns_its_extent() {
    let image = Arc::new(Golden::of_kind("g01-basic").bytes());
    let mut patient = Patient::new(&image);
    let file = patient.find(|inode, _| {
        inode.kind == pumice_vfs::FileKind::File
            && inode.extent.blocks > 0
            && inode.blocks == u64::from(inode.extent.blocks) + 1
    });
    patient.set_features(Features::DEVICE_ALIAS);
    patient.edit_inode(file.ino, |block| block[83] |= 0x80);
    assert_eq!(patient.check(), []);
    patient.edit_inode(file.ino, |block| block[352..356].copy_from_slice(&[7, 0, 0, 0]));
    assert!(patient.check().contains(&Code::DataAddress));
}

/// The last block of a Merkle tree proves data that no check reads.
#[test]
fn the_whole_tree_of_a_sealed_file_is_checked() {
    let mut patient = Patient::new(&Arc::new(Golden::own("verity").bytes()));
    let file = patient.find(|inode, _| inode.is_verity() && inode.size == 3_000_000);
    let (inode, node) = patient.nodes.inode(file.ino).unwrap();
    // 733 blocks of data: a root and six blocks below it, from the next multiple of 64 KiB on.
    let last = inode.size.next_multiple_of(1 << 16) / 4096 + 6;
    let Mapped::At(addr) = patient.nodes.run_at(&inode, &node, last, 1).unwrap().mapped else {
        panic!("the tree has a hole")
    };
    patient.flip(patient::place(addr));
    assert_eq!(patient.check(), [Code::Verity]);
}
