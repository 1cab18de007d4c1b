//! A volume that damages are made on.

use std::sync::Arc;

use fastrand::Rng;
use pumice_f2fs::layout::{BlockAddr, Nid};
use pumice_vfs::FileKind;

use super::{
    members::{Field, MEMBERS},
    patient::{BLOCK, Patient},
    random,
};
use crate::common::image::Golden;

/// Damages at random for each round of members.
const RANDOM: usize = 9;

/// A volume, and its contents.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) image: Arc<Vec<u8>>,
    /// Numbers of all nodes.
    pub(crate) nids: Vec<Nid>,
    pub(crate) inodes: Vec<Nid>,
    pub(crate) directories: Vec<Nid>,
    metadata: Vec<BlockAddr>,
}

/// A volume that was damaged, and how.
pub(crate) struct Damaged {
    pub(crate) patient: Patient,
    /// The member that was changed, or `random`.
    pub(crate) member: &'static str,
    /// The description, in words.
    pub(crate) what: String,
}

impl Subject {
    pub(crate) fn new(name: &'static str) -> Subject {
        let image = Arc::new(Golden::own(name).bytes());
        let patient = Patient::new(&image);
        let volume = patient.volume();
        let all = volume.nat_blocks().min(8) * volume.block_size().nat_entries();
        let nids: Vec<Nid> =
            (3..all).map(Nid).filter(|nid| volume.nat_entry(*nid).unwrap().is_used()).collect();
        let inodes: Vec<Nid> =
            nids.iter().copied().filter(|nid| volume.nat_entry(*nid).unwrap().ino == *nid).collect();
        let is_directory = |ino: &Nid| patient.nodes.inode(*ino).unwrap().0.kind == FileKind::Dir;
        let directories = inodes.iter().copied().filter(is_directory).collect();
        let metadata = random::metadata(&patient);
        Subject { name, image, nids, inodes, directories, metadata }
    }

    pub(crate) fn is_inode(&self, nid: Nid) -> bool {
        self.inodes.binary_search(&nid).is_ok()
    }

    /// One damage: of a member in turn, or of bytes at random. Where this volume has no such member, of another one.
    pub(crate) fn damage(&self, seed: u64) -> Damaged {
        let mut draw = Rng::with_seed(seed);
        let mut patient = Patient::new(&self.image);
        let mut turn = usize::try_from(seed).unwrap() % (MEMBERS.len() + RANDOM);
        while let Some((member, find)) = MEMBERS.get(turn) {
            let found = (0..20).find_map(|_| find(self, &patient, &mut draw));
            if let Some(field) = found {
                return self.change(patient, member, &field, &mut draw);
            }
            turn = draw.usize(..MEMBERS.len());
        }
        random::damage(&mut patient, &self.metadata, &mut draw);
        Damaged { patient, member: "random", what: "random bytes".into() }
    }

    fn change(&self, mut patient: Patient, member: &'static str, field: &Field, draw: &mut Rng) -> Damaged {
        let old = patient.read(field.at, field.bytes);
        let new = loop {
            let new = self.value(&old, draw);
            if new != old {
                break new;
            }
        };
        patient.write(field.at, &new);
        patient.make_right(&field.seal);
        let (block, inside) = (field.at / BLOCK, field.at % BLOCK);
        let what = format!("block {block}, byte {inside}: {} for {}", hex(&new), hex(&old));
        Damaged { patient, member, what }
    }

    /// Another value: near, far, or that of something else.
    fn value(&self, old: &[u8], draw: &mut Rng) -> Vec<u8> {
        let mut word = [0; 8];
        word[..old.len()].copy_from_slice(old);
        let old_word = u64::from_le_bytes(word);
        let new = match draw.u8(..10) {
            0..3 => old_word ^ (1 << draw.usize(..old.len() * 8)),
            3 => 0,
            4 => old_word.wrapping_add(1),
            5 => old_word.wrapping_sub(1),
            6 => u64::MAX,
            7 => draw.u64(..),
            8 => self.nids[draw.usize(..self.nids.len())].0.into(),
            _ => self.metadata[draw.usize(..self.metadata.len())].0.into(),
        };
        new.to_le_bytes()[..old.len()].to_vec()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().rev().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
