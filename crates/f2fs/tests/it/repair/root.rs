//! A root directory that is damaged, or gone: it is found again, or made anew, and nothing below it is lost.

use std::sync::Arc;

use pumice_f2fs::repair::Extent;

use super::{Tree, findings, kept, medium::Medium, planned, tree::tree};
use crate::{
    check::patient::{BLOCK, Disk, Patient, place},
    common::image::Golden,
};

/// Bytes from the end of a node to its number.
const FOOTER: usize = 24;

fn mended(patient: &Patient) -> (Vec<String>, Tree) {
    let medium = Medium::new(&patient.disk);
    planned(&medium, Extent::All).commit().unwrap();
    (findings(&medium), tree(Box::new(medium)))
}

#[test]
fn a_root_without_its_number_is_found_again() {
    for name in ["crash-fsync", "features"] {
        let image = Arc::new(Golden::own(name).bytes());
        let sound = tree(Box::new(Disk::new(&image)));
        for number in [0, 9, u32::MAX] {
            let mut patient = Patient::new(&image);
            let root = patient.node_at(patient.volume().super_block().root());
            patient.put32(place(root) + BLOCK - FOOTER, number);
            let (left, after) = mended(&patient);
            assert_eq!((left, kept(&sound, &after)), (Vec::new(), sound.len()), "{name}: number {number}");
        }
    }
}

#[test]
fn a_root_that_is_gone_is_made_anew() {
    for name in ["crash-fsync", "features"] {
        let image = Arc::new(Golden::own(name).bytes());
        let sound = tree(Box::new(Disk::new(&image)));
        let mut patient = Patient::new(&image);
        let root = patient.node_at(patient.volume().super_block().root());
        patient.write(place(root), &[0; BLOCK]);
        let (left, after) = mended(&patient);
        assert_eq!(left, [""; 0], "{name}");
        // Names in the root that fsync promised are made again.
        let is_one = |path: &[u8]| path.len() > 1 && !path[1..].contains(&b'/');
        let found = after.iter().filter(|(path, record)| {
            let path = path.strip_prefix(b"/lost+found").unwrap_or(path);
            is_one(path) && record.is_some()
        });
        let (found, names) = (found.count(), sound.keys().filter(|path| is_one(path)).count());
        let shown = |tree: &Tree| -> Vec<String> {
            tree.keys().take(20).map(|path| String::from_utf8_lossy(path).into_owned()).collect()
        };
        assert_eq!(found, names, "{name}: {:?} of {:?}", shown(&after), shown(&sound));
    }
}
