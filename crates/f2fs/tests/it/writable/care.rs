//! Sections that are emptied and files that are written anew: nothing of the files changes, whenever power fails.

use pumice_f2fs::{
    WritableF2fs, WritableOptions,
    check::check,
    layout::{InlineFlags, Nid, RawInode},
    read_super_block,
};
use pumice_media::{BlockDevice, Lba};
use pumice_vfs::{FileKind, FileSystem, Ino, conformance::TestClock};

use super::{
    compressed::{SHAPE, rule},
    power::{Live, Replay},
    subject::{Shape, node, sound, volume},
};
use crate::{
    check::patient::{BLOCK, Patient, place},
    repair::tree::tree,
};

fn mounted(disk: &Live) -> WritableF2fs {
    let options = WritableOptions {
        cache_bytes: 1 << 20,
        discard: false,
        compression: rule("lz4", 2),
        ..WritableOptions::new(TestClock::new().clock())
    };
    WritableF2fs::mount(Box::new(disk.clone()), options).unwrap()
}

/// Eight files that were written in turn, a piece at a time, with every other one beside them deleted.
fn scattered(shape: &Shape) -> Live {
    let disk = Live::new(volume(96 << 20, shape, &TestClock::new()));
    let fs = mounted(&disk);
    let make = |name: String| fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
    let files: Vec<Ino> = (0..8).map(|number| make(format!("file {number}"))).collect();
    for piece in 0..100_u32 {
        for (file, byte) in files.iter().zip(1_u8..) {
            let bytes: Vec<u8> = (0..8192).map(|at: u32| (at * piece).to_le_bytes()[0] / 64 + byte).collect();
            fs.write(*file, u64::from(piece) * 8192, &bytes).unwrap();
        }
        let beside = make(format!("beside {piece}"));
        fs.write(beside, 0, &vec![9; 100_000]).unwrap();
        fs.sync().unwrap();
    }
    for piece in (0..100).filter(|piece| piece % 8 != 0) {
        fs.unlink(Ino::ROOT, format!("beside {piece}").as_bytes()).unwrap();
    }
    fs.unmount().unwrap();
    disk
}

/// Does some work on a volume: what it has stays the same, and so it is after each cut.
fn keeps_all(disk: &Live, work: impl Fn(&WritableF2fs)) {
    let (start, wanted) = (disk.image(), tree(Box::new(disk.clone())));
    disk.log().events.clear();
    let fs = mounted(disk);
    work(&fs);
    fs.unmount().unwrap();
    sound(disk);
    assert!(tree(Box::new(disk.clone())) == wanted);
    let (sb, events) = (read_super_block(disk).unwrap(), disk.log().events.clone());
    let (mut replay, mut random) = (Replay::new(&sb, start), fastrand::Rng::with_seed(7));
    for (at, event) in events.iter().enumerate() {
        if at % (events.len() / 12).max(1) == 0 {
            let (family, state) = replay.one_of_family(&mut random);
            let cut = Live::new(state);
            let report = check(vec![Box::new(cut.clone())], 2, &mut |_, _| ()).unwrap();
            assert_eq!(report.findings, [], "cut before {at}, {family}");
            assert!(tree(Box::new(cut)) == wanted, "cut before {at}, {family}");
        }
        replay.step(event);
    }
}

#[test]
fn sections_are_emptied_and_files_written_in_a_row() {
    for shape in [&Shape::PLAIN, &Shape { section_segments: Some(2), ..Shape::PLAIN }, &SHAPE] {
        let disk = scattered(shape);
        keeps_all(&Live::new(disk.image()), |fs| {
            let (before, all) = fs.sections();
            fs.clean(before + 1).unwrap();
            let (some, _) = fs.sections();
            assert!((before + 1..before + 5).contains(&some) && some < all, "{before} and {some} of {all}");
            fs.clean(u32::MAX).unwrap();
            let (most, _) = fs.sections();
            assert!(most >= some, "{some} and {most} of {all}");
            fs.clean(u32::MAX).unwrap();
            assert_eq!(fs.sections().0, most, "nothing was left");
        });
        keeps_all(&disk, |fs| {
            for number in 0..8 {
                let file = fs.lookup(Ino::ROOT, format!("file {number}").as_bytes()).unwrap().ino;
                let (blocks, before) = fs.rows(file).unwrap();
                fs.defragment(file).unwrap();
                assert_eq!(fs.rows(file).unwrap(), (blocks, 1), "{before} before");
                assert!(before > 1 && blocks > 1, "{before} rows of {blocks} blocks");
            }
        });
    }
}

/// Has the blocks of a file stay where they are, as Linux does for a user.
pub(crate) fn pin(disk: &mut Live, file: Ino) {
    let mut patient = Patient::new(&std::sync::Arc::new(disk.image().bytes_now()));
    let at = std::mem::offset_of!(RawInode, i_inline);
    let nid = Nid(u32::try_from(file.0).unwrap());
    patient.edit_inode(nid, |block| block[at] |= InlineFlags::PIN.0);
    let addr = patient.node_at(nid);
    disk.write(Lba(addr.0.into()), &patient.read(place(addr), BLOCK)).unwrap();
}

/// A pinned file stays where it is, in both.
#[test]
fn a_pinned_file_stays() {
    let mut disk = scattered(&Shape::PLAIN);
    let fs = mounted(&disk);
    let file = fs.lookup(Ino::ROOT, b"file 3").unwrap().ino;
    fs.unmount().unwrap();
    pin(&mut disk, file);
    let fs = mounted(&disk);
    let before = fs.rows(file).unwrap();
    fs.clean(u32::MAX).unwrap();
    fs.defragment(file).unwrap();
    assert!(before.1 > 1 && fs.rows(file).unwrap() == before, "{before:?}");
}
