//! Volumes that were changed here, in Linux. It reads our files, writes, has its cleaner move everything, which
//! believes the summaries, and reads it again; then we look at the result. Our cleaner moves everything, too, before each
//! boot.

mod moved;

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs::{self, File},
    os::unix::fs::FileExt,
    sync::Arc,
};

use moved::move_all;
use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring, read_super_block};
use pumice_knobs::{F2FS_LINUX_PACE, F2FS_MOVED, F2FS_ROLLED};
use pumice_media::ReadAt;
use pumice_vfs::{FileSystem, Ino, Timestamp, conformance::TestClock};
use xtask::{Machine, f2fs};

use super::{
    compressed::SHAPE,
    crash,
    disk::{SharedDisk, save},
    linux::{exercise, golden, open},
    lives::empty,
    power::Image,
    subject::{Card, Shape, ours, sound, volume},
};
use crate::common::{
    manifest::{Record, differences, parse},
    walk,
};

const EXERCISE: &str = "
trap 'dmesg | grep F2FS-fs | tee /host/dmesg' EXIT
change() {
    dd if=/dev/urandom of=$1 bs=1000 seek=77 count=33 conv=notrunc
    dd if=/dev/zero of=$1 bs=4096 seek=400 count=64 conv=notrunc
    truncate -s 3000001 $1
    cat /bin/sh >>$1
}
exercise() {
    mount -t f2fs -o noatime $1 /mnt
    guest-manifest /mnt >/host/$2.before
    if [ $2 = compressed ]; then change /mnt/pumice-0/large.mp3; fi
    mkdir /mnt/new
    i=0
    while [ $i -lt 40 ]; do echo $i >/mnt/new/$i; i=$((i + 1)); done
    rm -r /mnt/new/1*
    sync
    guest-control clean /mnt $3 $4 $5 >/host/$2.cleaned
    sync
    umount /mnt
    mount -t f2fs -o noatime $1 /mnt
    rm -r /mnt/new
    guest-manifest /mnt >/host/$2.after
    umount /mnt
}
";

/// A volume changed as often as leaves room for Linux's writes.
fn changed(name: &str) -> SharedDisk {
    let (disk, rounds) = match name {
        "ours" => {
            let features = &["extra_attr", "inode_checksum", "inode_crtime", "quota_ino", "project_quota"];
            let mut card = Card::new(128 << 20, &Shape { features, ..Shape::default() });
            card.close();
            (card.disk().clone(), 4)
        }
        "compressed" => {
            let mut card = Card::new(128 << 20, &SHAPE);
            for round in 0..4 {
                exercise(card.fs(), round);
                card.close();
            }
            (card.disk().clone(), 0)
        }
        "cleaned" => (SharedDisk::of(4096, crash::nearly_full(1, 72 << 20, 60).bytes_now()), 1),
        name => (golden(name, 4096), 2),
    };
    for round in 0..rounds {
        let fs = open(&disk).unwrap();
        exercise(&fs, round);
        fs.unmount().unwrap();
    }
    disk
}

/// Bytes of a volume that lost power, and how many of them one boot of the machine looks at.
const CRASHED_BYTES: usize = 64 << 20;
const BATCH: usize = 100;

/// Rolls forward $count volumes of $bytes bytes each, which stand one behind the other in /dev/vda, and lists the files
/// then.
const ROLL: &str = "
modprobe loop
i=0
while [ $i -lt $count ]; do
    losetup -o $((i * bytes)) --sizelimit $bytes /dev/loop0 /dev/vda
    mount -t f2fs -o noatime /dev/loop0 /mnt
    guest-manifest /mnt >/host/$i.shown
    umount /mnt
    losetup -d /dev/loop0
    i=$((i + 1))
done
";

/// States of each workload.
const SAMPLES: usize = 4;

/// A volume that lost power, its origin, and its files.
struct Crashed {
    what: String,
    image: Image,
    shown: BTreeMap<String, Record>,
    is_rolled: bool,
}

/// A few states of each workload from a seed on, without end.
fn crashed_volumes(first: u64) -> impl Iterator<Item = Crashed> {
    (first..).flat_map(|seed| {
        F2FS_ROLLED.begin(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let images = crash::run(seed, 60, 500_000).samples(SAMPLES, &mut random);
        images.into_iter().enumerate().map(move |(at, image)| {
            let recover = Some(Timestamp::default());
            let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover };
            let fs = F2fs::mount(vec![Box::new(Arc::new(image.clone()))], options).unwrap();
            let is_rolled = fs.recovery().inodes > 0;
            Crashed { what: format!("seed {seed}, state {at}"), image, shown: walk::records(&fs), is_rolled }
        })
    })
}

/// Volumes that lost power: Linux rolls forward what we do.
#[test]
fn linux_rolls_forward_as_we_do() {
    let Some(machine) = Machine::for_test() else { return };
    let (first, count) = (F2FS_ROLLED.first_seed(1), F2FS_ROLLED.count().unwrap_or(4));
    let count = usize::try_from(count).unwrap();
    let (mut volumes, mut left, mut rolled) = (crashed_volumes(first), count, 0);
    while left > 0 {
        let batch: Vec<Crashed> = volumes.by_ref().take(left.min(BATCH)).collect();
        left -= batch.len();
        rolled += batch.iter().filter(|crashed| crashed.is_rolled).count();
        roll(&machine, &batch);
        eprintln!("{} of {count} volumes; {rolled} had something to roll forward", count - left);
    }
    F2FS_ROLLED.ran(first..first + count.div_ceil(SAMPLES) as u64, count as u64);
    assert!(rolled > 0 || !F2FS_ROLLED.is_usual(), "there was nothing to roll forward");
}

fn roll(machine: &Machine, batch: &[Crashed]) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("volumes");
    let disk = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    disk.set_len((CRASHED_BYTES * batch.len()) as u64).unwrap();
    for (crashed, start) in batch.iter().zip((0..).step_by(CRASHED_BYTES)) {
        assert_eq!(crashed.image.bytes(), CRASHED_BYTES as u64);
        crashed.image.each_page(|at, page| disk.write_all_at(page, start + at).unwrap());
    }
    let script = format!("count={}\nbytes={CRASHED_BYTES}\n{ROLL}", batch.len());
    let run = f2fs::run_in_kernel(machine, &[path], &script).unwrap();
    for (crashed, number) in batch.iter().zip(0_u64..) {
        let kernel = parse(&run.file(&format!("{number}.shown")).unwrap());
        let mut lines = differences(&crashed.shown, &kernel);
        // Directories that gained a name changed when it was rolled forward.
        lines.retain(|line| !(line.contains("time is") && is_dir(&kernel, line)));
        assert!(lines.is_empty(), "{}: {lines:#?}", crashed.what);
        let mut bytes = vec![0; CRASHED_BYTES];
        disk.read_exact_at(&mut bytes, number * CRASHED_BYTES as u64).unwrap();
        ours(&SharedDisk::of(4096, bytes));
    }
}

/// The files there.
fn shown(disk: &SharedDisk) -> BTreeMap<String, Record> {
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
    walk::records(&F2fs::mount(vec![Box::new(disk.clone())], options).unwrap())
}

/// True if a line is about a directory.
fn is_dir(records: &BTreeMap<String, Record>, line: &str) -> bool {
    let path = line.split(": ").next().unwrap();
    records.get(path).is_some_and(|record| record.0["type"] == "dir")
}

#[test]
fn linux_takes_what_was_changed_here() {
    linux_takes(&["ours", "fragmented", "cleaned"]);
}

#[test]
fn linux_takes_what_was_compressed_here() {
    linux_takes(&["compressed"]);
}

/// Moves every section of volumes and has Linux change them, as many rounds as are asked for.
fn linux_takes(names: &[&str]) {
    let Some(machine) = Machine::for_test() else { return };
    let mut disks: Vec<SharedDisk> = names.iter().map(|name| changed(name)).collect();
    let seeds = F2FS_MOVED.seeds(1..2);
    F2FS_MOVED.begin(seeds.start);
    let mut sections = 0;
    for (round, seed) in (0..200_u8).cycle().zip(seeds.clone()) {
        for (name, disk) in names.iter().zip(&mut disks) {
            let (moved, count) = move_all(disk, seed);
            sections += count;
            sound_but(name, &moved);
            *disk = moved;
        }
        let cleaned = in_linux(&machine, names, &mut disks);
        // Later it may find nothing to clean.
        if seed == seeds.start {
            for (name, cleaned) in names.iter().zip(cleaned) {
                // Logs stand in nearly all that is used of the smaller volumes, and are left alone.
                let least = if *name == "ours" { 2 } else { 1 };
                assert!(cleaned >= least, "{name}: {cleaned} sections were cleaned");
            }
        }
        // And on it goes, with a directory in place of older ones.
        for (name, disk) in names.iter().zip(&disks) {
            let fs = open(disk).unwrap();
            // Linux changes a file of the first one where it compresses.
            for older in u8::from(*name == "compressed")..round + 7 {
                let older = format!("pumice-{older}");
                if let Ok(attr) = fs.lookup(Ino::ROOT, older.as_bytes()) {
                    empty(&fs, attr.ino);
                    fs.rmdir(Ino::ROOT, older.as_bytes()).unwrap();
                }
            }
            exercise(&fs, round + 7);
            fs.unmount().unwrap();
            sound_but(name, disk);
        }
        eprintln!("{names:?}, seed {seed}: {sections} sections were moved so far");
    }
    F2FS_MOVED.ran(seeds.clone(), (seeds.end - seeds.start) * names.len() as u64);
}

/// Neither check finds anything, but for what f2fs-tools say of compressed files.
fn sound_but(name: &str, disk: &SharedDisk) {
    if name == "compressed" { ours(disk) } else { sound(disk) }
}

/// Has Linux read and change volumes, and looks at what it found and left: the sections that it cleaned in each.
fn in_linux(machine: &Machine, names: &[&str], disks: &mut [SharedDisk]) -> Vec<u64> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut script = EXERCISE.to_owned();
    let (mut images, mut before) = (Vec::new(), Vec::new());
    for ((name, disk), letter) in names.iter().zip(&*disks).zip('a'..) {
        let path = dir.path().join(name);
        save(disk, &path);
        let sb = read_super_block(disk).unwrap();
        let step = sb.raw().segs_per_sec.get() * 512;
        let (start, end) = (sb.main_start().0, sb.main_end());
        writeln!(script, "exercise /dev/vd{letter} {name} {start} {end} {step}").unwrap();
        before.push(shown(disk));
        images.push(path);
    }
    let run = f2fs::run_in_kernel(machine, &images, &script).unwrap();
    for (((path, name), ours_before), disk) in images.iter().zip(names).zip(before).zip(disks) {
        *disk = SharedDisk::of(4096, fs::read(path).unwrap());
        agrees(&run, name, &ours_before, disk);
    }
    let told = run.file("dmesg").unwrap();
    let is_usual = |line: &&str| line.contains("Mounted with") || line.contains("Found nat_bits");
    let warnings: Vec<&str> = told.lines().filter(|line| !is_usual(line)).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    let cleaned = |name: &&str| run.file(&format!("{name}.cleaned")).unwrap().trim().parse().unwrap();
    names.iter().map(cleaned).collect()
}

/// Linux found our files, and we find those that it left.
fn agrees(run: &f2fs::Run, name: &str, ours_before: &BTreeMap<String, Record>, disk: &SharedDisk) {
    let mut kernel = parse(&run.file(&format!("{name}.before")).unwrap());
    let mut after = parse(&run.file(&format!("{name}.after")).unwrap());
    let lines = differences(ours_before, &kernel);
    assert!(lines.is_empty(), "{name}: {:#?}", &lines[..lines.len().min(20)]);
    let lines = differences(&shown(disk), &after);
    assert!(lines.is_empty(), "{name}, from Linux: {:#?}", &lines[..lines.len().min(20)]);
    // Something was made in the root, and a compressed file changed.
    for records in [&mut kernel, &mut after] {
        records.remove(".");
        if name == "compressed" {
            assert!(records.remove("pumice-0/large.mp3").is_some());
        }
    }
    let lines = differences(&after, &kernel);
    assert!(lines.is_empty(), "{name}: {:#?}", &lines[..lines.len().min(20)]);
    sound_but(name, disk);
}

/// The most that one call of Linux writes on a volume of 1 GiB, 85 % full: see `figures`. `PUMICE_F2FS_LINUX_PACE=10000` runs it, with so
/// many rounds; it takes minutes.
#[test]
fn most_that_one_call_of_linux_writes() {
    let rounds = F2FS_LINUX_PACE.number().unwrap_or(0);
    let Some(machine) = Machine::for_test().filter(|_| rounds > 0) else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("volume");
    let base = volume(1 << 30, &Shape::default(), &TestClock::new());
    let disk = File::create(&path).unwrap();
    disk.set_len(base.bytes()).unwrap();
    base.each_page(|at, page| disk.write_all_at(page, at).unwrap());
    let script = format!(
        "mount -t f2fs -o noatime /dev/vda /mnt
echo 0 >/sys/fs/f2fs/vda/ipu_policy
guest-control pace /mnt /sys/block/vda/stat {rounds} >/host/pace
umount /mnt"
    );
    let run = f2fs::run_in_kernel(&machine, &[path], &script).unwrap();
    let said = run.file("pace").unwrap();
    let blocks: Vec<u64> = said.split_whitespace().map(|word| word.parse::<u64>().unwrap() / 8).collect();
    eprintln!("Linux, {rounds} rounds: {} blocks at most by one call, {} in all", blocks[0], blocks[1]);
    assert!(blocks[0] > 0);
}
