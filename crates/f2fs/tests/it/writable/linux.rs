//! Volumes that Linux made, changed here: untouched files stay, and no check finds anything.

use std::{collections::BTreeMap, path::Path, process::Command};

use pumice_f2fs::{Error, F2fs, MountOptions, WritableF2fs, WritableOptions, crypt::Keyring};
use pumice_media::ReadAt;
use pumice_vfs::{
    Errno, FileKind, FileSystem, Ino, RenameMode, SetAttr, Timestamp, XattrMode, conformance::TestClock,
};

use super::{
    disk::SharedDisk,
    subject::{node, ours, theirs},
};
use crate::common::{
    manifest::{Record, differences},
    walk,
};

/// A volume of this repository, in memory.
pub(crate) fn golden(name: &str, block_bytes: u32) -> SharedDisk {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/images/{name}.img.zst"));
    let mut zstd = Command::new("zstd");
    let output = zstd.args(["-dcq", "--long=27"]).arg(path).output().expect("zstd is installed");
    assert!(output.status.success(), "{name}");
    SharedDisk::of(block_bytes, output.stdout)
}

pub(crate) fn open(disk: &SharedDisk) -> Result<WritableF2fs, Error> {
    let options = WritableOptions { cache_bytes: 1 << 20, ..WritableOptions::new(TestClock::new().clock()) };
    WritableF2fs::mount(Box::new(disk.clone()), options)
}

fn shown(disk: &SharedDisk, recover: Option<Timestamp>) -> BTreeMap<String, Record> {
    let disks: Vec<Box<dyn ReadAt>> = vec![Box::new(disk.clone())];
    let options = MountOptions { cache_bytes: 1 << 20, keys: Keyring::default(), recover };
    walk::records(&F2fs::mount(disks, options).unwrap())
}

/// The files there, but for those of [`exercise`] and its directory.
fn untouched(disk: &SharedDisk) -> BTreeMap<String, Record> {
    shown(disk, None).into_iter().filter(|(path, _)| path != "." && !path.starts_with("pumice-")).collect()
}

/// Every sort of change; false if there was no room for all of them.
pub(crate) fn exercise(fs: &dyn FileSystem, round: u8) -> bool {
    let done = changes(fs, round);
    match done {
        Ok(()) => true,
        Err(error) if error.errno() == Errno::NoSpace => false,
        Err(error) => panic!("{error}"),
    }
}

fn changes(fs: &dyn FileSystem, round: u8) -> pumice_vfs::Result<()> {
    let dir = fs.create(Ino::ROOT, format!("pumice-{round}").as_bytes(), &node(FileKind::Dir))?.ino;
    for number in 0..300_u32 {
        let name = format!("a longer name of file {number}");
        let file = fs.create(dir, name.as_bytes(), &node(FileKind::File))?.ino;
        fs.write(file, u64::from(number % 7) * 1000, &vec![round; number as usize * 40])?;
        if number % 5 == 0 {
            fs.set_xattr(file, b"user.pumice", &vec![round; number as usize], XattrMode::Either)?;
        }
    }
    for number in (0..300_u32).step_by(3) {
        let name = format!("a longer name of file {number}");
        match number % 4 {
            0 => fs.unlink(dir, name.as_bytes())?,
            1 => fs.rename(dir, name.as_bytes(), Ino::ROOT, b"pumice-moved", RenameMode::Replace)?,
            2 => {
                let file = fs.lookup(dir, name.as_bytes())?.ino;
                fs.set_attr(file, &SetAttr { size: Some(100), ..SetAttr::default() })?;
            }
            _ => {
                let file = fs.lookup(dir, name.as_bytes())?.ino;
                fs.link(file, dir, format!("again {number}").as_bytes())?;
            }
        }
    }
    let large = fs.create(dir, b"large.mp3", &node(FileKind::File))?.ino;
    for at in 0..6 {
        fs.write(large, at * 900_000, &vec![round; 300_000])?;
    }
    Ok(())
}

#[track_caller]
fn changed(name: &str, block_bytes: u32) {
    let disk = golden(name, block_bytes);
    let before = untouched(&disk);
    for round in 0..3 {
        let fs = open(&disk).unwrap_or_else(|error| panic!("{name}: {error}"));
        exercise(&fs, round);
        fs.unmount().unwrap();
        ours(&disk);
        let after = untouched(&disk);
        let lines = differences(&after, &before);
        assert!(lines.is_empty(), "{name}: {} differ: {:#?}", lines.len(), &lines[..lines.len().min(9)]);
    }
    if block_bytes == 4096 {
        theirs(&disk);
    }
}

#[test]
fn plain() {
    changed("basic", 4096);
}

#[test]
fn fragmented() {
    changed("fragmented", 4096);
}

#[test]
fn full() {
    changed("full", 4096);
}

#[test]
fn quota() {
    changed("quota", 4096);
}

#[test]
fn xattrs() {
    changed("xattrs", 4096);
}

#[test]
fn casefold() {
    changed("casefold", 4096);
}

#[test]
fn encrypted() {
    changed("encrypt", 4096);
}

#[test]
fn sealed() {
    changed("verity", 4096);
}

#[test]
fn compressed() {
    changed("compress", 4096);
}

/// Promises of Linux before a crash are a part of the volume as soon as it is opened, as the kernel would show it.
#[track_caller]
fn recovered(name: &str) {
    let disk = golden(name, 4096);
    let wanted = shown(&disk, Some(Timestamp::default()));
    let fs = open(&disk).unwrap_or_else(|error| panic!("{name}: {error}"));
    drop(fs);
    for (way, round) in [("rolled forward", 1), ("written to", 2)] {
        ours(&disk);
        let found = shown(&disk, None);
        let mut lines = differences(&found, &wanted);
        // Directories changed when they were rolled forward, and have no blocks before they are written to.
        lines.retain(|line| {
            !["mtime", "ctime", "pumice-", ".: nlink", ".: size", ".: blocks"]
                .iter()
                .any(|word| line.contains(word))
        });
        assert!(lines.is_empty(), "{name}, {way}: {lines:#?}");
        let fs = open(&disk).unwrap();
        exercise(&fs, round);
        fs.unmount().unwrap();
    }
    theirs(&disk);
}

#[test]
fn crashed() {
    recovered("crash-fsync");
    recovered("crash-orphan");
}

#[test]
fn larger_blocks() {
    changed("blocks-8k", 8192);
    changed("blocks-16k", 16384);
    changed("packed-ssa", 16384);
}

/// Volumes that cannot be written to are refused, and nothing changes.
#[test]
fn refused() {
    let disk = golden("zoned", 4096);
    let error = open(&disk).err().unwrap();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("blkzoned"), "{error}");
    assert!(disk.bytes_now() == golden("zoned", 4096).bytes_now());
}
