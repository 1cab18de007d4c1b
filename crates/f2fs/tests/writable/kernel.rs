//! Volumes that were changed here, in Linux: it reads what we read, writes, has its cleaner move everything, which believes
//! the summaries, and reads it again; then we look at what it left.

use std::{collections::BTreeMap, fmt::Write, fs};

use pumice_f2fs::{F2fs, MountOptions, crypt::Keyring, read_super_block};
use pumice_vfs::Timestamp;
use xtask::{Machine, f2fs};

use crate::{
    crash::{self, number},
    disk::SharedDisk,
    linux::{exercise, golden, open},
    manifest::{Record, differences, parse},
    subject::{Card, Shape, ours},
    walk,
};

const EXERCISE: &str = "
trap 'dmesg | grep F2FS-fs | tee /host/dmesg' EXIT
exercise() {
    mount -t f2fs -o noatime $1 /mnt
    guest-manifest /mnt >/host/$2.before
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

/// Changed as often as leaves room for what Linux writes.
fn changed(name: &str) -> SharedDisk {
    let (disk, rounds) = match name {
        "ours" => {
            let features = &["extra_attr", "inode_checksum", "inode_crtime", "quota_ino", "project_quota"];
            let mut card = Card::new(128 << 20, &Shape { features, ..Shape::default() });
            card.close();
            (card.disk().clone(), 4)
        }
        "cleaned" => (SharedDisk::of(4096, crash::nearly_full(1, 60).bytes_now()), 1),
        name => (golden(name, 4096), 2),
    };
    for round in 0..rounds {
        let fs = open(&disk).unwrap();
        exercise(&fs, round);
        fs.unmount().unwrap();
    }
    disk
}

/// Volumes that lost power, as many to a machine as it has letters for: Linux rolls forward what we do. `PUMICE_F2FS_CRASHED=N`
/// looks at N of them.
#[test]
fn linux_rolls_forward_as_we_do() {
    const BATCH: usize = 4;
    let Some(machine) = Machine::for_test() else { return };
    let count = usize::try_from(number("PUMICE_F2FS_CRASHED", BATCH as u64)).unwrap();
    let mut rolled = 0;
    for seed in (number("PUMICE_SEED", 1)..).take(count.div_ceil(BATCH)) {
        let recorded = crash::run(seed, 60, 500_000);
        let mut random = fastrand::Rng::with_seed(seed);
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (mut script, mut images, mut wanted) = ("mkdir -p /mnt\n".to_owned(), Vec::new(), Vec::new());
        for (image, letter) in recorded.samples(BATCH, &mut random).into_iter().zip('a'..) {
            let path = dir.path().join(format!("{letter}"));
            let disk = SharedDisk::of(4096, image.bytes_now());
            disk.save(&fs::File::create(&path).unwrap());
            let recover = Some(Timestamp::default());
            let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover };
            let fs = F2fs::mount(vec![Box::new(disk)], options).unwrap();
            rolled += usize::from(fs.recovery().inodes > 0);
            wanted.push(walk::records(&fs));
            images.push(path);
            writeln!(script, "mount -t f2fs -o noatime /dev/vd{letter} /mnt").unwrap();
            writeln!(script, "guest-manifest /mnt >/host/{letter}.shown\numount /mnt").unwrap();
        }
        let run = f2fs::run_in_kernel(&machine, &images, &script).unwrap();
        for (path, wanted) in images.iter().zip(wanted) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let kernel = parse(&run.file(&format!("{name}.shown")).unwrap());
            let mut lines = differences(&wanted, &kernel);
            // Directories that gained a name changed when it was rolled forward.
            lines.retain(|line| !(line.contains("time is") && is_dir(&kernel, line)));
            assert!(lines.is_empty(), "seed {seed}, {name}: {lines:#?}");
            ours(&SharedDisk::of(4096, fs::read(path).unwrap()));
        }
    }
    assert!(rolled > 0, "there was nothing to roll forward");
}

/// True if a line is about a directory.
fn is_dir(records: &BTreeMap<String, Record>, line: &str) -> bool {
    let path = line.split(": ").next().unwrap();
    records.get(path).is_some_and(|record| record.0["type"] == "dir")
}

#[test]
fn linux_takes_what_was_changed_here() {
    let Some(machine) = Machine::for_test() else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut script = EXERCISE.to_owned();
    let (mut images, mut before) = (Vec::new(), Vec::new());
    for (name, letter) in ["ours", "fragmented", "cleaned"].into_iter().zip('a'..) {
        let disk = changed(name);
        let path = dir.path().join(name);
        disk.save(&fs::File::create(&path).unwrap());
        let sb = read_super_block(&disk).unwrap();
        let step = sb.raw().segs_per_sec.get() * 512;
        let (start, end) = (sb.main_start().0, sb.main_end());
        writeln!(script, "exercise /dev/vd{letter} {name} {start} {end} {step}").unwrap();
        let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover: None };
        before.push(walk::records(&F2fs::mount(vec![Box::new(disk)], options).unwrap()));
        images.push(path);
    }
    let run = f2fs::run_in_kernel(&machine, &images, &script).unwrap();
    for (path, ours_before) in images.iter().zip(before) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let kernel = parse(&run.file(&format!("{name}.before")).unwrap());
        let lines = differences(&ours_before, &kernel);
        assert!(lines.is_empty(), "{name}: {:#?}", &lines[..lines.len().min(20)]);
        let (mut kernel, mut after) = (kernel, parse(&run.file(&format!("{name}.after")).unwrap()));
        // Something was made in the root.
        kernel.remove(".");
        after.remove(".");
        let lines = differences(&after, &kernel);
        assert!(lines.is_empty(), "{name}: {:#?}", &lines[..lines.len().min(20)]);
        let cleaned: u64 = run.file(&format!("{name}.cleaned")).unwrap().trim().parse().unwrap();
        // Logs stand in nearly all that is used of the smaller volume, and are left alone.
        let least = if name == "ours" { 2 } else { 1 };
        assert!(cleaned >= least, "{name}: {cleaned} sections were cleaned");
        let disk = SharedDisk::of(4096, fs::read(path).unwrap());
        ours(&disk);
        // And on it goes.
        let fs = open(&disk).unwrap();
        exercise(&fs, 7);
        fs.unmount().unwrap();
        ours(&disk);
    }
    let told = run.file("dmesg").unwrap();
    let is_usual = |line: &&str| line.contains("Mounted with") || line.contains("Found nat_bits");
    let warnings: Vec<&str> = told.lines().filter(|line| !is_usual(line)).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}
