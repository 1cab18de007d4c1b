//! The model, looked at from outside, where the conformance suite does not reach.
#![cfg(feature = "std")]

use pumice_vfs::model::MemFs;
use pumice_vfs::{Errno, FileKind, FileSystem, Ino, NewNode, Seek, SpaceMode, Timestamp};

const FILE: NewNode<'_> = NewNode { kind: FileKind::File, perm: 0o644, uid: 0, gid: 0, rdev: 0, target: b"" };

fn fs(block_bytes: u32, total_bytes: u64) -> MemFs {
    MemFs::with_size(Box::new(Timestamp::default), block_bytes, total_bytes)
}

#[test]
fn space_is_taken_by_block_and_given_back() {
    let fs = fs(512, 4 * 512);
    let free = || fs.space().unwrap().free_bytes;
    let file = fs.create(Ino::ROOT, b"f", &FILE).unwrap().ino;
    fs.write(file, 511, b"ab").unwrap();
    assert_eq!((free(), fs.attr(file).unwrap().allocated), (1024, 1024));
    assert_eq!(fs.write(file, 1024, &[1; 1025]).unwrap_err().errno(), Errno::NoSpace);
    assert_eq!(fs.attr(file).unwrap().size, 513);
    fs.allocate(file, SpaceMode::Reserve { keep_size: true }, 0, 2048).unwrap();
    assert_eq!(free(), 0);
    fs.allocate(file, SpaceMode::PunchHole, 100, 900).unwrap();
    assert_eq!(free(), 0, "neither block is covered whole");
    fs.allocate(file, SpaceMode::PunchHole, 1024, 1024).unwrap();
    assert_eq!(free(), 1024);
    fs.unlink(Ino::ROOT, b"f").unwrap();
    assert_eq!(free(), 2048);
}

#[test]
fn holes_are_reported_by_block() {
    let fs = fs(4096, 1 << 20);
    let file = fs.create(Ino::ROOT, b"f", &FILE).unwrap().ino;
    fs.write(file, 8192, &[1; 4097]).unwrap();
    assert_eq!(fs.seek(file, 5, Seek::Data).unwrap(), 8192);
    assert_eq!(fs.seek(file, 5, Seek::Hole).unwrap(), 5);
    assert_eq!(fs.seek(file, 8200, Seek::Data).unwrap(), 8200);
    assert_eq!(fs.seek(file, 8200, Seek::Hole).unwrap(), 8192 + 4097);
}

#[test]
fn read_only_refuses_changes() {
    let fs = fs(4096, 1 << 20);
    fs.set_read_only(true);
    assert_eq!(fs.create(Ino::ROOT, b"f", &FILE).unwrap_err().errno(), Errno::ReadOnly);
    fs.set_read_only(false);
    fs.create(Ino::ROOT, b"f", &FILE).unwrap();
}

#[test]
fn a_remount_ends_holds() {
    let fs = fs(4096, 1 << 20);
    let file = fs.create(Ino::ROOT, b"f", &FILE).unwrap().ino;
    fs.hold(file).unwrap();
    fs.unlink(Ino::ROOT, b"f").unwrap();
    assert_eq!(fs.attr(file).unwrap().nlink, 0);
    fs.remount();
    assert_eq!(fs.attr(file).unwrap_err().errno(), Errno::Stale);
}
