//! Volumes that get another size: all files stay, every check is content, and a power cut leaves a volume.

use std::{collections::BTreeSet, fmt::Write};

use pumice_f2fs::{
    WritableF2fs, WritableOptions,
    check::{Code, check},
    read_super_block,
    repair::{Extents, Resizing},
};
use pumice_media::{BlockDevice, FileDisk, Lba};
use pumice_vfs::{FileKind, FileSystem, Ino, SetAttr, Timestamp, XattrMode, conformance::TestClock};
use xtask::{Machine, f2fs};

use super::tree::{Tree, tree};
use crate::{
    common::image::Golden,
    writable::{
        care::pin,
        disk::save,
        linux::golden,
        power::{Event, Image, Live, Replay},
        subject::{Shape, node, ours, sound, volume},
    },
};

const MIB: u64 = 1 << 20;

/// The same contents on a disk of another size.
fn on_disk_of(image: &Image, bytes: u64) -> Live {
    let mut disk = Live::new(Image::zeros(bytes / 4096));
    image.each_page(|at, page| {
        if at < bytes {
            disk.write(Lba(at / 4096), page).unwrap();
        }
    });
    disk.log().events.clear();
    disk
}

fn planned(disk: &Live, bytes: u64) -> pumice_f2fs::Result<Resizing> {
    Resizing::plan(Box::new(disk.clone()), bytes, 2, &mut |_, _| ())
}

fn resized(disk: &Live, bytes: u64) -> Extents {
    let resizing = planned(disk, bytes).unwrap();
    let after = resizing.after();
    resizing.run(Timestamp::default()).unwrap();
    after
}

pub(super) fn mounted(disk: &Live) -> WritableF2fs {
    let options = WritableOptions {
        cache_bytes: 1 << 20,
        discard: false,
        ..WritableOptions::new(TestClock::new().clock())
    };
    WritableF2fs::mount(Box::new(disk.clone()), options).unwrap()
}

/// Files come and go, until so many bytes are in use that nothing stands where it was put first.
fn live_on(disk: &Live, seed: u64, bytes: u64) {
    let (fs, mut random) = (mounted(disk), fastrand::Rng::with_seed(seed));
    let dir = fs.create(Ino::ROOT, format!("dir {seed}").as_bytes(), &node(FileKind::Dir)).unwrap().ino;
    let (mut files, mut count, used) = (Vec::new(), 0, |fs: &WritableF2fs| fs.space().unwrap());
    let wanted = used(&fs).free_bytes.saturating_sub(bytes);
    while used(&fs).free_bytes > wanted {
        count += 1;
        let name = format!("file {count}");
        let file = fs.create(dir, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        let size = if random.u8(..) < 20 { random.usize(..3_000_000) } else { random.usize(..60_000) };
        let bytes: Vec<u8> = (0..size).map(|at| (at as u64 * seed + count).to_le_bytes()[0]).collect();
        if fs.write(file, 0, &bytes).is_err() {
            break;
        }
        files.push((name, file));
        if random.u8(..) < 80 {
            let (name, _) = files.swap_remove(random.usize(..files.len()));
            fs.unlink(dir, name.as_bytes()).unwrap();
        }
        if let Some((_, file)) = files.get(random.usize(..files.len().max(1))) {
            let _ = fs.write(*file, random.u64(..20_000), &[7; 5000]);
        }
        if random.u8(..) < 20 {
            fs.sync().unwrap();
        }
    }
    if let Some((_, file)) = files.first() {
        fs.set_xattr(*file, b"user.a", &[8; 300], XattrMode::Either).unwrap();
        fs.set_attr(*file, &SetAttr { uid: Some(77), ..SetAttr::default() }).unwrap();
    }
    fs.unmount().unwrap();
}

fn of(disk: &Live) -> Tree {
    tree(Box::new(disk.clone()))
}

fn made(bytes: u64, shape: &Shape, used: u64) -> Live {
    let disk = Live::new(volume(bytes, shape, &TestClock::new()));
    live_on(&disk, 1, used);
    disk
}

/// Up and down, on volumes of several shapes, where tables have room for more segments.
#[test]
fn the_end_moves_and_all_files_stay() {
    let shapes = [
        Shape::PLAIN,
        Shape { section_segments: Some(2), ..Shape::PLAIN },
        Shape { features: &["extra_attr", "inode_checksum", "sb_checksum"], ..Shape::PLAIN },
    ];
    for (seed, shape) in (2..).zip(&shapes) {
        let mut disk = made(128 * MIB, shape, 8 * MIB);
        for bytes in [300 * MIB, 200 * MIB + 123 * 4096, 128 * MIB] {
            let wanted = of(&disk);
            disk = on_disk_of(&disk.image(), bytes.max(disk.blocks() * 4096));
            let before = planned(&disk, bytes).unwrap().before();
            let after = resized(&disk, bytes);
            assert_eq!(after.metadata, before.metadata);
            disk = on_disk_of(&disk.image(), bytes);
            sound(&disk);
            assert!(of(&disk) == wanted, "{bytes}");
            let sb = read_super_block(&disk).unwrap();
            assert_eq!(u64::from(sb.main_segments()), after.segments);
            assert!(sb.main_end() * 4096 <= bytes && bytes - sb.main_end() * 4096 <= 4 * MIB, "{bytes}");
            live_on(&disk, seed * 1000 + bytes / MIB, 2 * MIB);
            ours(&disk);
        }
    }
}

/// Where NAT and SSA are too small they are laid anew, and the main area begins further on. A full volume grows, too.
#[test]
fn tables_grow() {
    for used in [10 * MIB, 64 * MIB] {
        let disk = made(64 * MIB, &Shape::PLAIN, used);
        let (wanted, was) = (of(&disk), read_super_block(&disk).unwrap());
        let disk = on_disk_of(&disk.image(), 1200 * MIB);
        let resizing = planned(&disk, 1200 * MIB).unwrap();
        assert!(resizing.lays_tables() && resizing.after().numbers > resizing.before().numbers);
        resizing.run(Timestamp::default()).unwrap();
        let now = read_super_block(&disk).unwrap();
        assert!(now.main_start() > was.main_start() && now.nid_limit() > was.nid_limit());
        assert_eq!(now.checkpoint_addr(1), was.checkpoint_addr(1));
        sound(&disk);
        assert!(of(&disk) == wanted);
        live_on(&disk, 3, 90 * MIB);
        ours(&disk);
    }
}

/// Of a volume that is too full the least size is told, and it can be made as small as that.
#[test]
fn the_least_size_is_told_and_can_be_had() {
    for (seed, used) in [(1, 40 * MIB), (2, 100 * MIB), (3, 200 * MIB)] {
        let disk = Live::new(volume(256 * MIB, &Shape::PLAIN, &TestClock::new()));
        live_on(&disk, seed, used);
        let wanted = of(&disk);
        let error = planned(&disk, 40 * MIB).err().unwrap().to_string();
        let least: u64 = error.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
        assert!(planned(&disk, least - 4096).is_err());
        resized(&disk, least);
        let disk = on_disk_of(&disk.image(), least);
        sound(&disk);
        assert!(of(&disk) == wanted, "{least}");
    }
}

/// Names a pinned file that is in the way before anything is written, and the least size that leaves it where it is.
#[test]
fn a_pinned_file_in_the_way_is_named() {
    let mut disk = Live::new(volume(128 * MIB, &Shape::PLAIN, &TestClock::new()));
    let fs = mounted(&disk);
    let [low, _, high] = [("low", 2), ("between", 60), ("high", 2)].map(|(name, mib)| {
        let file = fs.create(Ino::ROOT, name.as_bytes(), &node(FileKind::File)).unwrap().ino;
        fs.write(file, 0, &vec![7; mib << 20]).unwrap();
        file
    });
    fs.unlink(Ino::ROOT, b"between").unwrap();
    fs.unmount().unwrap();
    let wanted = of(&disk);
    pin(&mut disk, high);
    let error = said(planned(&disk, 64 * MIB));
    assert!(error.contains("/high is pinned"), "{error}");
    let least: u64 = error.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
    assert!(planned(&disk, least - 4096).is_err() && least > 64 * MIB, "{error}");
    // Whoever grows it to where tables must grow is told before, too.
    let far = on_disk_of(&disk.image(), 1200 * MIB);
    assert!(planned(&far, 1200 * MIB).is_ok());
    let mut far = on_disk_of(&disk.image(), 1200 * MIB);
    pin(&mut far, low);
    let error = said(planned(&far, 1200 * MIB));
    assert!(error.ends_with("/low is pinned, and has blocks where its tables must grow"), "{error}");
    resized(&disk, least);
    let disk = on_disk_of(&disk.image(), least);
    sound(&disk);
    assert!(of(&disk) == wanted);
}

/// Findings of faults that a resize may leave where power failed.
const LEFT: [Code; 2] = [Code::CheckpointFreeSegments, Code::SuperBlockCopy];

/// Power fails at each write, and any of those lose their way that were not flushed: all files are there, and the same
/// resize goes on.
fn outlives_cuts(disk: &Live, bytes: u64, seed: u64) {
    let (start, wanted) = (disk.image(), of(disk));
    disk.log().events.clear();
    let after = resized(disk, bytes);
    sound(disk);
    let sb = read_super_block(disk).unwrap();
    let (events, mut random) = (disk.log().events.clone(), fastrand::Rng::with_seed(seed));
    let (mut replay, mut states) = (Replay::new(&sb, start), BTreeSet::new());
    for (at, event) in events.iter().enumerate() {
        let (family, state) = replay.one_of_family(&mut random);
        replay.step(event);
        if !states.insert(state.hash()) {
            continue;
        }
        let of_cut = format!("cut before {at} of {}, {family}", events.len());
        let cut = Live::new(state);
        let report = check(vec![Box::new(cut.clone())], 2, &mut |_, _| ()).unwrap();
        let wrong: Vec<_> = report.findings.iter().filter(|finding| !LEFT.contains(&finding.code)).collect();
        assert!(wrong.is_empty(), "{of_cut}: {wrong:?}");
        assert!(of(&cut) == wanted, "{of_cut}");
        if at % 2 == 0 {
            assert_eq!(resized(&cut, bytes), after, "{of_cut}");
            ours(&cut);
            assert!(of(&cut) == wanted, "{of_cut}: resized again");
        }
    }
    assert!(states.len() > 10, "{} states", states.len());
}

#[test]
fn a_resize_outlives_power_cuts() {
    let disk = made(48 * MIB, &Shape::PLAIN, 6 * MIB);
    let larger = on_disk_of(&disk.image(), 1200 * MIB);
    outlives_cuts(&larger, 100 * MIB, 1);
    outlives_cuts(&larger, 1200 * MIB, 2);
    outlives_cuts(&larger, 60 * MIB, 3);
}

fn said(done: pumice_f2fs::Result<Resizing>) -> String {
    done.err().unwrap().to_string()
}

/// Volumes that Linux and other tools made, of all sizes of blocks; once so large that tables must grow.
#[test]
fn volumes_of_linux_are_resized() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let larger =
        [("packed-ssa", 17 << 30), ("blocks-16k", 5 << 30), ("blocks-8k", 5 << 30), ("full", 2 << 30)];
    for name in Golden::own_names() {
        if ["zoned", "device-alias"].contains(&&*name) || name.starts_with("crash") {
            continue;
        }
        let image = Golden::own(&name).disks().remove(0);
        let path = dir.path().join(&name);
        save(&*image, &path);
        let width = read_super_block(&*image).unwrap().block().bytes();
        let open = |is_read_only| FileDisk::open(&path, width, is_read_only).unwrap();
        let wanted = tree(Box::new(open(true)));
        let far = larger.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes);
        let (own, far) = (image.bytes(), far.unwrap_or(image.bytes() * 2));
        for bytes in [own + own / 3, far, own] {
            // Linux made some so full that the usual reserve has no room.
            let bytes = if bytes == own && name == "full" { own + own / 3 } else { bytes };
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(bytes.max(file.metadata().unwrap().len())).unwrap();
            let resizing = Resizing::plan(Box::new(open(false)), bytes, 2, &mut |_, _| ()).unwrap();
            assert_eq!(resizing.lays_tables(), bytes == far && far >= 2 << 30, "{name} to {bytes}");
            resizing.run(Timestamp::default()).unwrap();
            file.set_len(bytes).unwrap();
            let report = check(vec![Box::new(open(true))], 2, &mut |_, _| ()).unwrap();
            assert_eq!(report.findings, [], "{name} with {bytes} bytes");
            assert!(tree(Box::new(open(true))) == wanted, "{name} with {bytes} bytes");
        }
    }
}

#[test]
fn what_is_not_resized_is_refused_by_name() {
    let of_kind = |name: &str| {
        let disk = golden(name, 4096);
        said(Resizing::plan(Box::new(disk), 100 * MIB, 2, &mut |_, _| ()))
    };
    for (name, word) in
        [("zoned", "blkzoned"), ("device-alias", "device_alias"), ("crash-fsync", "not unmounted")]
    {
        let error = of_kind(name);
        assert!(error.contains(word), "{name}: {error}");
    }
    let disk = made(64 * MIB, &Shape::PLAIN, 4 * MIB);
    for (bytes, word) in [(17 << 40, "can have"), (0, "as small as"), (5 * MIB, "as small as")] {
        let error = said(planned(&disk, bytes));
        assert!(error.contains(word), "{error}");
    }
    let before = disk.image().hash();
    let further = planned(&disk, 100 * MIB).unwrap();
    let errors = [further.check_device(), further.run(Timestamp::default())];
    assert!(
        errors.iter().all(|error| error.clone().unwrap_err().to_string().contains("device has 67108864"))
    );
    assert_eq!(disk.image().hash(), before);
    let sb = read_super_block(&disk).unwrap();
    let mut wrong = disk.clone();
    for pack in [1, 2] {
        wrong.write(Lba((sb.checkpoint_addr(pack).0).into()), &[0; 4096]).unwrap();
    }
    assert!(planned(&wrong, 100 * MIB).is_err());
}

/// Linux takes volumes that grew and shrank, and one whose tables stand where they stand for a while only.
#[test]
fn linux_mounts_resized_volumes() {
    let Some(machine) = Machine::for_test() else { return };
    let small = made(64 * MIB, &Shape::PLAIN, 8 * MIB);
    let grown = on_disk_of(&small.image(), 1100 * MIB);
    resized(&grown, 1100 * MIB);
    let mut between = on_disk_of(&small.image(), 1100 * MIB);
    let mut supers = 0;
    for event in &grown.log().events {
        let Event::Write { first, pages, .. } = event else { continue };
        for (block, page) in (*first as u64..).zip(pages) {
            between.write(Lba(block), page).unwrap();
        }
        supers += u32::from(*first == 1);
        // The second time they say of tables that stand further on.
        if supers == 2 {
            break;
        }
    }
    let starts = [&grown, &between].map(|disk| read_super_block(disk).unwrap().checkpoint_addr(1).0);
    assert!(starts[1] > starts[0], "{starts:?}");
    let shrunk = on_disk_of(&grown.image(), 1100 * MIB);
    resized(&shrunk, 100 * MIB);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut guest = f2fs::guest(&machine).unwrap();
    let paths = ["vda", "vdb", "vdc"].map(|name| (name, dir.path().join(name)));
    let mut script = "set -e\n".to_owned();
    for ((name, path), (disk, bytes)) in paths.iter().zip([(grown, 1100), (between, 1100), (shrunk, 100)]) {
        save(&on_disk_of(&disk.image(), bytes * MIB), path);
        guest.add_disk(path);
        let work = "cat 'dir 1'/* | wc -c; dd if=/dev/zero of=new bs=1M count=20 2>&1; sync; rm new";
        writeln!(script, "mount -t f2fs /dev/{name} /mnt; cd /mnt; {work}; cd /; umount /mnt").unwrap();
    }
    let told = guest.run(&script).unwrap().good().unwrap();
    let sums: Vec<u64> = told.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(sums.len() == 3 && sums.iter().all(|sum| *sum == sums[0] && *sum > MIB), "{told}");
    for (_, path) in &paths {
        let report =
            check(vec![Box::new(FileDisk::open(path, 4096, true).unwrap())], 2, &mut |_, _| ()).unwrap();
        assert_eq!(report.findings, []);
    }
}
