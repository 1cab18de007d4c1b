//! The verbs on F2FS, on an image that f2fs-tools made from a tree of the host.
//!
//! Where f2fs-tools are not installed the tests say so on stderr and pass.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod common;

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use common::World;

fn done(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A tree with a little of everything, in `tree`, and an image of it.
fn image() -> Option<World> {
    let world = World::new();
    let tree = world.path("tree");
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    for number in 0..300 {
        fs::write(tree.join(format!("deep/file-{number}")), format!("content {number}\n").repeat(number))
            .unwrap();
    }
    fs::write(tree.join("deep/er/big"), vec![0x5a; 5_000_000]).unwrap();
    let sparse = File::create(tree.join("sparse")).unwrap();
    sparse.write_all_at(b"middle", 3_000_000).unwrap();
    sparse.set_len(6_000_000).unwrap();
    symlink("deep/er", tree.join("link")).unwrap();
    fs::set_permissions(tree.join("sparse"), fs::Permissions::from_mode(0o4750)).unwrap();
    File::create(world.path("disk")).unwrap().set_len(96 << 20).unwrap();
    if !done(Command::new("mkfs.f2fs").arg("-q").arg(world.path("disk"))) {
        eprintln!("SKIPPED: mkfs.f2fs of f2fs-tools cannot be run, so nothing was tested");
        return None;
    }
    assert!(done(Command::new("sload.f2fs").arg("-f").arg(&tree).arg(world.path("disk"))));
    Some(world)
}

#[track_caller]
fn same_trees(one: &Path, other: &Path) {
    let output = Command::new("diff").arg("-r").args([one, other]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn json(world: &World, line: &str) -> serde_json::Value {
    serde_json::from_str(&world.say(line).good()).unwrap()
}

#[test]
fn a_tree_is_listed_and_printed() {
    let Some(world) = image() else { return };
    assert_eq!(world.say("ls disk").good(), "deep\nlink\nsparse\n");
    assert_eq!(world.say("cat disk /deep/file-2").good(), "content 2\ncontent 2\n");
    assert!(world.say("tree disk").good().contains("link -> deep/er"));
    assert_eq!(world.say("find disk --name file-29? --type f").good().lines().count(), 10);
    let stat = json(&world, "stat --json disk /sparse");
    assert_eq!(
        (stat["files"][0]["mode_octal"].as_str(), stat["files"][0]["size_bytes"].as_u64()),
        (Some("4750"), Some(6_000_000))
    );
    assert_eq!(json(&world, "info --json disk")["file_system"], "f2fs");
    assert!(world.say("df disk").good().contains('%'));
}

#[test]
fn a_tree_comes_out_as_it_went_in() {
    let Some(world) = image() else { return };
    world.say("get disk / out").good();
    same_trees(&world.path("tree"), &world.path("out"));
    let mode = fs::metadata(world.path("out/sparse")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o4750);
    let archive = File::create(world.path("archive")).unwrap();
    assert!(world.command().args(["tar", "disk"]).stdout(archive).status().unwrap().success());
    fs::create_dir(world.path("unpacked")).unwrap();
    let tar =
        Command::new("tar").args(["-xf", "archive", "-C", "unpacked"]).current_dir(world.path("")).status();
    assert!(tar.unwrap().success());
    same_trees(&world.path("tree"), &world.path("unpacked"));
}

#[test]
fn a_block_is_found_and_its_owner_named() {
    let Some(world) = image() else { return };
    let map = json(&world, "map --json disk /deep/er/big");
    let extents = map["extents"].as_array().unwrap();
    let length: u64 = extents.iter().map(|extent| extent["length_bytes"].as_u64().unwrap()).sum();
    assert_eq!(length, 5_001_216, "whole blocks");
    let block = extents[0]["block"].as_u64().unwrap();
    let owner = json(&world, &format!("whois --json disk {}", block + 7));
    assert_eq!(owner["path"], "/deep/er/big");
    assert_eq!((owner["live"].as_bool(), owner["offset_bytes"].as_u64()), (Some(true), Some(7 * 4096)));
    assert_eq!(json(&world, "whois --json disk 0")["area"], "super block");
}

#[test]
fn structures_are_shown() {
    let Some(world) = image() else { return };
    assert_eq!(json(&world, "dump --json disk sb")["block_bytes"], 4096);
    assert!(json(&world, "dump --json disk cp")["valid_inodes"].as_u64().unwrap() > 300);
    assert_eq!(json(&world, "dump --json disk nat 3")["entries"][0]["inode"], 3);
    assert!(json(&world, "dump --json disk node 3")["inode"]["links"].as_u64().unwrap() > 2);
    assert!(world.say("dump disk sit 0 3").good().lines().count() >= 3);
    assert!(world.say("dump disk ssa 0").good().contains("slot"));
    assert!(world.say("dump disk dentry /deep").good().contains("name file-7"));
}

#[test]
fn nothing_is_written_and_what_cannot_be_is_said() {
    let Some(world) = image() else { return };
    let before = fs::read(world.path("disk")).unwrap();
    world.say("rm disk /sparse").bad(1, &["read-only"]);
    world.say("cat disk /nowhere").bad(1, &["/nowhere", "no such file"]);
    world.say("map disk /nowhere").bad(1, &["/nowhere"]);
    assert!(before == fs::read(world.path("disk")).unwrap());
    let image = World::formatted();
    image.say("whois image 1").bad(1, &["not F2FS"]);
}

#[test]
fn a_mount_shows_the_same_tree() {
    let Some(world) = image() else { return };
    if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("SKIPPED: /dev/fuse cannot be opened, so nothing was tested");
        return;
    }
    fs::create_dir(world.path("dir")).unwrap();
    world.say("mount --daemon disk dir").good();
    let compared =
        Command::new("diff").arg("-r").args([world.path("tree"), world.path("dir")]).output().unwrap();
    let written = fs::write(world.path("dir/new"), b"x");
    // The volume may still be busy for a moment.
    for _ in 0..50 {
        if done(Command::new("umount").arg(world.path("dir"))) {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stdout));
    assert!(written.is_err_and(|error| error.raw_os_error() == Some(30)), "read-only file system");
}
