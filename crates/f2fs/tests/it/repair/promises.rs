//! Promises of fsync behind the checkpoint, one of them damaged: all others are kept.

use std::sync::Arc;

use pumice_f2fs::{
    layout::{BlockAddr, Inode, NodeFooter, SegNo},
    repair::Extent,
};

use super::{findings, lost, medium::Medium, planned, tree::tree};
use crate::{
    check::patient::{BLOCK, Disk, Patient, place},
    common::image::Golden,
};

/// Inodes of the chain that begins at the head of the warm nodes' log.
fn promised(patient: &Patient) -> Vec<(BlockAddr, Inode)> {
    let volume = patient.volume();
    let (head, version) = (&volume.log_heads()[4], volume.checkpoint().footer_version());
    let mut here = BlockAddr(volume.segment_start(head.segno).0 + u32::from(head.offset));
    let mut found = Vec::new();
    loop {
        let block = patient.read(place(here), BLOCK);
        let footer = NodeFooter::of(&block).unwrap();
        if footer.cp_version != version {
            return found;
        }
        if footer.is_inode() {
            let (size, features) = (volume.block_size(), volume.features());
            found.push((here, Inode::from_block(footer.ino, &block, size, features).unwrap()));
        }
        here = footer.next;
    }
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
    let mut damages: Vec<(String, usize, usize, u32)> = Vec::new();
    for (addr, inode) in with_addrs {
        damages.push((
            format!("an address of inode {} is outside", inode.ino),
            place(*addr) + behind_end(inode),
            0,
            787_004,
        ));
        damages.push((
            format!("an address of inode {} is another's", inode.ino),
            place(*addr) + behind_end(inode),
            0,
            in_use.0,
        ));
    }
    for (addr, inode) in &all {
        damages.push((format!("inode {} has no kind", inode.ino), place(*addr), 1, 0));
    }
    let mut wrong = Vec::new();
    for (what, at, may_lose, word) in damages {
        let mut patient = Patient::new(&image);
        patient.put32(at, word);
        // Something else is wrong, too, so that there is a repair in any case.
        let last = SegNo(patient.volume().super_block().main_segments() - 1);
        patient.edit_sit(last, |raw| raw.valid_map[9] = 4);
        let medium = Medium::new(&patient.disk);
        planned(&medium, Extent::All).commit().unwrap();
        let left = findings(&medium);
        let gone = lost(&sound, &sound, &tree(Box::new(medium)));
        if !left.is_empty() || gone.len() > may_lose {
            wrong.push(format!("{what}: left {left:?}, lost {gone:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}
