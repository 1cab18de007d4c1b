//! Damaged names: what is left of an entry, and what its inode remembers, give the name back.

use std::{collections::BTreeMap, sync::Arc};

use pumice_f2fs::{
    layout::{BlockAddr, DentryLayout, Inode, RawDentry},
    repair::Extent,
};
use pumice_vfs::FileKind;
use zerocopy::FromBytes;

use super::{findings, kept, lost, medium::Medium, planned, tree::tree};
use crate::{
    check::patient::{BLOCK, Disk, Patient, place},
    common::image::Golden,
};

/// The entries of a directory, in its inode or in its first block.
struct Leaf {
    directory: Inode,
    /// The byte of the volume where they begin.
    at: usize,
    layout: DentryLayout,
}

impl Leaf {
    fn of(patient: &Patient, directory: &Inode) -> Option<Leaf> {
        let node = place(patient.node_at(directory.ino));
        let (at, layout) = if directory.has_inline_dentry() {
            let range = directory.inline_range();
            (node + range.start, DentryLayout::for_bytes(range.len()))
        } else {
            let word = u32::from_le_bytes(patient.read(node + directory.addrs_at(), 4).try_into().unwrap());
            if !BlockAddr(word).is_block() {
                return None;
            }
            (place(BlockAddr(word)), DentryLayout::for_block(patient.volume().block_size()))
        };
        Some(Leaf { directory: directory.clone(), at, layout })
    }

    /// Bytes of its layout.
    fn bytes(&self, patient: &Patient) -> Vec<u8> {
        let inline = self.directory.has_inline_dentry();
        let count = if inline { self.directory.inline_range().len() } else { BLOCK };
        patient.read(self.at, count)
    }

    /// Slots in which names begin.
    fn slots(&self, patient: &Patient) -> Vec<u32> {
        let (bytes, mut slots, mut next) = (self.bytes(patient), Vec::new(), 0);
        while let Some(entry) = self.layout.next(&bytes, next).unwrap() {
            slots.push(entry.slot);
            next = entry.slot + entry.slots();
        }
        slots
    }

    fn raw(&self, patient: &Patient, slot: u32) -> RawDentry {
        RawDentry::read_from_bytes(&patient.read(self.at + self.layout.entry_at(slot), 11)).unwrap()
    }

    fn put(&self, patient: &mut Patient, at: usize, bytes: &[u8]) {
        patient.write(self.at + at, bytes);
        if self.directory.has_inline_dentry() {
            patient.edit_inode(self.directory.ino, |_| ());
        }
    }
}

/// Damages of the first slots, and of the entry in a slot.
type Damage = fn(&mut Patient, &Leaf, u32);

const DAMAGES: [(&str, Damage); 6] = [
    ("the name of . is another", |p, leaf, _| leaf.put(p, leaf.layout.name_at(0), b"x")),
    ("the name of .. has a slash", |p, leaf, _| leaf.put(p, leaf.layout.name_at(1), b"/.")),
    ("both names are zeros", |p, leaf, _| leaf.put(p, leaf.layout.name_at(0), &[0; 16])),
    ("its slots are marked as free", |p, leaf, slot| {
        let mut bits = leaf.bytes(p);
        let slots = leaf.layout.entry(&bits, slot).unwrap().slots();
        (slot..slot + slots).for_each(|slot| leaf.layout.set_used(&mut bits, slot, false));
        let bitmap = leaf.layout.slots.div_ceil(8) as usize;
        leaf.put(p, 0, &bits[..bitmap]);
    }),
    ("its name is longer", |p, leaf, slot| {
        let length = leaf.raw(p, slot).name_len.get() + 9;
        leaf.put(p, leaf.layout.entry_at(slot) + 8, &length.to_le_bytes());
    }),
    ("its inode is 0", |p, leaf, slot| leaf.put(p, leaf.layout.entry_at(slot) + 4, &[0; 4])),
];

/// Directories of both sorts, and the slots of a file with one name, one with several, and a directory in them.
fn places(patient: &Patient) -> Vec<(Leaf, u32)> {
    let mut found = BTreeMap::new();
    for (directory, _) in patient.inodes().filter(|(inode, _)| inode.kind == FileKind::Dir) {
        let Some(leaf) = Leaf::of(patient, &directory).filter(|_| !directory.is_encrypted()) else {
            continue;
        };
        for slot in leaf.slots(patient).into_iter().skip(2) {
            let raw = leaf.raw(patient, slot);
            let Ok((inode, _)) = patient.nodes.inode(pumice_f2fs::layout::Nid(raw.ino.get())) else {
                continue;
            };
            let sort = (directory.has_inline_dentry(), inode.kind == FileKind::Dir, inode.links > 1);
            found.entry(sort).or_insert((Leaf::of(patient, &directory).unwrap(), slot));
        }
    }
    found.into_values().collect()
}

#[test]
fn a_damaged_name_is_given_back() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for name in ["features", "basic"] {
        let image = Arc::new(Golden::own(name).bytes());
        let sound = tree(Box::new(Disk::new(&image)));
        for (leaf, slot) in places(&Patient::new(&image)) {
            for (what, damage) in DAMAGES {
                let mut patient = Patient::new(&image);
                damage(&mut patient, &leaf, slot);
                let medium = Medium::new(&patient.disk);
                let before = tree(Box::new(medium.clone()));
                planned(&medium, Extent::All).commit().unwrap();
                let left = findings(&medium);
                let after = tree(Box::new(medium));
                let gone = lost(&sound, &before, &after);
                tried += 1;
                if !left.is_empty() || !gone.is_empty() || kept(&sound, &after) < sound.len() {
                    let directory = leaf.directory.ino;
                    wrong.push(format!(
                        "{name}: directory {directory}, slot {slot}: {what}: left {left:?}, lost {gone:?}, kept {} of {}",
                        kept(&sound, &after), sound.len()
                    ));
                }
            }
        }
    }
    assert!(tried >= 30, "only {tried} names were damaged");
    assert!(wrong.is_empty(), "{} of {tried}: {wrong:#?}", wrong.len());
}
