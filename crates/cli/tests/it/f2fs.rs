//! The verbs on F2FS, on an image that f2fs-tools made from a tree of the host.
//!
//! Where f2fs-tools are not installed the tests say so on stderr and pass.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{World, patience::unmount};

fn done(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A tree with a little of everything, in `tree`.
fn planted() -> World {
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
    world
}

/// A new file of zeros.
fn blank(world: &World, name: &str, bytes: u64) {
    File::create(world.path(name)).unwrap().set_len(bytes).unwrap();
}

/// Formats `disk` with these options and loads the tree into it; false, and a loud line, without f2fs-tools.
fn loaded(world: &World, options: &[&str]) -> bool {
    let mut mkfs = Command::new("mkfs.f2fs");
    mkfs.current_dir(world.path("")).arg("-q").args(options).arg(world.path("disk"));
    if !done(&mut mkfs) {
        eprintln!("SKIPPED: mkfs.f2fs of f2fs-tools cannot be run, so nothing was tested");
        return false;
    }
    let mut sload = Command::new("sload.f2fs");
    sload.current_dir(world.path("")).arg("-f").arg(world.path("tree")).arg(world.path("disk"));
    assert!(done(&mut sload));
    true
}

/// The tree, and an image of it made with these options.
fn image_with(options: &[&str]) -> Option<World> {
    let world = planted();
    blank(&world, "disk", 96 << 20);
    loaded(&world, options).then_some(world)
}

fn image() -> Option<World> {
    image_with(&[])
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
    comes_out(&world, "disk");
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

/// The tree is taken out of the image whole.
#[track_caller]
fn comes_out(world: &World, image: &str) {
    world.say(&format!("get {image} / out")).good();
    same_trees(&world.path("tree"), &world.path("out"));
}

/// The tree on the devices `disk` and `second`, the first too small for it.
fn two_devices() -> Option<World> {
    let world = planted();
    blank(&world, "disk", 24 << 20);
    blank(&world, "second", 64 << 20);
    let second = world.path("second");
    loaded(&world, &["-c", second.to_str().unwrap()]).then_some(world)
}

#[test]
fn a_volume_may_lie_on_two_devices() {
    let Some(world) = two_devices() else { return };
    let devices = &json(&world, "dump --json disk sb")["devices"];
    assert_eq!(devices.as_array().unwrap().len(), 2);
    comes_out(&world, "disk");
    world.say("fsck -n disk").good();
    // Moved together they find each other.
    fs::create_dir(world.path("elsewhere")).unwrap();
    for name in ["disk", "second"] {
        fs::rename(world.path(name), world.path("elsewhere").join(name)).unwrap();
    }
    assert_eq!(world.say("cat elsewhere/disk /deep/file-2").good(), "content 2\ncontent 2\n");
    fs::remove_file(world.path("elsewhere/second")).unwrap();
    let alone = world.say("ls elsewhere/disk");
    assert!(
        alone.err.contains("second") && alone.err.contains("other devices must stand beside"),
        "{alone:?}"
    );
}

/// The contents of the part that is there come out; the rest is counted, and the check refuses it.
#[test]
fn a_device_that_was_cut_is_read_as_far_as_it_goes() {
    let Some(world) = two_devices() else { return };
    File::options().write(true).open(world.path("second")).unwrap().set_len(5 << 20).unwrap();
    let listed = world.say("ls disk");
    assert_eq!((listed.code, listed.out.as_str()), (0, "deep\nlink\nsparse\n"), "{listed:?}");
    assert!(listed.err.contains("second") && listed.err.contains("5242880"), "{listed:?}");
    world.say("fsck -n disk").bad(8, &["second", "5242880"]);
}

#[test]
fn the_second_super_block_does() {
    let Some(world) = image() else { return };
    let disk = File::options().write(true).open(world.path("disk")).unwrap();
    disk.write_all_at(&[0; 4096], 0).unwrap();
    comes_out(&world, "disk");
    assert!(world.say("fsck -n disk").out.contains("super block"), "the check sees that one is broken");
    disk.write_all_at(&[0; 8192], 0).unwrap();
    assert_eq!(world.say("ls disk").code, 1);
}

#[test]
fn a_volume_made_to_be_read_only_is_read() {
    let Some(world) = image_with(&["-O", "ro"]) else { return };
    let features = json(&world, "dump --json disk sb")["features"].to_string();
    assert!(features.contains("\"ro\""), "{features}");
    comes_out(&world, "disk");
    world.say("fsck -n disk").good();
}

/// Cut anywhere an image is read as far as it goes, with a word that says how long it is and should be; the check
/// refuses it.
#[test]
fn a_truncated_image_is_read_as_far_as_it_goes() {
    let Some(world) = image() else { return };
    let disk = File::options().write(true).open(world.path("disk")).unwrap();
    let mut files = usize::MAX;
    for bytes in [(96 << 20) - 4096_u64, 50 << 20, 1 << 20, 8192] {
        disk.set_len(bytes).unwrap();
        let got = world.say("get disk / out");
        assert!(got.err.contains(&bytes.to_string()), "{got:?}");
        let found = if world.path("out").exists() { files_below(&world.path("out")) } else { 0 };
        assert!(found <= files, "{bytes} bytes: {found} files");
        // Missing files are told, a line for each.
        assert_eq!(got.code, i32::from(got.err.lines().count() > 1 || found == 0), "{bytes} bytes: {got:?}");
        files = found;
        let _ = fs::remove_dir_all(world.path("out"));
        assert_ne!(world.say("fsck -n disk").code, 0, "{bytes} bytes");
    }
    assert_eq!(files, 0);
    for bytes in [4096, 1024, 1, 0] {
        disk.set_len(bytes).unwrap();
        assert_eq!(world.say("ls disk").code, 1, "{bytes} bytes");
    }
}

fn files_below(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() && !path.is_symlink() { files_below(&path) } else { 1 }).sum()
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
    world.say("rm --dry-run disk /sparse").good();
    world.say("cat disk /nowhere").bad(1, &["/nowhere", "no such file"]);
    world.say("map disk /nowhere").bad(1, &["/nowhere"]);
    assert!(before == fs::read(world.path("disk")).unwrap());
    let image = World::formatted();
    image.say("whois image 1").bad(1, &["not F2FS"]);
}

#[test]
fn a_mount_shows_the_same_tree() {
    let Some(world) = image() else { return };
    if !can_mount() {
        return;
    }
    let (compared, written) = mounted(&world, "mount --daemon -o ro disk dir", || {
        let compared = Command::new("diff").arg("-r").args([world.path("tree"), world.path("dir")]).output();
        (compared.unwrap(), fs::write(world.path("dir/new"), b"x"))
    });
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stdout));
    assert!(written.is_err_and(|error| error.raw_os_error() == Some(30)), "read-only file system");
}

/// The result of `look` while `dir` is mounted.
pub(crate) fn mounted<T>(world: &World, mount: &str, look: impl FnOnce() -> T) -> T {
    let dir = world.path("dir");
    fs::create_dir_all(&dir).unwrap();
    world.say(mount).good();
    let seen = look();
    unmount(&dir);
    seen
}

/// Linux's own crash: the promises of fsync are there, unless one asks for the checkpoint.
#[test]
fn norecovery_shows_the_checkpoint() {
    let world = World::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../f2fs/tests/images/crash-fsync.img.zst");
    let mut zstd = Command::new("zstd");
    zstd.args(["-dq", "--long=27", "--sparse", "-o"]).arg(world.path("disk")).arg(kept);
    assert!(done(&mut zstd), "zstd is installed");
    let names = |line: &str| world.say(line).good();
    let (recovered, checkpoint) = (names("find disk"), names("find --no-recovery disk"));
    assert!(recovered.lines().count() > checkpoint.lines().count(), "{recovered} and {checkpoint}");
    if !can_mount() {
        return;
    }
    for (options, wanted) in [("-o ro", recovered), ("-o norecovery", checkpoint)] {
        let found = mounted(&world, &format!("mount --daemon {options} disk dir"), || {
            Command::new("find").arg(world.path("dir")).args(["-printf", "/%P\\n"]).output().unwrap().stdout
        });
        let mut shown: Vec<_> = std::str::from_utf8(&found).unwrap().lines().collect();
        let mut wanted: Vec<_> = wanted.lines().collect();
        shown.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(shown, wanted, "{options}");
    }
}

pub(crate) fn can_mount() -> bool {
    let can = File::options().read(true).write(true).open("/dev/fuse").is_ok();
    if !can {
        eprintln!("SKIPPED: /dev/fuse cannot be opened, so nothing was tested");
    }
    can
}

#[test]
fn a_truncated_image_says_how_much_is_there() {
    let Some(world) = image() else { return };
    File::options().write(true).open(world.path("disk")).unwrap().set_len(50 << 20).unwrap();
    let says = ["disk: cut short: 52428800 of 100663296 bytes are there", "48234496 are missing"];
    let run = world.say("ls disk");
    assert!(says.iter().all(|text| run.err.contains(text)), "{run:?}");
    world.say("fsck disk").bad(8, &says);
    world.say("--key-file missing ls disk").bad(1, &["missing: no such file"]);
}

/// The newest checkpoint is damaged: the files of the one before it are shown, and that is said once.
#[test]
fn a_checkpoint_is_not_passed_over_in_silence() {
    let world = World::new();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../f2fs/tests/images/basic.img.zst");
    assert!(done(Command::new("zstd").args(["-dq", "--long=27", "-o"]).args([&world.path("disk"), &packed])));
    let disk = File::options().read(true).write(true).open(world.path("disk")).unwrap();
    let version = |pack: u64| {
        let mut bytes = [0; 8];
        disk.read_exact_at(&mut bytes, (1 + pack) * 512 * 4096).unwrap();
        u64::from_le_bytes(bytes)
    };
    let newest = u64::from(version(1) > version(0));
    disk.write_all_at(&[0xff; 4], (1 + newest) * 512 * 4096 + 32).unwrap();
    for verb in ["info disk", "df disk", "stat disk /"] {
        let run = world.say(verb);
        assert_eq!(run.err.matches("a newer checkpoint").count(), 1, "{verb}: {run:?}");
    }
    let run = world.say("fsck -n disk");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.contains("checkpoint-passed-over: "), "{run:?}");
}
