//! Sections that are emptied and files that are written anew: nothing of the files changes, whenever power fails.

use pumice_f2fs::{
    MasterKeys, WritableF2fs, WritableOptions,
    check::check,
    layout::{InlineFlags, Nid, RawInode},
    read_super_block,
};
use pumice_media::{BlockDevice, Lba};
use pumice_vfs::{FileKind, FileSystem, Ino, SetAttr, SpaceMode, conformance::TestClock};

use super::{
    compressed::{SHAPE, rule},
    policy::{POLICIES, key, keys},
    power::{Live, Replay},
    subject::{Shape, node, ours, sound, volume},
};
use crate::{
    check::patient::{BLOCK, Patient, place},
    repair::tree::tree_by,
};

fn mounted(disk: &Live) -> WritableF2fs {
    mounted_with(disk, None)
}

fn mounted_with(disk: &Live, keys: Option<MasterKeys>) -> WritableF2fs {
    let options = WritableOptions {
        cache_bytes: 1 << 20,
        discard: false,
        compression: rule("lz4", 2),
        keys,
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
    keeps_all_with(disk, None, work);
}

/// The same, with keys.
fn keeps_all_with(disk: &Live, keys: Option<MasterKeys>, work: impl Fn(&WritableF2fs)) {
    let all = |disk: &Live| tree_by(Box::new(disk.clone()), key());
    let (start, wanted) = (disk.image(), all(disk));
    assert!(wanted.values().all(Option::is_some), "all can be read");
    disk.log().events.clear();
    let fs = mounted_with(disk, keys);
    work(&fs);
    fs.unmount().unwrap();
    sound(disk);
    assert!(all(disk) == wanted);
    let (sb, events) = (read_super_block(disk).unwrap(), disk.log().events.clone());
    let (mut replay, mut random) = (Replay::new(&sb, start), fastrand::Rng::with_seed(7));
    for (at, event) in events.iter().enumerate() {
        if at % (events.len() / 12).max(1) == 0 {
            let (family, state) = replay.one_of_family(&mut random);
            let cut = Live::new(state);
            let report = check(vec![Box::new(cut.clone())], 2, &mut |_, _| ()).unwrap();
            assert_eq!(report.findings, [], "cut before {at}, {family}");
            assert!(all(&cut) == wanted, "cut before {at}, {family}");
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

/// Writes each of these anew; none stands in more rows than before. Returns the rows before, and behind that.
fn all_anew(fs: &WritableF2fs, inos: &[Ino]) -> (u64, u64) {
    let rows = |ino: &Ino| fs.rows(*ino).unwrap();
    let each = inos.iter().map(|ino| {
        let before = rows(ino);
        fs.defragment(*ino).unwrap();
        assert!(rows(ino).0 == before.0 && rows(ino).1 <= before.1, "{before:?} and {:?}", rows(ino));
        (before.1, rows(ino).1)
    });
    each.fold((0, 0), |sums, rows| (sums.0 + rows.0, sums.1 + rows.1))
}

/// Directories that grew beside each other, with several levels of hashed names.
#[test]
fn directories_are_written_in_a_row() {
    let disk = Live::new(volume(96 << 20, &Shape::PLAIN, &TestClock::new()));
    let fs = mounted(&disk);
    let dirs = [b"a", b"b"].map(|name| fs.create(Ino::ROOT, name, &node(FileKind::Dir)).unwrap().ino);
    for number in 0..1500 {
        for dir in dirs {
            fs.create(dir, format!("a name that is long enough, {number}").as_bytes(), &node(FileKind::Fifo))
                .unwrap();
        }
        if number % 100 == 0 {
            fs.sync().unwrap();
        }
    }
    fs.unmount().unwrap();
    keeps_all(&disk, |fs| {
        let (before, after) = all_anew(fs, &dirs);
        assert!(before > 10 && after == 2, "{before} and {after}");
    });
}

/// Encrypted blocks are moved as they are: what they are encrypted with depends on their number, and not on their place.
#[test]
fn encrypted_files_are_written_in_a_row_without_their_key_and_with_it() {
    for policy in &["aes-pad32", "adiantum-direct", "inode-32"] {
        let policy = POLICIES.iter().find(|known| known.name == *policy).unwrap();
        let shape = Shape { policy: Some(policy), features: &["encrypt"], ..Shape::PLAIN };
        let disk = Live::new(volume(64 << 20, &shape, &TestClock::new()));
        let fs = mounted_with(&disk, Some(keys()));
        let dir = fs.create(Ino::ROOT, b"dir", &node(FileKind::Dir)).unwrap().ino;
        let names = [b"first", b"other"];
        let files = names.map(|name| fs.create(dir, name, &node(FileKind::File)).unwrap().ino);
        for piece in 0..40_u8 {
            for file in files {
                fs.write(file, u64::from(piece) * 5000, &[piece; 5000]).unwrap();
            }
            let name = [&[b'x'; 200][..], format!("{piece}").as_bytes()].concat();
            fs.create(dir, &name, &node(FileKind::File)).unwrap();
            fs.sync().unwrap();
        }
        fs.unmount().unwrap();
        for keys in [None, Some(keys())] {
            let what = [files[0], files[1], dir];
            keeps_all_with(&Live::new(disk.image()), keys, |fs| {
                let (before, after) = all_anew(fs, &what);
                assert!(before > 20 && after == 3, "{before} and {after}");
            });
        }
    }
}

/// Does what there is room for: on a full volume, and where there is more room from time to time.
#[test]
fn a_volume_that_is_nearly_full_is_written_anew_as_far_as_there_is_room() {
    for shape in [&Shape::PLAIN, &Shape { section_segments: Some(2), ..Shape::PLAIN }] {
        let disk = Live::new(volume(96 << 20, shape, &TestClock::new()));
        let fs = mounted(&disk);
        let make = |name: String| fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        let files: Vec<Ino> = (0..9).map(|number| make(format!("file {number}"))).collect();
        let mut at = 0;
        while files.iter().all(|file| fs.write(*file, at, &vec![7; 70_000]).is_ok()) {
            at += 70_000;
        }
        fs.unmount().unwrap();
        let mut sums = Vec::new();
        for size in [None, Some(1 << 20), Some(0)] {
            if let Some(size) = size {
                let fs = mounted(&disk);
                fs.set_attr(files[4], &SetAttr { size: Some(size), ..SetAttr::default() }).unwrap();
                fs.unmount().unwrap();
            }
            let disk = Live::new(disk.image());
            keeps_all(&disk, |fs| _ = all_anew(fs, &files));
            let fs = mounted(&disk);
            sums.push(files.iter().map(|file| fs.rows(*file).unwrap().1).sum::<u64>());
        }
        assert!(sums.is_sorted_by(|one, next| one >= next) && sums[2] < 60, "{sums:?}");
    }
}

/// A volume that was filled, and then changed here and there; all its files are written anew. Returns the rows of all before,
/// and behind that.
fn filled_and_written_anew(seed: u64) -> (u64, u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let shape = Shape { section_segments: Some(random.u32(1..3)), ..Shape::PLAIN };
    let disk = Live::new(volume(random.u64(80..400) << 20, &shape, &TestClock::new()));
    let fs = mounted(&disk);
    let make = |name: String| fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
    let files: Vec<Ino> = (0..random.u32(3..20)).map(|number| make(format!("file {number}"))).collect();
    let (mut end, piece) = (0, random.u64(5_000..1_000_000));
    let bytes = vec![7; usize::try_from(piece).unwrap()];
    while files.iter().all(|file| fs.write(*file, end, &bytes).is_ok()) {
        end += piece;
    }
    for _ in 0..random.u32(0..40) {
        let file = files[random.usize(0..files.len())];
        let (at, length) = (random.u64(0..=end), random.u64(1..=end + 1));
        // There may be no room for it.
        let _ = match random.u8(0..3) {
            0 => fs.set_attr(file, &SetAttr { size: Some(at), ..SetAttr::default() }).map(drop),
            1 => fs.allocate(file, SpaceMode::PunchHole, at, length),
            _ => fs.write(file, at, &bytes),
        };
        if random.bool() {
            fs.sync().unwrap();
        }
    }
    fs.unmount().unwrap();
    let rows = all_anew(&mounted(&disk), &files);
    ours(&disk);
    rows
}

/// Logs that run short of free segments fill holes, and would scatter what is written then.
#[test]
fn no_file_is_scattered_where_free_segments_run_short() {
    for (seed, most) in [(1, 40), (9, 135), (20, 120)] {
        let (before, after) = filled_and_written_anew(seed);
        assert!(after < before && after <= most, "{seed}: {before} and {after}");
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
