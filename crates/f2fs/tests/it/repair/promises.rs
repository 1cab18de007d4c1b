//! Promises of fsync behind the checkpoint, one of them damaged: all others are kept.

use std::sync::Arc;

use pumice_f2fs::{
    layout::{BlockAddr, Inode, Nid, NodeFooter, SegNo},
    repair::Extent,
};

use super::{findings, lost, medium::Medium, planned, tree::tree};
use crate::{
    check::patient::{BLOCK, Disk, Patient, place},
    common::image::Golden,
};

/// The address of the next node in a node.
const NEXT: usize = BLOCK - 4;

/// The chain that begins at the head of the warm nodes' log.
fn chain(patient: &Patient) -> Vec<BlockAddr> {
    let volume = patient.volume();
    let (head, version) = (&volume.log_heads()[4], volume.checkpoint().footer_version());
    let mut here = BlockAddr(volume.segment_start(head.segno).0 + u32::from(head.offset));
    let mut found = Vec::new();
    loop {
        let footer = NodeFooter::of(&patient.read(place(here), BLOCK)).unwrap();
        if footer.cp_version != version {
            return found;
        }
        found.push(here);
        here = footer.next;
    }
}

/// Its inodes.
fn promised(patient: &Patient) -> Vec<(BlockAddr, Inode)> {
    let (size, features) = (patient.volume().block_size(), patient.volume().features());
    let inode = |addr: BlockAddr| {
        let block = patient.read(place(addr), BLOCK);
        let footer = NodeFooter::of(&block).unwrap();
        footer.is_inode().then(|| (addr, Inode::from_block(footer.ino, &block, size, features).unwrap()))
    };
    chain(patient).into_iter().filter_map(inode).collect()
}

#[test]
fn a_damaged_promise_costs_no_other() {
    let image = Arc::new(Golden::own("crash-fsync").bytes());
    let patient = Patient::new(&image);
    let sound = tree(Box::new(Disk::new(&image)));
    let in_use = patient.node_at(patient.volume().super_block().root());
    let all = promised(&patient);
    let with_addrs: Vec<_> = all.iter().filter(|(_, inode)| !inode.has_inline_data()).collect();
    assert!(all.len() > 3 && with_addrs.len() > 1, "{} promises", all.len());
    let behind_end = |inode: &Inode| inode.addrs_at() + (inode.own_addrs() as usize - 1) * 4;
    let mut damages: Vec<(String, Nid, usize, usize, u32)> = Vec::new();
    for (addr, inode) in with_addrs {
        damages.push((
            format!("an address of inode {} is outside", inode.ino),
            inode.ino,
            place(*addr) + behind_end(inode),
            0,
            787_004,
        ));
        damages.push((
            format!("an address of inode {} is another's", inode.ino),
            inode.ino,
            place(*addr) + behind_end(inode),
            0,
            in_use.0,
        ));
    }
    for (addr, inode) in &all {
        damages.push((format!("inode {} has no kind", inode.ino), inode.ino, place(*addr), 1, 0));
    }
    let mut wrong = Vec::new();
    for (what, ino, at, may_lose, word) in damages {
        let mut patient = Patient::new(&image);
        patient.put32(at, word);
        // Something else is wrong, too, so that there is a repair in any case.
        let last = SegNo(patient.volume().super_block().main_segments() - 1);
        patient.edit_sit(last, |raw| raw.valid_map[9] = 4);
        let medium = Medium::new(&patient.disk);
        let repair = planned(&medium, Extent::All);
        let told: Vec<_> = repair.broken().iter().map(|broken| broken.ino).collect();
        repair.commit().unwrap();
        let left = findings(&medium);
        let gone = lost(&sound, &sound, &tree(Box::new(medium)));
        if !left.is_empty() || gone.len() > may_lose || told != [Some(ino)] {
            wrong.push(format!("{what}: left {left:?}, lost {gone:?}, told {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

/// A chain that comes back to itself keeps all its promises, wherever it does: the mount of Linux drops them all.
#[test]
fn a_circle_of_promises_keeps_them() {
    let image = Arc::new(Golden::own("crash-fsync").bytes());
    let patient = Patient::new(&image);
    let sound = tree(Box::new(Disk::new(&image)));
    let all = chain(&patient);
    let last = *all.last().unwrap();
    for back in [all[0], all[all.len() / 2], last] {
        let mut patient = Patient::new(&image);
        let mut block = patient.read(place(last), BLOCK);
        NodeFooter { next: back, ..NodeFooter::of(&block).unwrap() }.write_to(&mut block);
        patient.put32(place(last) + NEXT, back.0);
        assert!(patient.read(place(last), BLOCK) == block, "the place of the next address");
        let medium = Medium::new(&patient.disk);
        assert!(findings(&medium).iter().any(|line| line.starts_with("roll-forward-chain")));
        let repair = planned(&medium, Extent::All);
        assert!(repair.broken().is_empty(), "{:?}", repair.broken());
        repair.commit().unwrap();
        assert_eq!(findings(&medium), Vec::<String>::new());
        let gone = lost(&sound, &sound, &tree(Box::new(medium)));
        assert!(gone.is_empty(), "{back}: {gone:?}");
    }
}
