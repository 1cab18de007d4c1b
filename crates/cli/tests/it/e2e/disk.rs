//! Other file systems on a logical disk: ext4, mounted by the kernel through a loop device, and FAT, each made and
//! checked by its own tools.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::mount::UnmountFlags;

use super::{
    mounting::{Bench, run, said},
    source::Source,
    walk,
};
use crate::common::patience::unmount;

/// A logical disk, mounted as a file, and a place to mount its file system.
struct Disk {
    bench: Bench,
    is_mounted: bool,
}

impl Disk {
    fn new(words: &[&str]) -> Option<Disk> {
        let disk = Disk { bench: Bench::of_disk(words)?, is_mounted: false };
        std::fs::create_dir(disk.place()).unwrap();
        Some(disk)
    }

    /// The disk's file.
    fn file(&self) -> PathBuf {
        self.bench.inside("disk")
    }

    /// The place where its file system is mounted.
    fn place(&self) -> PathBuf {
        self.bench.path("fs")
    }

    fn mount(&mut self, kind: &str) {
        run(Command::new("mount").args(["-o", "loop", "-t", kind]).arg(self.file()).arg(self.place()));
        self.is_mounted = true;
    }

    fn unmount(&mut self) {
        // The loop device goes with it.
        unmount(&self.place());
        self.is_mounted = false;
    }

    /// Kills the server under a mounted file system.
    fn kill(&mut self) {
        self.bench.kill();
        // The kernel's unwritten blocks have nowhere to go.
        let _ = rustix::mount::unmount(self.place(), UnmountFlags::DETACH);
        self.is_mounted = false;
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = rustix::mount::unmount(self.place(), UnmountFlags::DETACH);
        }
    }
}

fn tool(name: &str, words: &[&str], file: &Path) -> std::process::Output {
    let mut command = Command::new(name);
    command.args(words).arg(file).output().unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[track_caller]
fn must(name: &str, words: &[&str], file: &Path) {
    let output = tool(name, words, file);
    assert!(output.status.success(), "{name} {words:?}: {}", said(&output));
}

/// A made tree and a copy of it on the disk.
struct Copied {
    source: Source,
    wanted: walk::Tree,
    _ground: tempfile::TempDir,
}

impl Copied {
    fn to(place: &Path) -> Copied {
        let ground = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let source = Source::made(ground.path());
        source.copy_to(place);
        let wanted = walk::tree(&source.root, &source.names);
        Copied { source, wanted, _ground: ground }
    }

    #[track_caller]
    fn compare(&self, place: &Path) {
        self.source.diff(place);
        walk::assert_same(&self.wanted, &walk::tree(place, &self.source.names));
    }
}

#[test]
fn ext4_keeps_a_tree() {
    let Some(mut disk) = Disk::new(&["--chip", "slc-2k-2g", "--size", "96M"]) else { return };
    disk.bench.mount_disk();
    must("mkfs.ext4", &["-q", "-F", "-b", "4096"], &disk.file());
    disk.mount("ext4");
    let copied = Copied::to(&disk.place());
    disk.unmount();
    must("e2fsck", &["-f", "-n"], &disk.file());
    disk.bench.unmount();
    disk.bench.mount_disk();
    must("e2fsck", &["-f", "-n"], &disk.file());
    disk.mount("ext4");
    copied.compare(&disk.place());
    disk.unmount();
    disk.bench.unmount();
}

/// The disk is filled and overwritten on a chip with four spare bytes a page, and a busy cleaner.
#[test]
fn ext4_survives_a_cleaner_at_work() {
    let words = ["--chip", "spinand-1g", "--size", "24M", "--victim", "cat", "--placement", "m6"];
    let Some(mut disk) = Disk::new(&words) else { return };
    disk.bench.mount_disk();
    must("mkfs.ext4", &["-q", "-F", "-O", "^has_journal"], &disk.file());
    disk.mount("ext4");
    let mut expected = Vec::new();
    for round in 0..12_u8 {
        for name in 0..6 {
            let path = disk.place().join(format!("file{name}"));
            let bytes = vec![round ^ name; 2_300_000];
            std::fs::write(&path, &bytes).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
            expected.retain(|(known, _)| *known != path);
            expected.push((path, bytes));
        }
    }
    disk.unmount();
    must("e2fsck", &["-f", "-n"], &disk.file());
    disk.bench.unmount();
    let info = disk.bench.pumice(&["ftl", "info", "--json", "image"]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let erasures = info["erasures"].as_u64().unwrap();
    assert!(erasures > 4 * info["segments"].as_u64().unwrap(), "little was cleaned: {info}");
    disk.bench.mount_disk();
    disk.mount("ext4");
    for (path, bytes) in expected {
        assert!(std::fs::read(&path).unwrap() == bytes, "{}", path.display());
    }
    disk.unmount();
    disk.bench.unmount();
}

#[test]
fn ext4_recovers_from_a_kill() {
    let Some(mut disk) = Disk::new(&["--chip", "slc-2k-2g", "--size", "96M"]) else { return };
    disk.bench.mount_disk();
    must("mkfs.ext4", &["-q", "-F", "-b", "4096"], &disk.file());
    disk.mount("ext4");
    let copied = Copied::to(&disk.place());
    run(Command::new("sync").arg("-f").arg(disk.place()));
    let late = disk.place().join("late");
    std::fs::write(&late, vec![0x5a; 300_000]).unwrap();
    File::open(&late).unwrap().sync_all().unwrap();
    std::fs::write(disk.place().join("unsynced"), vec![0x33; 3_000_000]).unwrap();
    disk.kill();
    disk.bench.mount_disk();
    // It repairs (1), or the journal was enough (0).
    let repaired = tool("e2fsck", &["-f", "-y"], &disk.file());
    assert!(matches!(repaired.status.code(), Some(0 | 1)), "{}", said(&repaired));
    must("e2fsck", &["-f", "-n"], &disk.file());
    disk.mount("ext4");
    copied.compare(&disk.place());
    assert!(std::fs::read(&late).unwrap() == vec![0x5a; 300_000]);
    disk.unmount();
    disk.bench.unmount();
}

/// The test uses mtools, which read and write FAT themselves: not every kernel knows it.
#[test]
fn fat_keeps_a_tree() {
    let Some(mut disk) = Disk::new(&["--chip", "k9s1208", "--block", "2k"]) else { return };
    let mtools = |name: &str, words: &[&str], disk: &Disk| {
        run(Command::new(name).arg("-i").arg(disk.file()).args(words).current_dir(disk.place()));
    };
    disk.bench.mount_disk();
    must("mkfs.vfat", &[], &disk.file());
    for number in 0..40_u8 {
        let path = disk.place().join(format!("tree/dir{}/file {number}.txt", number % 4));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, vec![number; 1000 * usize::from(number) + 1]).unwrap();
    }
    mtools("mcopy", &["-s", "tree", "::"], &disk);
    must("fsck.vfat", &["-n"], &disk.file());
    disk.bench.unmount();
    disk.bench.mount_disk();
    must("fsck.vfat", &["-n"], &disk.file());
    mtools("mcopy", &["-s", "::tree", "back"], &disk);
    run(Command::new("diff").args(["-r", "tree", "back"]).current_dir(disk.place()));
    disk.bench.unmount();
}

/// The disk's file itself: unaligned reads and writes, holes, its end.
#[test]
fn the_file_behaves_as_a_disk() {
    use std::os::unix::fs::FileExt;

    let Some(mut disk) = Disk::new(&["--geometry", "2048+64:16:64"]) else { return };
    disk.bench.mount_disk();
    let file = File::options().read(true).write(true).open(disk.file()).unwrap();
    let size = file.metadata().unwrap().len();
    assert_eq!(size, 420 * 4096);
    file.write_all_at(&[7; 10_000], 1000).unwrap();
    file.sync_all().unwrap();
    let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, punch, 3000, 6000).unwrap();
    let mut wanted = vec![0; 16_384];
    wanted[1000..11_000].fill(7);
    wanted[3000..9000].fill(0);
    drop(file);
    disk.bench.unmount();
    disk.bench.mount_disk();
    let file = File::options().read(true).write(true).open(disk.file()).unwrap();
    let mut found = vec![1; 16_384];
    file.read_exact_at(&mut found, 0).unwrap();
    assert!(found == wanted);
    assert!(file.write_all_at(&[1; 2], size - 1).is_err() && file.set_len(size + 1).is_err());
    assert!(File::create(disk.bench.inside("other")).is_err());
    assert!(std::fs::remove_file(disk.file()).is_err());
    drop(file);
    disk.bench.unmount();
}
