//! References to nodes that are not theirs: an inode says that its nodes or its attributes are in a node of another
//! inode, or in one of another kind. It is the reference that goes, and nothing else.

use std::sync::Arc;

use pumice_f2fs::{layout::Nid, repair::Extent};
use pumice_vfs::FileKind;

use super::{findings, kept, lost, medium::Medium, planned, tree::tree};
use crate::{
    check::patient::{BLOCK, Disk, Patient},
    common::image::Golden,
};

/// Bytes from the start of an inode to its number of the node with attributes, and from its end to those of other nodes.
const XATTR_NID: usize = 76;
const NIDS_AND_FOOTER: usize = 44;

/// The places where an inode names nodes.
fn places() -> impl Iterator<Item = usize> {
    std::iter::once(XATTR_NID).chain([0, 2, 4].map(|index| BLOCK - NIDS_AND_FOOTER + index * 4))
}

/// One node of each sort: a directory, a file, and nodes of attributes, of addresses and of nodes.
fn targets(patient: &Patient) -> Vec<Nid> {
    let volume = patient.volume();
    let mut found: Vec<(u32, Nid)> = Vec::new();
    for nid in (4..2000).map(Nid) {
        let Ok(node) = volume.node(nid) else { continue };
        let sort = match patient.nodes.inode(nid) {
            Ok((inode, _)) => u32::from(inode.kind == FileKind::Dir),
            Err(_) => node.footer.offset.0.max(2),
        };
        if found.iter().all(|(known, _)| *known != sort) && found.len() < 7 {
            found.push((sort, nid));
        }
    }
    found.into_iter().map(|(_, nid)| nid).collect()
}

#[test]
fn a_claimed_node_stays_with_its_owner() {
    let mut wrong = Vec::new();
    for name in ["g02-allfeat", "crash-fsync"] {
        let image = Arc::new(Golden::of_kind(name).bytes());
        let patient = Patient::new(&image);
        let sound = tree(Box::new(Disk::new(&image)));
        let claimants = [
            patient.find(|inode, _| inode.kind == FileKind::File && inode.xattr_nid.is_null()),
            patient.find(|inode, _| inode.kind == FileKind::Dir && inode.ino.0 > 3),
            patient.find(|inode, block| inode.kind == FileKind::File && !inode.nids(block)[0].is_null()),
        ];
        let all = targets(&patient);
        for (claimant, (place, target)) in claimants.iter().flat_map(|inode| {
            places().flat_map(|place| all.iter().map(move |nid| (place, *nid))).map(move |to| (inode, to))
        }) {
            let mut patient = Patient::new(&image);
            patient.edit_inode(claimant.ino, |block| {
                block[place..place + 4].copy_from_slice(&target.0.to_le_bytes());
            });
            let medium = Medium::new(&patient.disk);
            let before = tree(Box::new(medium.clone()));
            planned(&medium, Extent::All).commit().unwrap();
            let left = findings(&medium);
            let after = tree(Box::new(medium));
            let gone = lost(&sound, &before, &after);
            if !left.is_empty() || !gone.is_empty() || kept(&sound, &after) + 1 < sound.len() {
                wrong.push(format!(
                    "{name}: byte {place} of inode {} names node {target}: left {left:?}, lost {gone:?}, kept {} of {}",
                    claimant.ino, kept(&sound, &after), sound.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}
