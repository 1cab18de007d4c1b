//! Volumes that are written to, under the eyes of others: the model, our check, f2fs-tools.

mod advise;
pub(crate) mod care;
mod checkpoint;
pub(crate) mod compressed;
mod crash;
mod discards;
pub(crate) mod disk;
mod encrypted;
mod faults;
mod figures;
mod flags;
mod full;
mod kernel;
pub(crate) mod linux;
mod lives;
mod locked;
mod over;
pub(crate) mod policy;
pub(crate) mod power;
mod projects;
mod quotas;
mod sealed;
mod streams;
pub(crate) mod subject;
pub(crate) mod tree;

use pumice_knobs::F2FS_CALLS;
use pumice_vfs::{
    FileKind, Ino,
    conformance::{run_random, run_scripted},
};
use subject::{Card, Shape, make_card, node, sound};

#[test]
fn a_directory_and_a_file_are_made() {
    let mut card = Card::new(64 << 20, &Shape::default());
    let fs = card.fs();
    let dir = fs.create(Ino::ROOT, b"dir", &node(FileKind::Dir)).unwrap();
    let file = fs.create(dir.ino, b"file", &node(FileKind::File)).unwrap();
    fs.write(file.ino, 0, b"hello").unwrap();
    let large = fs.create(dir.ino, b"large", &node(FileKind::File)).unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    fs.write(large.ino, 0, &bytes).unwrap();
    card.close();
    sound(card.disk());
    let fs = card.fs();
    let mut back = vec![0; bytes.len()];
    assert_eq!(fs.read(large.ino, 0, &mut back).unwrap(), bytes.len());
    assert!(back == bytes);
    fs.unlink(dir.ino, b"large").unwrap();
    fs.unlink(dir.ino, b"file").unwrap();
    fs.rmdir(Ino::ROOT, b"dir").unwrap();
    card.close();
    sound(card.disk());
}

/// Inodes that lost their name while they were open are listed in the checkpoint, and go with the next mount.
#[test]
fn orphans_go_with_the_next_mount() {
    let mut card = Card::new(64 << 20, &Shape::default());
    let fs = card.fs();
    let free = fs.space().unwrap().free_bytes;
    for number in 0..50_u8 {
        let file = fs.create(Ino::ROOT, &[b'a' + number], &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &[number; 9000]).unwrap();
        fs.hold(file).unwrap();
        fs.unlink(Ino::ROOT, &[b'a' + number]).unwrap();
    }
    fs.sync().unwrap();
    card.cut_power();
    sound(card.disk());
    assert_eq!(card.fs().space().unwrap().free_bytes, free);
    card.close();
    sound(card.disk());
}

#[test]
fn keeps_the_promises_of_the_trait() {
    let fresh = |clock: &_| make_card(48 << 20, &Shape::default(), clock);
    run_scripted(&fresh).unwrap();
}

/// Sizes of volumes.
const SIZES: [u64; 3] = [48 << 20, 96 << 20, 192 << 20];

/// A few sequences on each of a few shapes, of three sizes.
#[test]
fn random_sequences_agree_with_the_model() {
    let (cases, seed) = (F2FS_CALLS.count().unwrap_or(3), F2FS_CALLS.first_seed(1));
    let features = &["extra_attr", "inode_checksum", "inode_crtime", "quota_ino", "project_quota"];
    let shapes = [
        Shape::default(),
        Shape { features, ..Shape::default() },
        Shape { section_segments: Some(2), ..Shape::default() },
        Shape { dir_level: 2, ..Shape::default() },
        compressed::SHAPE,
    ];
    for (shape, bytes) in shapes.iter().zip(SIZES.into_iter().cycle()) {
        let fresh = |clock: &_| make_card(bytes, shape, clock);
        let report = run_random(&fresh, u32::try_from(cases).unwrap(), 2000, seed)
            .unwrap_or_else(|what| panic!("PUMICE_SEED={seed}: {what}"));
        assert!(report.refused * 20 < report.ops, "{report:?}");
    }
    F2FS_CALLS.ran(seed..seed + 1, cases * shapes.len() as u64);
}
